//! The last part of a terminal's output: decodes bytes as they arrive and keeps them up to a limit.

use std::collections::VecDeque;

/// The last bytes of a text, never more than the limit and never starting inside a character.
///
/// Invalid UTF-8 becomes U+FFFD; a character whose bytes arrive in several pieces stays whole.
#[derive(Debug)]
pub(super) struct Tail {
    limit: usize,
    kept: VecDeque<u8>,
    truncated: bool,
    /// The incomplete character at the end, at most three bytes.
    partial: Vec<u8>,
}

impl Tail {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, kept: VecDeque::new(), truncated: false, partial: Vec::new() }
    }

    /// Appends bytes in the order of reading.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let joined;
        let mut rest = bytes;
        if !self.partial.is_empty() {
            joined = [&std::mem::take(&mut self.partial), bytes].concat();
            rest = &joined;
        }
        while let Err(error) = str::from_utf8(rest) {
            let (valid, bad) = rest.split_at(error.valid_up_to());
            self.keep(valid);
            let Some(n_bad) = error.error_len() else {
                self.partial = bad.to_vec();
                return;
            };
            self.keep("\u{FFFD}".as_bytes());
            rest = &bad[n_bad..];
        }
        self.keep(rest);
    }

    /// Ends the text; an unfinished character becomes an invalid one.
    pub(super) fn finish(&mut self) {
        if !std::mem::take(&mut self.partial).is_empty() {
            self.keep("\u{FFFD}".as_bytes());
        }
    }

    /// Returns the kept text.
    pub(super) fn text(&self) -> String {
        let bytes: Vec<u8> = self.kept.iter().copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Whether anything was dropped because of the limit.
    pub(super) fn truncated(&self) -> bool {
        self.truncated
    }

    /// > The Client **MUST** ensure truncation happens at a character boundary to maintain valid string output, even if
    /// > this means the retained output is slightly less than the specified limit.
    fn keep(&mut self, valid: &[u8]) {
        let excess = (self.kept.len() + valid.len()).saturating_sub(self.limit);
        let n_old = excess.min(self.kept.len());
        self.kept.drain(..n_old);
        let valid = &valid[excess - n_old..];
        self.make_room(valid.len());
        self.kept.extend(valid);
        if excess > 0 {
            self.truncated = true;
            let is_continuation = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
            let n_severed = self.kept.iter().take_while(is_continuation).count();
            self.kept.drain(..n_severed);
        }
    }

    /// Grows by doubling, like a buffer by itself, but never beyond the limit; by itself it could take twice as much.
    fn make_room(&mut self, n_more: usize) {
        let needed = self.kept.len() + n_more;
        if needed > self.kept.capacity() {
            let capacity = (2 * self.kept.capacity()).clamp(needed, self.limit);
            self.kept.reserve_exact(capacity - self.kept.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "aé€😀b😀€éa";

    #[test]
    fn keeps_the_end_at_a_character_boundary_for_every_limit() {
        for limit in 0..=TEXT.len() + 1 {
            for piece in 1..=TEXT.len() {
                let mut tail = Tail::new(limit);
                TEXT.as_bytes().chunks(piece).for_each(|bytes| tail.push(bytes));
                tail.finish();
                let mut starts = (0..=TEXT.len()).filter(|at| TEXT.len() - at <= limit && TEXT.is_char_boundary(*at));
                let expected = &TEXT[starts.next().expect("the end is a boundary")..];
                assert_eq!(tail.text(), expected, "limit {limit}, piece {piece}");
                assert_eq!(tail.truncated(), limit < TEXT.len(), "limit {limit}, piece {piece}");
            }
        }
    }

    #[test]
    fn decodes_pieces_like_the_whole() {
        let whole: &[u8] = b"a\xFFb\xE2\x82\xAC\xE2\x82c\xF0\x9F\x98\x80\xC3\xC3\xA9\xF0\x9F\x98";
        for piece in 1..=whole.len() {
            let mut tail = Tail::new(1000);
            whole.chunks(piece).for_each(|bytes| tail.push(bytes));
            tail.finish();
            assert_eq!(tail.text(), String::from_utf8_lossy(whole), "piece {piece}");
        }
    }

    #[test]
    fn shows_no_unfinished_character() {
        let mut tail = Tail::new(10);
        tail.push(b"a\xE2\x82");
        assert_eq!(tail.text(), "a");
        tail.push(b"\xAC");
        assert_eq!(tail.text(), "a€");
    }

    #[test]
    fn memory_stays_within_the_limit() {
        for piece in [1, 700, 1000, 4096] {
            let mut tail = Tail::new(1000);
            for _ in 0..10_000 {
                tail.push(&[b'x'; 4096][..piece]);
            }
            assert!(tail.kept.capacity() <= 1000, "{} in pieces of {piece}", tail.kept.capacity());
            assert_eq!(tail.text(), "x".repeat(1000));
        }
    }
}
