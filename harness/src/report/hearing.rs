//! A trace on its way through the judge, event by event: only what the report needs of it is kept.

use std::collections::BTreeSet;

use crate::judge::{CaseVerdict, Judge, Judgement, Tally, judge_case};
use crate::protocol::Edition;
use crate::requirement::{Catalogue, Party};
use crate::trace::{Event, Header, Trace, What};

/// Takes in a trace event by event.
pub struct Hearing {
    judge: Judge,
    outline: Trace,
    last_us: u64,
}

/// What a trace said, without the trace.
#[derive(Debug, Clone)]
pub struct Heard {
    /// What the judge found.
    pub judgement: Judgement,
    /// The time of the last event, in microseconds since the start of the trace.
    pub last_us: u64,
    /// The header, with the events that are no lines.
    outline: Trace,
}

/// How many events that are no lines are kept; a case has far fewer.
const MOST_OUTLINED: usize = 10_000;

impl Hearing {
    /// Begins with the header of a trace.
    #[must_use]
    pub fn new(header: &Header) -> Self {
        let outline = Trace { header: header.clone(), events: Vec::new() };
        Self { judge: Judge::new(header, Edition::v1()), outline, last_us: 0 }
    }

    /// Takes in the next event.
    pub fn event(&mut self, event: &Event) {
        self.judge.event(event);
        self.last_us = event.us;
        if matches!(event.what, What::Step(_) | What::Process(_)) && self.outline.events.len() < MOST_OUTLINED {
            self.outline.events.push(event.clone());
        }
    }

    /// How many failures were found so far, and the requirements that failed.
    pub fn failed(&self) -> (usize, impl Iterator<Item = (&str, &Tally)>) {
        self.judge.failed()
    }

    /// Ends the trace.
    #[must_use]
    pub fn close(self) -> Heard {
        Heard { judgement: self.judge.finish(), outline: self.outline, last_us: self.last_us }
    }
}

impl Heard {
    /// The positions of the events that prove something, for a second look at the recording.
    #[must_use]
    pub fn evidence(&self) -> BTreeSet<usize> {
        let findings = self.judgement.tallies.values().flat_map(|tally| &tally.findings);
        findings.flat_map(|finding| finding.events.iter().copied()).collect()
    }

    /// The verdict on the trace as a case, as far as one party is concerned.
    pub(super) fn verdict(&self, party: Party, catalogue: &Catalogue) -> CaseVerdict {
        let mut outline = self.outline.clone();
        outline.header.subject = Some(party);
        judge_case(&outline, &self.judgement, catalogue)
    }
}
