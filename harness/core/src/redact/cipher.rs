//! Replaces the letters of a text: equal texts get equal replacements, also inside another text.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};
use sha2::{Digest, Sha256};

/// The key that determines the replacements. Without it, no reader can test which text was replaced.
pub struct RedactionKey([u8; 32]);

impl RedactionKey {
    /// Creates a key from these bytes, which must come from a good source of randomness and be forgotten afterwards.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

/// Letters that form no word, and none that a check searches for.
const LETTERS: &[u8] = b"bcdfghjkmnpqrstvwxz";

/// The shortest text that is searched inside others; a shorter one occurs by chance.
const SHORTEST: usize = 4;

/// The longest such text; quotes in one line are shorter.
const LONGEST: usize = 4096;

/// The number of attempts to find a free replacement; there are few for texts of one letter.
const TRIES: u32 = 64;

/// Collects the texts of a trace, so that they can be found inside others.
#[derive(Debug, Default)]
pub(super) struct Lexicon {
    texts: BTreeSet<String>,
    shown: HashSet<String>,
}

impl Lexicon {
    /// Collects the lines of a text.
    pub(super) fn learn(&mut self, text: &str) {
        self.texts.extend(text.lines().map(str::trim).filter(|line| is_telling(line)).map(str::to_ascii_lowercase));
    }

    /// Collects an id, which is never replaced.
    pub(super) fn learn_id(&mut self, id: &str) {
        if is_telling(id) {
            self.shown.insert(id.to_owned());
            self.texts.insert(id.to_ascii_lowercase());
        }
    }

    /// Ends the collection.
    pub(super) fn close(self, key: RedactionKey) -> Cipher {
        // The only failure is the size; then no text is found inside another, and all of it is replaced.
        let inside = AhoCorasick::builder().match_kind(MatchKind::Standard).build(&self.texts).ok();
        Cipher { key, inside, shown: self.shown, letters: HashMap::new(), taken: HashSet::new() }
    }
}

fn is_telling(text: &str) -> bool {
    (SHORTEST..=LONGEST).contains(&text.len()) && text.chars().any(char::is_alphanumeric)
}

/// Replaces the letters and digits of texts, each by one of its kind with the same number of bytes.
pub(super) struct Cipher {
    key: RedactionKey,
    inside: Option<AhoCorasick>,
    /// The texts that stay.
    shown: HashSet<String>,
    /// The replacement for the letters of a segment, by its letters alone in lower case.
    letters: HashMap<String, String>,
    taken: HashSet<String>,
}

impl Cipher {
    /// Returns the text with everything replaced except the `shown` parts.
    pub(super) fn text(&mut self, text: &str, shown: &[Range<usize>]) -> String {
        let mut out = String::with_capacity(text.len());
        let mut start = 0;
        for line in text.split_inclusive(['\n', '\r']) {
            self.line(text, start..start + line.len(), shown, &mut out);
            start += line.len();
        }
        out
    }

    /// Replaces a text as a whole.
    pub(super) fn whole(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        self.segment(text, &mut out);
        out
    }

    fn line(&mut self, text: &str, line: Range<usize>, shown: &[Range<usize>], out: &mut String) {
        let inside = self.inside(text, line.clone());
        let ids = inside.iter().filter(|at| self.shown.contains(&text[(*at).clone()]) && stands_alone(text, at));
        let shown: Vec<_> = ids.chain(shown).cloned().collect();
        let separators = text[line.clone()].match_indices(['/', '\\']).map(|(at, _)| line.start + at);
        let ends = inside.iter().chain(&shown).flat_map(|span| [span.start, span.end]);
        let cuts: BTreeSet<usize> = separators
            .chain(ends)
            .chain([line.start, line.end])
            .filter(|at| (line.start..=line.end).contains(at))
            .collect();
        let cuts: Vec<usize> = cuts.into_iter().collect();
        for pair in cuts.windows(2) {
            let segment = &text[pair[0]..pair[1]];
            if shown.iter().any(|span| span.start <= pair[0] && pair[1] <= span.end) {
                out.push_str(segment);
            } else {
                self.segment(segment, out);
            }
        }
    }

    /// Finds other texts in a line. The line is split there, and at the separators of a path.
    fn inside(&self, text: &str, line: Range<usize>) -> Vec<Range<usize>> {
        let lower = text[line.clone()].to_ascii_lowercase();
        let found = self.inside.iter().flat_map(|inside| inside.find_overlapping_iter(&lower));
        found.map(|found| line.start + found.start()..line.start + found.end()).collect()
    }

    fn segment(&mut self, segment: &str, out: &mut String) {
        let bare: String = segment.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect();
        if bare.is_empty() {
            return out.push_str(segment);
        }
        let letters = self.letters_of(&bare);
        let mut letters = letters.chars();
        out.extend(segment.chars().map(|c| match c {
            _ if !c.is_alphanumeric() => c,
            _ if c.is_ascii_uppercase() => letters.next().unwrap_or(c).to_ascii_uppercase(),
            _ => letters.next().unwrap_or(c),
        }));
    }

    fn letters_of(&mut self, bare: &str) -> String {
        if let Some(known) = self.letters.get(bare) {
            return known.clone();
        }
        let candidates = (0..TRIES).map(|attempt| draw(&self.key, bare, attempt));
        let free = |letters: &String| letters != bare && !self.taken.contains(letters);
        let letters = candidates.into_iter().find(free).unwrap_or_else(|| draw(&self.key, bare, TRIES));
        self.taken.insert(letters.clone());
        self.letters.insert(bare.to_owned(), letters.clone());
        letters
    }
}

/// Whether the characters before and after do not belong to the same word.
fn stands_alone(text: &str, at: &Range<usize>) -> bool {
    let before = text[..at.start].chars().next_back();
    let after = text[at.end..].chars().next();
    ![before, after].into_iter().flatten().any(char::is_alphanumeric)
}

/// Draws letters for the letters of a text; each has the same kind and length.
fn draw(key: &RedactionKey, bare: &str, attempt: u32) -> String {
    let mut stream = Stream { key, seed: Sha256::digest(bare).into(), attempt, block: [0; 32], used: 32, count: 0 };
    let mut below = |bound: u32| stream.below(bound);
    bare.chars()
        .map(|c| match (c, c.len_utf8()) {
            ('0', _) => '0',
            ('1'..='9', _) => pick(b'1'.into(), below(9)),
            (_, 1) => char::from(LETTERS[below(LETTERS.len() as u32) as usize]),
            (_, 2) => pick(0xe0, below(23)),
            (_, 3) => pick(0x4e00, below(0x5000)),
            _ => pick(0x20000, below(0xa000)),
        })
        .collect()
}

fn pick(first: u32, offset: u32) -> char {
    char::from_u32(first + offset).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Numbers that depend only on the key and the text.
struct Stream<'k> {
    key: &'k RedactionKey,
    seed: [u8; 32],
    attempt: u32,
    block: [u8; 32],
    used: usize,
    count: u32,
}

impl Stream<'_> {
    fn below(&mut self, bound: u32) -> u32 {
        if self.used + 4 > self.block.len() {
            let parts = [&self.attempt.to_le_bytes(), &self.count.to_le_bytes()];
            let hash = Sha256::new().chain_update(self.key.0).chain_update(self.seed);
            self.block = parts.into_iter().fold(hash, Digest::chain_update).chain_update(self.key.0).finalize().into();
            self.count += 1;
            self.used = 0;
        }
        let bytes = [0, 1, 2, 3].map(|i| self.block[self.used + i]);
        self.used += 4;
        u32::from_le_bytes(bytes) % bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cipher(texts: &[&str], ids: &[&str]) -> Cipher {
        let mut lexicon = Lexicon::default();
        texts.iter().for_each(|text| lexicon.learn(text));
        ids.iter().for_each(|id| lexicon.learn_id(id));
        lexicon.close(RedactionKey::new([7; 32]))
    }

    #[test]
    fn every_letter_becomes_another_of_its_kind() {
        let text = "Zażółć 907, 日本 \u{1F600}\u{20001}!\r\n";
        let other = cipher(&[], &[]).text(text, &[]);
        assert_ne!(other, text);
        assert!(text.chars().zip(other.chars()).all(|(a, b)| {
            (a.len_utf8(), a.is_alphanumeric(), a.is_uppercase() && a.is_ascii(), a.is_ascii_digit())
                == (b.len_utf8(), b.is_alphanumeric(), b.is_uppercase(), b.is_ascii_digit())
        }));
        assert_eq!(text.len(), other.len());
    }

    #[test]
    fn equal_texts_become_equal_and_others_become_others() {
        let mut cipher = cipher(&["alpha beta"], &[]);
        let alone = cipher.text("Alpha  beta", &[]);
        assert!(cipher.text("say \"alpha beta\", please", &[]).contains(&alone.to_lowercase().replace("  ", " ")));
        let singles: HashSet<String> = ('a'..='p').map(|c| cipher.text(&c.to_string(), &[])).collect();
        assert_eq!(singles.len(), 16);
    }

    #[test]
    fn paths_keep_their_parts_and_ids_stay() {
        let mut cipher = cipher(&["/alice/work"], &["sess-1234"]);
        let cwd = cipher.text("/alice/work", &[]);
        assert!(cipher.text("/alice/work/notes.txt", &[]).starts_with(&cwd));
        assert!(cipher.text("no session sess-1234!", &[]).ends_with(" sess-1234!"));
        assert!(!cipher.text("xsess-1234", &[]).contains("sess"));
        let text = "https://user@host";
        let scheme = 0..5;
        assert!(cipher.text(text, std::slice::from_ref(&scheme)).starts_with("https://"));
    }
}
