//! Damage to a text on its way: what no rendering, trimming or summary of it explains.

use std::fmt;
use std::ops::Range;

/// The difference of a text from the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Damage {
    /// It lacks this part from the middle.
    Missing(String),
    /// It has this part of the middle twice.
    Doubled(String),
    /// It has these two neighbouring parts of the middle in the other order.
    Swapped(String, String),
    /// It has replacement characters in place of others.
    Replaced,
    /// It lacks the white space after this word.
    Unspaced(String),
    /// It has a blank within this word.
    Split(String),
    /// It lacks this beginning.
    Headless(String),
    /// It lacks this end.
    Endless(String),
    /// It has this part of the beginning or of the end twice.
    Repeated(String),
    /// It has the same characters in another order, in more than one place.
    Shuffled,
}

/// The least number of characters of an original, without white space.
const SHORTEST: usize = 8;

/// The least number of characters on each side of a damaged part, without white space.
const EDGE: usize = 3;

/// The least number of letters and digits in a damaged part.
const LETTERS: usize = 3;

/// The most characters of an original, without white space, of which the beginning or the end may not be missing: a
/// longer one may be too long for the agent.
const LONGEST_WHOLE: usize = 1 << 10;

impl Damage {
    /// Compares a text with the original; `None` if they are equal, or if the difference may be intended.
    ///
    /// White space only counts between two words. Text before and after the original is allowed, and so is a text that
    /// differs in more than one place, or in markup, or that has less than half of the original.
    pub fn of(original: &str, text: &str) -> Option<Self> {
        let [from, to] = [original, text].map(|it| it.chars().filter(|c| !c.is_whitespace()).collect::<Vec<char>>());
        if from.len() < SHORTEST {
            return None;
        }
        if from == to {
            return unspaced(original, text).or_else(|| split(original, text));
        }
        if to.contains(&char::REPLACEMENT_CHARACTER) {
            return is_replaced(&from, &to).then_some(Self::Replaced);
        }
        let part = |chars: &[char]| chars.iter().collect::<String>();
        let is_most = from.len() <= LONGEST_WHOLE && 2 * to.len() >= from.len();
        // A part that stands there three times may be what an agent takes for a loop of its model.
        let is_rare = |lost: &[char]| from.windows(lost.len()).filter(|other| *other == lost).count() <= 2;
        let cut = |lost: &[char]| (is_most && is_plain(lost) && is_rare(lost)).then(|| part(lost));
        if let Some(end) = from.strip_prefix(to.as_slice()) {
            return cut(end).map(Self::Endless);
        }
        if let Some(beginning) = from.strip_suffix(to.as_slice()) {
            return cut(beginning).map(Self::Headless);
        }
        if let Some(piece) = repeated(original, &from, &to) {
            return Some(Self::Repeated(part(piece)));
        }
        let begin = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
        let shorter = from.len().min(to.len()) - begin;
        let end = from.iter().rev().zip(to.iter().rev()).take(shorter).take_while(|(one, other)| one == other).count();
        let (lost, found) = (&from[begin..from.len() - end], &to[begin..to.len() - end]);
        let single = match (lost, found) {
            _ if begin < EDGE || end < EDGE => None,
            (lost, []) if is_plain(lost) && (is_rare(lost) || is_word(&from, begin..from.len() - end)) => {
                Some(Self::Missing(part(lost)))
            }
            ([], found) if is_plain(found) && begin >= found.len() + EDGE => {
                let size = found.len();
                let is_neighbour = from[begin - size..begin] == *found;
                // A text may begin or end with a repetition.
                let begins = to[..size] == to[size..2 * size];
                let ends = to[to.len() - 2 * size..to.len() - size] == to[to.len() - size..];
                (is_neighbour && !begins && !ends).then(|| Self::Doubled(part(found)))
            }
            (lost, found) if lost.len() == found.len() => {
                swapped(&from, &to, begin..from.len() - end).map(|(one, other)| Self::Swapped(part(one), part(other)))
            }
            _ => None,
        };
        single.or_else(|| is_shuffled(original, text).then_some(Self::Shuffled))
    }
}

/// Says how the text came.
impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// The most characters of a part in a sentence.
        const LONGEST: usize = 80;
        let short = |part: &str| part.chars().take(LONGEST).collect::<String>();
        match self {
            Self::Missing(part) => write!(f, "without the part `{}`", short(part)),
            Self::Headless(part) => write!(f, "without its beginning `{}`", short(part)),
            Self::Endless(part) => write!(f, "without its end `{}`", short(part)),
            Self::Doubled(part) | Self::Repeated(part) => write!(f, "with the part `{}` twice", short(part)),
            Self::Swapped(part, next) => write!(f, "with `{}` before `{}`", short(next), short(part)),
            Self::Replaced => write!(f, "with U+FFFD in place of other characters"),
            Self::Shuffled => write!(f, "with its parts in another order"),
            Self::Split(word) => write!(f, "with a blank within `{}`", short(word)),
            Self::Unspaced(word) => write!(f, "without the white space after `{}`", short(word)),
        }
    }
}

/// Whether a part is words, without markup that a rendering may drop.
fn is_plain(part: &[char]) -> bool {
    let is_usual = |c: &char| c.is_alphanumeric() || ".,:!?'\"-/".contains(*c);
    part.iter().all(is_usual) && part.iter().filter(|c| c.is_alphanumeric()).count() >= LETTERS
}

/// Whether a part is as short as a word, and does not stand next to itself, as in a loop.
fn is_word(from: &[char], part: Range<usize>) -> bool {
    let (size, word) = (part.len(), &from[part.clone()]);
    size < SHORTEST && !from[..part.start].ends_with(word) && !from[part.end..].starts_with(word)
}

/// Returns the two parts of a range that stand there in the other order. The range may be too short, since the parts
/// may begin or end alike.
fn swapped<'c>(from: &'c [char], to: &[char], range: Range<usize>) -> Option<(&'c [char], &'c [char])> {
    const MOST_ALIKE: usize = 8;
    const LONGEST: usize = 1 << 12;
    if range.len() > LONGEST {
        return None;
    }
    let shifts = (0..=MOST_ALIKE).flat_map(|before| (0..=MOST_ALIKE).map(move |after| (before, after)));
    shifts.filter(|(before, after)| before + EDGE <= range.start && range.end + after + EDGE <= from.len()).find_map(
        |(before, after)| {
            let range = range.start - before..range.end + after;
            let (lost, found) = (&from[range.clone()], &to[range]);
            let is_swapped = |(one, other): &(&[char], &[char])| {
                found.starts_with(other) && found.ends_with(one) && is_plain(one) && is_plain(other)
            };
            (1..lost.len()).map(|at| lost.split_at(at)).find(is_swapped)
        },
    )
}

/// Whether a text has the characters of the original in another order, and not only its lines: a rendering may move
/// those, such as footnotes.
fn is_shuffled(original: &str, text: &str) -> bool {
    const FEWEST: usize = 40;
    let [(chars, lines), (other_chars, other_lines)] = [original, text].map(|text| {
        let plain = |line: &str| line.chars().filter(|c| !c.is_whitespace()).collect::<String>();
        let mut lines: Vec<String> = text.lines().map(plain).filter(|line| !line.is_empty()).collect();
        let mut chars: Vec<char> = lines.iter().flat_map(|line| line.chars()).collect();
        lines.sort_unstable();
        chars.sort_unstable();
        (chars, lines)
    });
    chars.len() >= FEWEST && chars == other_chars && lines != other_lines
}

/// Returns the beginning or the end of the original that the text has twice, as from a piece that was sent again. A
/// heading or a summary may repeat whole sentences, so the piece must break off within one.
fn repeated<'c>(original: &str, from: &'c [char], to: &[char]) -> Option<&'c [char]> {
    let size = to.len().checked_sub(from.len()).filter(|size| (SHORTEST..from.len()).contains(size))?;
    let (first, last) = (&from[..size], &from[from.len() - size..]);
    let is_first = to.strip_prefix(first) == Some(from) && is_within_sentence(original, size);
    let is_last = to.strip_suffix(last) == Some(from) && is_within_sentence(original, from.len() - size);
    let piece = if is_first { first } else { Some(last).filter(|_| is_last)? };
    is_plain(piece).then_some(piece)
}

/// Whether neither a sentence nor a line ends after so many characters besides white space.
fn is_within_sentence(text: &str, size: usize) -> bool {
    let after = text.char_indices().filter(|(_, c)| !c.is_whitespace()).nth(size).map_or(text.len(), |(at, _)| at);
    let before = text[..after].trim_end_matches([' ', '\t']);
    before.ends_with(|c: char| c.is_alphanumeric() || c == ',')
}

/// Whether the text is the original apart from replacement characters in the place of characters beyond ASCII.
fn is_replaced(from: &[char], to: &[char]) -> bool {
    let mut rest = from;
    for (position, piece) in to.split(|c| *c == char::REPLACEMENT_CHARACTER).enumerate() {
        if position > 0 && piece.is_empty() {
            continue;
        }
        let most = if position == 0 { 0 } else { rest.iter().take_while(|c| !c.is_ascii()).count() };
        let least = usize::from(position > 0);
        let Some(skipped) = (least..=most).find(|&skipped| rest[skipped..].starts_with(piece)) else { return false };
        rest = &rest[skipped + piece.len()..];
    }
    rest.iter().all(|c| !c.is_ascii()) && !from.contains(&char::REPLACEMENT_CHARACTER)
}

/// Compares texts that are equal apart from white space.
fn unspaced(original: &str, text: &str) -> Option<Damage> {
    let mut after = text.chars().peekable();
    let mut before = original.chars().peekable();
    let mut word = String::new();
    while let Some(c) = before.next() {
        if c.is_whitespace() {
            continue;
        }
        word.push(c);
        while after.next_if(|c| c.is_whitespace()).is_some() {}
        after.next();
        let is_gap = before.peek().is_some_and(|c| c.is_whitespace());
        let next = before.clone().find(|c| !c.is_whitespace());
        let is_word_next = is_gap && next.is_some_and(|c| c.is_ascii_alphanumeric());
        if is_word_next && c.is_ascii_alphanumeric() && after.peek().is_some_and(|c| !c.is_whitespace()) {
            return Some(Damage::Unspaced(word));
        }
        if before.peek().is_some_and(|c| c.is_whitespace()) {
            word.clear();
        }
    }
    None
}

/// Returns a word of the original that has a blank in an otherwise equal text. A line end may wrap a long word.
fn split(original: &str, text: &str) -> Option<Damage> {
    let mut after = text.chars().peekable();
    for word in original.split_whitespace() {
        while after.next_if(|c| c.is_whitespace()).is_some() {}
        let mut letters = word.chars().peekable();
        while let Some(letter) = letters.next() {
            after.next();
            let gap: String = std::iter::from_fn(|| after.next_if(|c| c.is_whitespace())).collect();
            let is_within = letter.is_ascii_alphanumeric() && letters.peek().is_some_and(char::is_ascii_alphanumeric);
            if is_within && !gap.is_empty() && gap.chars().all(|c| c == ' ') {
                return Some(Damage::Split(word.to_owned()));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_counts_that_the_text_has_often_and_a_loop_does_not() {
        let fruit = "The fig and the date and the pear and the plum are ripe.";
        assert_eq!(Damage::of(fruit, &fruit.replace("pear and", "pear")), Some(Damage::Missing("and".to_owned())));
        let praise = "This is very very very very good.";
        assert_eq!(Damage::of(praise, &praise.replacen("very ", "", 1)), None);
    }

    #[test]
    fn sees_damage_and_allows_other_forms() {
        let text = "One two three, four: grüße five six.\nSeven eight\n";
        let missing = |part: &str| Some(Damage::Missing(part.to_owned()));
        let table = [
            (text, None),
            ("  One two three,\nfour: grüße five six.  Seven eight", None),
            ("Here it is: One two three, four: grüße five six.\nSeven eight\nDone.", None),
            ("One two three, grüße five six.\nSeven eight\n", missing("four:")),
            ("One two three, four: grüße six.\nSeven eight\n", missing("five")),
            ("One two three, four: grüße five five six.\nSeven eight\n", Some(Damage::Doubled("five".to_owned()))),
            (
                "One three, two four: grüße five six.\nSeven eight\n",
                Some(Damage::Swapped("two".to_owned(), "three,".to_owned())),
            ),
            ("One two three, four: gr\u{fffd}\u{fffd}ße five six.\nSeven eight\n", Some(Damage::Replaced)),
            ("One two three, four: gr\u{fffd}\u{fffd}\u{fffd}e five six.\nSeven eight\n", Some(Damage::Replaced)),
            ("One two three, four: gr\u{fffd}e five six.\nSeven eight\n", Some(Damage::Replaced)),
            ("One twothree, four: grüße five six.\nSeven eight\n", Some(Damage::Unspaced("two".to_owned()))),
            ("three, four: grüße five six.\nSeven eight\n", Some(Damage::Headless("Onetwo".to_owned()))),
            ("One two three, four: grüße five six.\n", Some(Damage::Endless("Seveneight".to_owned()))),
            (
                "One two three, One two three, four: grüße five six.\nSeven eight\n",
                Some(Damage::Repeated("Onetwothree,".to_owned())),
            ),
            (
                "One two three, four: grüße five six.\nSeven eight\nfive six.\nSeven eight\n",
                Some(Damage::Repeated("fivesix.Seveneight".to_owned())),
            ),
            ("One two three, four: grüße fi ve six.\nSeven eight\n", Some(Damage::Split("five".to_owned()))),
            ("One two three, four: grüße fi\nve six.\nSeven eight\n", None),
            ("One two three, four : grüße five six .\nSeven eight\n", None),
            // A heading, and a last line or sentence that an agent repeats as its result.
            ("One two three, four: grüße five six.\nOne two three, four: grüße five six.\nSeven eight", None),
            ("One two three, four: grüße five six.\nSeven eight\nSeven eight", None),
            ("One two three, four: One two three, four: grüße five six.\nSeven eight", None),
            // Most of it is missing: perhaps it was shortened.
            ("One two three, four:", None),
            ("Seven eight", None),
            ("I counted from one to eight.", None),
            ("One two […] Seven eight", None),
            ("One two three, four: grüße five six.Seven eight", None),
            ("One One two three, four: grüße five six.\nSeven eight\n", None),
            ("One two three, four: gr?\u{fffd}e five six.\nSeven eight\n", None),
        ];
        for (other, damage) in table {
            assert_eq!(Damage::of(text, other), damage, "{other}");
        }
        let twice = Damage::of("read it, then do it, then do it well", "read it, then do it well");
        assert_eq!(twice, Some(Damage::Missing(",thendoit".to_owned())));
        let lines = Damage::of("the first line\nthe second one", "the first linethe second one");
        assert_eq!(lines, Some(Damage::Unspaced("line".to_owned())));
        let count = "busy 0 busy 1 busy 2 busy 3 busy 4 busy 5 busy 6 busy 7 busy 8\nand done";
        assert_eq!(
            Damage::of(count, &count.replace("1 busy 2", "2 busy 1").replace("5 busy 6", "6 busy 5")),
            Some(Damage::Shuffled)
        );
        assert_eq!(Damage::of("one two three four", "two one four three"), None);
        let moved = "and done\nbusy 0 busy 1 busy 2 busy 3 busy 4 busy 5 busy 6 busy 7 busy 8";
        assert_eq!(Damage::of(count, moved), None);
        let whole = format!("{text}{text}");
        assert_eq!(Damage::of(text, &whole), None);
        for (original, other) in [
            ("a **bold** word and more", "a bold** word and more"),
            ("a <br> word and more", "a  word and more"),
            ("Tom &amp; Jerry and more", "Tom & Jerry and more"),
            ("to do\nto do\nto do\nand more", "to do\nto do\nand more"),
            ("**One** two three", "two three"),
            ("Hello.", "Hlo."),
        ] {
            assert_eq!(Damage::of(original, other), None, "{other}");
        }
    }
}
