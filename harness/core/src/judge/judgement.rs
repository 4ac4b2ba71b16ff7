//! The findings of one trace for all requirements.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::conversation::{Conversation, Introduction};
use crate::finding::Tally;
use crate::requirement::Party;
use crate::verdict::Verdict;

/// The findings of one trace, by requirement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Judgement {
    /// The tally of each requirement that has findings.
    pub tallies: BTreeMap<String, Tally>,
    /// Whether each requirement with a precondition applies, as far as that is known: in one of the conversations, or
    /// in none.
    pub applies: Arc<BTreeMap<&'static str, bool>>,
    /// The conversations that negotiated another version of the protocol, by connection: this edition does not cover
    /// them.
    pub not_covered: Vec<NotCovered>,
    /// The number of conversations that were checked by this edition.
    pub covered: usize,
    /// The version that the client requested on a connection that it left when the agent answered with the edition's.
    pub turned_down: Option<u64>,
    /// The names and versions of the parties.
    pub introductions: BTreeMap<Party, Introduction>,
    /// Whether the trace begins in the middle of a conversation.
    pub begins_late: bool,
    /// The event at which the history exceeded the memory, so that older events no longer count.
    pub forgot: Option<usize>,
    /// The parties that showed a part which no earlier revision of the version has.
    pub shown: BTreeSet<Party>,
}

/// A conversation that agreed on another version than the edition's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotCovered {
    /// The number of the connection, from 0.
    pub connection: usize,
    /// The agreed version.
    pub version: u64,
    /// The party that speaks it, if the other one asked for the edition's version.
    pub party: Option<Party>,
}

impl NotCovered {
    /// Reads which party of a conversation speaks the other version that was agreed on.
    pub(super) fn of(conversation: &Conversation, connection: usize, version: u64) -> Self {
        let party = (!conversation.is_uncovered(Party::Client)).then_some(Party::Agent);
        Self { connection, version, party }
    }

    /// Whether the party speaks the version.
    pub fn is_of(&self, party: Party) -> bool {
        self.party.is_none_or(|speaks| speaks == party)
    }
}

impl Judgement {
    /// Adds the findings of another case of the same conversation.
    pub(super) fn join(&mut self, other: Self) {
        for (requirement, tally) in other.tallies {
            self.tallies.entry(requirement).or_default().join(tally);
        }
    }

    /// Returns the verdict on one requirement.
    pub fn verdict(&self, requirement: &str) -> Verdict {
        match self.tallies.get(requirement).map_or(Verdict::NotExercised, Tally::verdict) {
            Verdict::NotExercised if self.applies.get(requirement) == Some(&false) => Verdict::NotApplicable,
            verdict => verdict,
        }
    }

    /// Lists the differences from another judgement in verdict, evidence or number of findings; the sentences may
    /// differ.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let none = Tally::default();
        let ids: BTreeSet<&String> = self.tallies.keys().chain(other.tallies.keys()).collect();
        let both =
            ids.into_iter().map(|id| (id, [self, other].map(|one| one.tallies.get(id).unwrap_or(&none).outline())));
        let changed = both.filter(|(_, [mine, others])| mine != others);
        changed.map(|(id, [mine, others])| format!("{id}: {mine}; {others}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::judge;
    use crate::testing::v1;
    use crate::trace::{Event, Header, Trace, What};
    use crate::wire::LineEnd;

    /// Checks the agent's lines of a turn.
    fn judged(lines: &[String]) -> Judgement {
        let header = Header::of_recording(&v1().name, Vec::new());
        let header = Header { subject: Some(Party::Agent), case: Some("case".to_owned()), ..header };
        let line = |(n, line): (usize, &String)| {
            let what = What::Line {
                from: Party::Agent,
                bytes: line.clone().into_bytes(),
                end: LineEnd::Lf,
                deliberate: false,
            };
            Event { n, us: 0, connection: 0, what }
        };
        judge(&Trace { header, events: lines.iter().enumerate().map(line).collect() }, v1())
    }

    #[test]
    fn nothing_fails_for_what_was_not_read() {
        let update = |values: usize| {
            let zeros = vec!["0"; values].join(",");
            let update = format!(r#""_meta":{{"a":[{zeros}]}},"sessionUpdate":"agent_message_chunk""#);
            let update = format!(r#"{{{update},"content":{{"type":"text","text":"x"}}}}"#);
            format!(r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":"s","update":{update}}}}}"#)
        };
        let unversioned = r#"{"method":"_x"}"#.to_owned();
        let small = judged(&[update(10), unversioned.clone()]);
        assert_eq!(small.verdict("schema.valid.agent"), Verdict::Pass);
        assert_eq!(small.verdict("jsonrpc.version-member.agent"), Verdict::Fail);
        let large = judged(&[update(1 << 20), unversioned]);
        assert_eq!(large.verdict("schema.valid.agent"), Verdict::NotExercised);
        assert_eq!(large.verdict("jsonrpc.version-member.agent"), Verdict::Inconclusive);
        assert_eq!(large.verdict("transport.stdout-only-messages"), Verdict::Pass);
        assert!(large.tallies.values().all(|tally| tally.verdict() != Verdict::Fail));
    }
}
