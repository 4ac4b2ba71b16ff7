//! The last part of a command's output, which starts at a character boundary.

/// Bytes kept if the request sets no limit, so that no command can fill the memory.
pub(super) const DEFAULT_LIMIT: usize = 64 * 1024 * 1024;

/// The last bytes of a command's output, as text.
#[derive(Debug)]
pub(super) struct Tail {
    limit: usize,
    text: String,
    /// The incomplete character at the end.
    partial: Vec<u8>,
    was_cut: bool,
}

impl Tail {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, text: String::new(), partial: Vec::new(), was_cut: false }
    }

    /// Appends output of the command; bytes that are not UTF-8 become replacement characters.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.partial.extend_from_slice(bytes);
        let bytes = std::mem::take(&mut self.partial);
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.text.push_str(chunk.valid());
            self.partial.extend_from_slice(chunk.invalid());
            if chunks.peek().is_some() || !may_continue(&self.partial) {
                self.flush_partial();
            }
        }
        self.shrink();
    }

    /// Ends the output.
    pub(super) fn finish(&mut self) {
        self.flush_partial();
    }

    /// Returns the output within the limit, and whether any was dropped.
    pub(super) fn read(&self) -> (String, bool) {
        let excess = self.text.len().saturating_sub(self.limit);
        (self.text[boundary_from(&self.text, excess)..].to_owned(), self.was_cut || excess > 0)
    }

    fn flush_partial(&mut self) {
        if !std::mem::take(&mut self.partial).is_empty() {
            self.text.push(char::REPLACEMENT_CHARACTER);
        }
    }

    /// Drops text that is outside the limit, rarely enough to cost little.
    fn shrink(&mut self) {
        if self.text.len() / 2 <= self.limit.max(64 * 1024) {
            return;
        }
        let start = boundary_before(&self.text, self.text.len() - self.limit);
        self.was_cut |= start > 0;
        self.text.drain(..start);
    }
}

/// Returns whether bytes begin a character that more bytes could complete.
fn may_continue(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

/// Returns the character boundary at the index or before it.
fn boundary_before(text: &str, index: usize) -> usize {
    (0..=index.min(text.len())).rev().find(|index| text.is_char_boundary(*index)).unwrap_or(0)
}

/// Returns the character boundary at the index or after it.
fn boundary_from(text: &str, index: usize) -> usize {
    (index..text.len()).find(|index| text.is_char_boundary(*index)).unwrap_or(text.len())
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
