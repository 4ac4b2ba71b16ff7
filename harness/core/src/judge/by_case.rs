//! Splits what was found in a conversation among the cases that it holds.

use std::collections::BTreeMap;

use super::ruling::{Finding, Tally};

/// What was found, by requirement.
type Tallies = BTreeMap<String, Tally>;

/// The cases of a conversation so far; none in a trace of a single case and in a recording.
#[derive(Default)]
pub(super) struct CaseShares {
    cases: Vec<Share>,
    /// What the start of the process showed, up to the answer to `initialize`.
    start: Option<Tallies>,
}

struct Share {
    /// The event with which the case begins.
    first: usize,
    requirements: Vec<String>,
    found: Tallies,
}

impl CaseShares {
    /// Begins a case with this event; `found` is what was found since the one before began.
    pub(super) fn begin(&mut self, first: usize, requirements: Vec<String>, found: Tallies) {
        self.end(found);
        self.cases.push(Share { first, requirements, found: Tallies::new() });
    }

    /// Ends the last case.
    pub(super) fn end(&mut self, found: Tallies) {
        if let Some(last) = self.cases.last_mut() {
            last.found = found;
        }
    }

    /// Whether no case has begun.
    pub(super) const fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }

    /// Whether the conversation holds several cases, and its start is still going on.
    pub(super) const fn wants_start(&self) -> bool {
        !self.cases.is_empty() && self.start.is_none()
    }

    /// Notes what the start of the process showed.
    pub(super) fn started(&mut self, found: Tallies) {
        self.start = Some(found);
    }

    /// Returns what was found in each case; nothing if there are no cases.
    ///
    /// A finding counts for the case in which its deciding event lies, since a check may decide only later. The start of the process
    /// counts for each case that was written for one of its requirements, as if the case had a process of its own.
    ///
    /// What is decided only at the end, with the event `end`, counts for the case of the next event that proves it.
    pub(super) fn split(mut self, end: usize) -> Vec<Tallies> {
        let firsts: Vec<usize> = self.cases.iter().map(|case| case.first).collect();
        let owner = |finding: &Finding, at: usize| {
            let event = finding.events.iter().find(|&&event| event != end)?;
            Some(firsts.partition_point(|first| first <= event).saturating_sub(1).min(at))
        };
        for at in 1..self.cases.len() {
            for (requirement, tally) in std::mem::take(&mut self.cases[at].found) {
                for (case, part) in tally.split(|finding| owner(finding, at).unwrap_or(at), at) {
                    self.cases[case].found.entry(requirement.clone()).or_default().join(part);
                }
            }
        }
        let start = self.start.unwrap_or_default();
        let mut cases = self.cases.into_iter().map(|Share { requirements, found, .. }| (requirements, found));
        let first = cases.next().map(|(_, found)| found);
        let rest = cases.map(|(requirements, mut found)| {
            for (requirement, tally) in start.iter().filter(|(id, _)| requirements.contains(id)) {
                found.entry(requirement.clone()).or_default().join(tally.clone());
            }
            found
        });
        first.into_iter().chain(rest).collect()
    }
}
