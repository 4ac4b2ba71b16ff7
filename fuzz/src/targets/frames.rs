//! Bytes to lines: the result depends only on the bytes, and not on the pieces in which they came.

use acp_conformance::wire::{Frame, Framer, LineEnd};

/// The first byte is the longest line, the next four are the lengths of the pieces, and the rest is the stream.
pub fn holds(data: &[u8]) {
    let Some(([longest, lengths @ ..], stream)) = data.split_first_chunk::<5>() else { return };
    let longest = usize::from(*longest);
    let whole = frames(longest, std::iter::once(stream));
    assert_eq!(frames(longest, stream.chunks(1)), whole);
    assert_eq!(frames(longest, pieces(stream, lengths).into_iter()), whole);
    let rebuilt: Vec<u8> = whole.iter().flat_map(|frame| [&frame.bytes, frame.end.bytes()].concat()).collect();
    assert_eq!(rebuilt, stream, "a byte was lost or changed");
    for (index, frame) in whole.iter().enumerate() {
        assert!(frame.bytes.len() <= longest.max(1) && !frame.bytes.contains(&b'\n'), "{frame:?}");
        assert!(frame.end != LineEnd::Eof || index + 1 == whole.len(), "only the last line can lack its end");
    }
}

fn frames<'s>(longest: usize, pieces: impl Iterator<Item = &'s [u8]>) -> Vec<Frame> {
    let mut framer = Framer::with_longest(longest);
    let mut frames = Vec::new();
    pieces.for_each(|piece| framer.feed(piece, |frame| frames.push(frame)));
    frames.extend(framer.finish());
    frames
}

/// Splits the stream into pieces of these lengths, repeatedly; a length of 0 is an empty piece.
fn pieces<'s>(mut stream: &'s [u8], lengths: &[u8]) -> Vec<&'s [u8]> {
    let mut pieces = Vec::new();
    while !stream.is_empty() {
        for length in lengths {
            let (piece, rest) = stream.split_at(stream.len().min(usize::from(*length)));
            pieces.push(piece);
            stream = rest;
        }
        if lengths.iter().all(|length| *length == 0) {
            pieces.push(std::mem::take(&mut stream));
        }
    }
    pieces
}
