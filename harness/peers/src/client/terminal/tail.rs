//! The last part of a command's output, which starts at a character boundary.

/// Bytes kept if the request sets no limit, so that no command can fill the memory.
pub(super) const DEFAULT_LIMIT: usize = 64 * 1024 * 1024;

/// The last bytes of a command's output.
#[derive(Debug)]
pub(super) struct Tail {
    limit: usize,
    bytes: Vec<u8>,
    was_cut: bool,
    is_complete: bool,
}

impl Tail {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, bytes: Vec::new(), was_cut: false, is_complete: false }
    }

    /// Appends output of the command, and drops bytes far outside of the limit, rarely enough to cost little.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        let most = self.limit.max(64 * 1024);
        if self.bytes.len() / 2 > most {
            self.bytes.drain(..self.bytes.len() - most);
            self.was_cut = true;
        }
    }

    /// Ends the output of the command itself.
    pub(super) fn finish(&mut self) {
        self.is_complete = true;
    }

    /// Returns the output within the limit, and whether any was dropped; bytes that are not UTF-8 become replacement
    /// characters.
    pub(super) fn read(&self) -> (String, bool) {
        let end = self.bytes.len() - if self.is_complete { 0 } else { n_unfinished(&self.bytes) };
        let text = String::from_utf8_lossy(&self.bytes[..end]);
        let excess = text.len().saturating_sub(self.limit);
        let start = (excess..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        (text[start..].to_owned(), self.was_cut || excess > 0)
    }
}

/// Returns the number of bytes at the end that begin a character.
fn n_unfinished(bytes: &[u8]) -> usize {
    let end = &bytes[bytes.len().saturating_sub(3)..];
    let begins = |end: &[u8]| {
        std::str::from_utf8(end).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (1..=end.len()).find(|n| begins(&end[end.len() - n..])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(chunks: &[&[u8]], limit: usize) -> (String, bool) {
        let mut tail = Tail::new(limit);
        chunks.iter().for_each(|chunk| tail.push(chunk));
        tail.finish();
        tail.read()
    }

    #[test]
    fn keeps_whole_characters_of_the_end() {
        let euro = "\u{20ac}\u{20ac}\u{20ac}".as_bytes();
        let table = [(9, 9, false), (8, 6, true), (7, 6, true), (6, 6, true), (5, 3, true), (2, 0, true), (0, 0, true)];
        for (limit, n_bytes, truncated) in table {
            let (text, was_cut) = kept(&[euro], limit);
            assert_eq!((text.len(), was_cut), (n_bytes, truncated), "limit {limit}");
            assert!(text.chars().all(|character| character == '\u{20ac}'));
        }
        assert_eq!(kept(&[b"one\ntwo\n"], 4), ("two\n".into(), true));
        assert_eq!(kept(&[], 0), (String::new(), false));
    }

    #[test]
    fn joins_characters_that_reads_cut() {
        assert_eq!(kept(&[b"a\xe2", b"\x82", b"\xacb"], 99).0, "a\u{20ac}b");
        assert_eq!(kept(&[b"a\xffb\xe2\x82"], 99).0, "a\u{fffd}b\u{fffd}");
        assert_eq!(kept(&[b"\xe2\x82", b"b"], 99).0, "\u{fffd}b");
    }

    #[test]
    fn long_output_is_cut_once_and_for_all() {
        let line = "0123456789abcde\n".repeat(1000);
        let chunks = [line.as_bytes(); 20];
        let (text, was_cut) = kept(&chunks, 100);
        assert_eq!((text.len(), was_cut), (100, true));
        assert!(line.ends_with(&text));
    }
}
