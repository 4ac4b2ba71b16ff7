//! The text of a transcript, and the differences between two of them.

use std::fmt::Write;

use similar::{ChangeTag, TextDiff};

use super::normal::normalised;
use crate::case::is_handshake;
use crate::requirement::Party;
use crate::trace::Trace;

/// Returns the transcript of a case, one message per line, without the parts that differ from run to run. Only the
/// transcript of the handshake shows the messages at the start of every conversation, so that a change of those changes
/// one transcript and not all.
pub fn text(trace: &Trace) -> String {
    let party = trace.header.subject.unwrap_or(Party::Agent);
    let whole = trace.header.case.as_deref().is_some_and(is_handshake);
    let text = normalised(party, &trace.events);
    let lines = text.lines().map(|line| if whole { line } else { brief(party, line) });
    lines.fold(String::new(), |text, line| text + line + "\n")
}

/// Shortens the messages that the subject sends at every start.
fn brief(party: Party, line: &str) -> &str {
    let beginnings: &[&str] = match party {
        Party::Agent => &["← <client-request-1> result ", "← <client-request-2> result "],
        Party::Client => &["→ <client-request-1> initialize "],
    };
    let found = beginnings.iter().find(|beginning| line.starts_with(**beginning));
    found.map_or(line, |beginning| beginning.trim_end())
}

/// The differences between two transcripts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptChanges {
    /// The number of lines only in the old one.
    pub removed: usize,
    /// The number of lines only in the new one.
    pub added: usize,
    /// The changed lines with the lines around them, as a unified diff.
    pub diff: String,
    /// Whether the diff was shortened.
    pub cut: bool,
}

/// The length of a shown difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// A short form that is quick to read.
    Glance,
    /// All of it.
    Full,
}

/// The number of lines around a difference.
const CONTEXT: usize = 3;

/// The most lines of a difference in the short form.
const MOST_LINES: usize = 40;

/// The most characters of a line.
const LONGEST_LINE: usize = 1_000;

/// Returns how the new transcript differs from the old one; `None` if it does not. Another order of answers relative to
/// the other messages is not a difference.
pub fn changes(old: &str, new: &str, bound: Bound) -> Option<TranscriptChanges> {
    if old == new || apart(old) == apart(new) {
        return None;
    }
    let diff = TextDiff::from_lines(old, new);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    let unified = diff.unified_diff().context_radius(CONTEXT).to_string();
    let (most, longest) = match bound {
        Bound::Glance => (MOST_LINES, LONGEST_LINE),
        Bound::Full => (usize::MAX, usize::MAX),
    };
    let mut changes = TranscriptChanges {
        removed: count(ChangeTag::Delete),
        added: count(ChangeTag::Insert),
        diff: String::new(),
        cut: false,
    };
    for (index, line) in unified.lines().enumerate() {
        if index == most {
            changes.cut = true;
            break;
        }
        let end = line.char_indices().nth(longest).map(|(at, _)| at);
        changes.cut |= end.is_some();
        let mark = if end.is_some() { " …" } else { "" };
        let _ = writeln!(changes.diff, "{}{mark}", &line[..end.unwrap_or(line.len())]);
    }
    Some(changes)
}

/// Returns the ordered lines, and separately, sorted, those without an order: answers and the ends of streams.
fn apart(text: &str) -> (Vec<&str>, Vec<&str>) {
    let is_free = |line: &&str| {
        let mut words = line.split(' ');
        let (arrow, id, kind) = (words.next(), words.next(), words.next());
        let said = matches!(arrow, Some("→" | "←"));
        said && (matches!((id, kind), (Some(id), Some("result" | "error")) if id.starts_with('<'))
            || (id, kind) == (Some("end"), Some("of")))
    };
    let (mut free, ordered): (Vec<&str>, Vec<&str>) = text.lines().partition(is_free);
    free.sort_unstable();
    (ordered, free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_shows_differences_with_context() {
        let old = "a\nb\nc\nd\ne\nf\ng\n";
        let found = changes(old, "a\nb\nc\nd\nE\nf\ng\nh\n", Bound::Glance).expect("they differ");
        assert_eq!((found.removed, found.added, found.cut), (1, 2, false));
        assert_eq!(found.diff, "@@ -2,6 +2,7 @@\n b\n c\n d\n-e\n+E\n f\n g\n+h\n");
        assert_eq!(changes(old, old, Bound::Full), None);
    }

    #[test]
    fn order_of_answers_does_not_matter() {
        let old = "← say\n→ <agent-request-1> result {}\n← done\n→ end of input\n";
        let later = "← say\n← done\n→ end of input\n→ <agent-request-1> result {}\n";
        assert_eq!(changes(old, later, Bound::Full), None);
        for other in [later.replace("{}", "{ }"), old.replace("← say\n← done", ""), old.replace("say", "said")] {
            assert_eq!(changes(old, &other, Bound::Full).is_some(), other != old, "{other}");
        }
        assert!(changes("← say\n← done\n", "← done\n← say\n", Bound::Full).is_some());
    }

    #[test]
    fn short_form_cuts_a_long_difference() {
        let new = "x\n".repeat(MOST_LINES) + &"y".repeat(LONGEST_LINE + 1) + "\n";
        let glance = changes("", &new, Bound::Glance).expect("they differ");
        assert_eq!((glance.added, glance.cut, glance.diff.lines().count()), (MOST_LINES + 1, true, MOST_LINES));
        let full = changes("", &new, Bound::Full).expect("they differ");
        assert!(!full.cut && full.diff.ends_with(&new[new.len() - LONGEST_LINE..]));
    }
}
