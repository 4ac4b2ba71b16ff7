//! Cuts a byte stream into lines at line feeds, without losing or changing a byte.

use serde::{Deserialize, Serialize};

/// The longest line that is kept in one piece, in bytes.
///
/// A legal message may carry a large file. This is twice the 64 MiB that a correct subject might send, and still fits
/// into the memory of a small machine. A longer line continues in the next frame.
pub const LONGEST_LINE: usize = 128 << 20;

/// The bytes after a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LineEnd {
    /// A line feed, as the protocol requires.
    #[default]
    Lf,
    /// A carriage return and a line feed.
    CrLf,
    /// Nothing: the stream ended in the middle of the line.
    Eof,
    /// Nothing yet: the line is longer than [`LONGEST_LINE`] and continues in the next frame.
    Cut,
}

impl LineEnd {
    /// Returns the bytes on the wire.
    pub const fn bytes(self) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::CrLf => b"\r\n",
            Self::Eof | Self::Cut => b"",
        }
    }
}

/// One line without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The bytes before the end.
    pub bytes: Vec<u8>,
    /// The kind of its end.
    pub end: LineEnd,
}

/// Collects bytes until lines are complete.
#[derive(Debug)]
pub struct Framer {
    pending: Vec<u8>,
    longest: usize,
}

impl Default for Framer {
    fn default() -> Self {
        Self::with_longest(LONGEST_LINE)
    }
}

impl Framer {
    /// Creates a framer with another limit for the length of a line.
    pub fn with_longest(longest: usize) -> Self {
        Self { pending: Vec::new(), longest: longest.max(1) }
    }

    /// Adds the next bytes of the stream, and passes every line that they complete to `emit`.
    pub fn feed(&mut self, mut bytes: &[u8], mut emit: impl FnMut(Frame)) {
        while !bytes.is_empty() {
            let room = self.longest - self.pending.len();
            let window = &bytes[..bytes.len().min(room)];
            if let Some(at) = window.iter().position(|&byte| byte == b'\n') {
                self.pending.extend_from_slice(&bytes[..at]);
                bytes = &bytes[at + 1..];
                emit(self.take_line());
            } else {
                self.pending.extend_from_slice(window);
                bytes = &bytes[window.len()..];
                if self.pending.len() == self.longest {
                    emit(Frame { bytes: std::mem::take(&mut self.pending), end: LineEnd::Cut });
                }
            }
        }
    }

    /// Ends the stream, and returns the bytes after the last line feed as an unterminated line.
    pub fn finish(&mut self) -> Option<Frame> {
        let bytes = std::mem::take(&mut self.pending);
        (!bytes.is_empty()).then_some(Frame { bytes, end: LineEnd::Eof })
    }

    fn take_line(&mut self) -> Frame {
        let mut bytes = std::mem::take(&mut self.pending);
        let end = if bytes.last() == Some(&b'\r') { LineEnd::CrLf } else { LineEnd::Lf };
        if end == LineEnd::CrLf {
            bytes.pop();
        }
        Frame { bytes, end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(stream: &[u8], piece: usize, longest: usize) -> Vec<Frame> {
        let mut framer = Framer::with_longest(longest);
        let mut out = Vec::new();
        for chunk in stream.chunks(piece) {
            framer.feed(chunk, |frame| out.push(frame));
        }
        out.extend(framer.finish());
        out
    }

    #[test]
    fn lines_do_not_depend_on_how_the_bytes_arrive() {
        let stream = "{\"a\":1}\r\n\n{\"é\":\"\u{2028}\"}\n{\"b\":2}{\"c\":3}\n\u{1F600}half".as_bytes();
        let whole = frames(stream, stream.len(), 1 << 20);
        assert_eq!(
            whole.iter().map(|f| f.end).collect::<Vec<_>>(),
            [LineEnd::CrLf, LineEnd::Lf, LineEnd::Lf, LineEnd::Lf, LineEnd::Eof]
        );
        for piece in 1..stream.len() {
            assert_eq!(frames(stream, piece, 1 << 20), whole, "in pieces of {piece}");
        }
    }

    #[test]
    fn no_byte_is_lost_whatever_the_bound() {
        let stream = b"abc\r\ndefghij\n\r\n\xff\xfe\nend\r";
        for longest in 1..12 {
            let rebuilt: Vec<u8> =
                frames(stream, 3, longest).iter().flat_map(|f| [&f.bytes[..], f.end.bytes()].concat()).collect();
            assert_eq!(rebuilt, stream, "bound {longest}");
        }
    }
}
