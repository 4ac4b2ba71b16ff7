//! Faults in cutting the input into lines.

use crate::agent::{Fault, Options};

/// Code points that some libraries take for line ends, as UTF-8.
const FALSE_LINE_ENDS: [&str; 5] = ["\u{2028}", "\u{2029}", "\u{85}", "\u{b}", "\u{c}"];

/// Returns what a careless reader makes of the bytes of one read().
pub(super) fn spoil(chunk: &[u8], options: &Options) -> Vec<u8> {
    let mut bytes = chunk.to_vec();
    if options.commits(Fault::SplitDecoding) {
        bytes = String::from_utf8_lossy(&bytes).into_owned().into_bytes();
    }
    if options.commits(Fault::Splitlines) {
        bytes = split_lines(bytes);
    }
    if options.commits(Fault::ReadChunkPerMessage) {
        bytes.retain(|byte| *byte != b'\n');
        bytes.push(b'\n');
    }
    bytes
}

fn split_lines(bytes: Vec<u8>) -> Vec<u8> {
    match String::from_utf8(bytes) {
        Ok(text) => FALSE_LINE_ENDS.iter().fold(text, |text, end| text.replace(end, "\n")).into_bytes(),
        // A character is cut by the read boundary; such chunks are left alone.
        Err(error) => error.into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spoiled(chunk: &[u8], fault: Fault) -> Vec<u8> {
        spoil(chunk, &Options { faults: vec![fault], ..Options::default() })
    }

    #[test]
    fn leaves_bytes_alone_without_faults() {
        assert_eq!(spoil(b"a\xe2\x82\n", &Options::default()), b"a\xe2\x82\n");
    }

    #[test]
    fn breaks_framing_on_demand() {
        assert_eq!(spoiled("a\u{2028}b\n".as_bytes(), Fault::Splitlines), b"a\nb\n");
        assert_eq!(spoiled(b"{\"a\":", Fault::ReadChunkPerMessage), b"{\"a\":\n");
        assert_eq!(spoiled(b"{}\n{}\n", Fault::ReadChunkPerMessage), b"{}{}\n");
        assert_eq!(spoiled(b"\xe2\x82", Fault::SplitDecoding), "\u{fffd}".as_bytes());
    }
}
