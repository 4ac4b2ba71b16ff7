//! The end of a command's output, cut where a character begins.

/// Bytes kept if the request sets no limit, so that no command can fill the memory.
pub(super) const DEFAULT_LIMIT: usize = 64 * 1024 * 1024;

/// The faults of keeping output, none by default.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sloppiness {
    /// Cuts at the byte limit and replaces what is left of the character there.
    pub cuts_characters: bool,
    /// Keeps the beginning and drops the rest.
    pub keeps_head: bool,
    /// Counts characters instead of bytes.
    pub counts_characters: bool,
    /// Never says that anything was dropped.
    pub denies_truncation: bool,
    /// Forgets the last bytes at the end.
    pub loses_last_chunk: bool,
}

/// The last bytes of what a command wrote, as text.
#[derive(Debug)]
pub(super) struct Tail {
    limit: usize,
    sloppiness: Sloppiness,
    text: String,
    /// The beginning of a character whose end has not come yet.
    partial: Vec<u8>,
    last_chunk: usize,
    was_cut: bool,
}

impl Tail {
    pub(super) fn new(limit: usize, sloppiness: Sloppiness) -> Self {
        Self { limit, sloppiness, text: String::new(), partial: Vec::new(), last_chunk: 0, was_cut: false }
    }

    /// Adds what the command wrote; bytes that are not UTF-8 become replacement characters.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.partial.extend_from_slice(bytes);
        let bytes = std::mem::take(&mut self.partial);
        let n_before = self.text.len();
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            self.text.push_str(chunk.valid());
            self.partial.extend_from_slice(chunk.invalid());
            if chunks.peek().is_some() || !may_continue(&self.partial) {
                self.flush_partial();
            }
        }
        self.last_chunk = self.text.len() - n_before;
        self.shrink();
    }

    /// Notes that nothing more comes.
    pub(super) fn finish(&mut self) {
        self.flush_partial();
        if self.sloppiness.loses_last_chunk {
            self.was_cut |= self.text.len() > self.limit;
            let kept = self.text.len().saturating_sub(std::mem::take(&mut self.last_chunk));
            self.text.truncate(boundary_before(&self.text, kept));
        }
    }

    /// Returns the output within the limit, and whether any was dropped.
    pub(super) fn read(&self) -> (String, bool) {
        let Sloppiness { cuts_characters, keeps_head, counts_characters, denies_truncation, .. } = self.sloppiness;
        let excess = if counts_characters {
            let surplus = self.text.chars().count().saturating_sub(self.limit);
            self.text.chars().take(surplus).map(char::len_utf8).sum()
        } else {
            self.text.len().saturating_sub(self.limit)
        };
        let was_cut = (self.was_cut || excess > 0) && !denies_truncation;
        let text = if keeps_head {
            self.text[..boundary_before(&self.text, self.limit)].to_owned()
        } else if cuts_characters {
            String::from_utf8_lossy(&self.text.as_bytes()[excess..]).into_owned()
        } else {
            self.text[boundary_from(&self.text, excess)..].to_owned()
        };
        (text, was_cut)
    }

    /// Forgets everything so far, on behalf of a fault.
    pub(super) fn clear(&mut self) {
        self.text.clear();
    }

    fn flush_partial(&mut self) {
        if !std::mem::take(&mut self.partial).is_empty() {
            self.text.push(char::REPLACEMENT_CHARACTER);
        }
    }

    /// Drops what can never be shown again, seldom enough to cost little.
    fn shrink(&mut self) {
        let keeps_all = self.sloppiness.keeps_head || self.sloppiness.counts_characters;
        if keeps_all || self.text.len() / 2 <= self.limit.max(64 * 1024) {
            return;
        }
        let start = boundary_before(&self.text, self.text.len() - self.limit);
        self.was_cut |= start > 0;
        self.text.drain(..start);
    }
}

/// Tells whether bytes begin a character that more bytes could complete.
fn may_continue(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

/// Returns where a character begins, at the index or before it.
fn boundary_before(text: &str, index: usize) -> usize {
    (0..=index.min(text.len())).rev().find(|index| text.is_char_boundary(*index)).unwrap_or(0)
}

/// Returns where a character begins, at the index or behind it.
fn boundary_from(text: &str, index: usize) -> usize {
    (index..text.len()).find(|index| text.is_char_boundary(*index)).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(chunks: &[&[u8]], limit: usize, sloppiness: Sloppiness) -> (String, bool) {
        let mut tail = Tail::new(limit, sloppiness);
        chunks.iter().for_each(|chunk| tail.push(chunk));
        tail.finish();
        tail.read()
    }

    #[test]
    fn keeps_whole_characters_of_the_end() {
        let euro = "\u{20ac}\u{20ac}\u{20ac}".as_bytes();
        let plain = Sloppiness::default();
        let table = [(9, 9, false), (8, 6, true), (7, 6, true), (6, 6, true), (5, 3, true), (2, 0, true), (0, 0, true)];
        for (limit, n_bytes, truncated) in table {
            let (text, was_cut) = kept(&[euro], limit, plain);
            assert_eq!((text.len(), was_cut), (n_bytes, truncated), "limit {limit}");
            assert!(text.chars().all(|character| character == '\u{20ac}'));
        }
        assert_eq!(kept(&[b"one\ntwo\n"], 4, plain), ("two\n".into(), true));
        assert_eq!(kept(&[], 0, plain), (String::new(), false));
    }

    #[test]
    fn joins_characters_that_reads_cut() {
        let plain = Sloppiness::default();
        assert_eq!(kept(&[b"a\xe2", b"\x82", b"\xacb"], 99, plain).0, "a\u{20ac}b");
        assert_eq!(kept(&[b"a\xffb\xe2\x82"], 99, plain).0, "a\u{fffd}b\u{fffd}");
        assert_eq!(kept(&[b"\xe2\x82", b"b"], 99, plain).0, "\u{fffd}b");
    }

    #[test]
    fn long_output_is_cut_once_and_for_all() {
        let line = "0123456789abcde\n".repeat(1000);
        let chunks = [line.as_bytes(); 20];
        let (text, was_cut) = kept(&chunks, 100, Sloppiness::default());
        assert_eq!((text.len(), was_cut), (100, true));
        assert!(line.ends_with(&text));
    }

    #[test]
    fn faults_keep_the_wrong_part() {
        let euro = "\u{20ac}\u{20ac}".as_bytes();
        let head = Sloppiness { keeps_head: true, ..Sloppiness::default() };
        let cutting = Sloppiness { cuts_characters: true, ..Sloppiness::default() };
        let counting = Sloppiness { counts_characters: true, ..Sloppiness::default() };
        let losing = Sloppiness { loses_last_chunk: true, ..Sloppiness::default() };
        assert_eq!(kept(&[b"one\ntwo\n"], 4, head), ("one\n".into(), true));
        assert!(kept(&[euro], 4, cutting).0.starts_with('\u{fffd}'));
        assert_eq!(kept(&[euro], 2, counting).0.len(), 6);
        assert_eq!(kept(&[b"a", b"b"], 9, losing).0, "a");
    }
}
