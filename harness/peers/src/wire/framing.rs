//! Faults in cutting the input into lines.

/// Code points that some libraries take for line ends, as UTF-8.
const FALSE_LINE_ENDS: [&str; 5] = ["\u{2028}", "\u{2029}", "\u{85}", "\u{b}", "\u{c}"];

/// The faults of framing to commit, none by default.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Framing {
    /// Takes what one read() returned for one message.
    pub chunk_per_message: bool,
    /// Decodes what each read() returned as UTF-8 on its own.
    pub split_decoding: bool,
    /// Ends a line also at other separators than the line feed.
    pub splitlines: bool,
}

impl Framing {
    /// Returns what a reader with these faults makes of the bytes of one read().
    pub(super) fn read(self, chunk: &[u8]) -> Vec<u8> {
        let mut bytes = chunk.to_vec();
        if self.split_decoding {
            bytes = String::from_utf8_lossy(&bytes).into_owned().into_bytes();
        }
        if self.splitlines {
            bytes = split_lines(bytes);
        }
        if self.chunk_per_message {
            bytes.retain(|byte| *byte != b'\n');
            bytes.push(b'\n');
        }
        bytes
    }
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

    #[test]
    fn leaves_bytes_alone_without_faults() {
        assert_eq!(Framing::default().read(b"a\xe2\x82\n"), b"a\xe2\x82\n");
    }

    #[test]
    fn breaks_framing_on_demand() {
        let splitlines = Framing { splitlines: true, ..Framing::default() };
        let chunks = Framing { chunk_per_message: true, ..Framing::default() };
        let decoding = Framing { split_decoding: true, ..Framing::default() };
        assert_eq!(splitlines.read("a\u{2028}b\n".as_bytes()), b"a\nb\n");
        assert_eq!(chunks.read(b"{\"a\":"), b"{\"a\":\n");
        assert_eq!(chunks.read(b"{}\n{}\n"), b"{}{}\n");
        assert_eq!(decoding.read(b"\xe2\x82"), "\u{fffd}".as_bytes());
    }
}
