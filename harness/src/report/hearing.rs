//! A trace on its way through the judge, event by event: only what the report needs of it is kept.

use std::collections::BTreeSet;

use crate::judge::{CaseVerdict, Judge, Judgement, Tally, judge_case};
use crate::protocol::Edition;
use crate::requirement::{Catalogue, Party};
use crate::trace::{Event, Header, Lack, Trace, What};

/// Takes in a trace event by event.
pub struct Hearing {
    judge: Judge,
    outline: Trace,
    last_us: u64,
    unattributed: usize,
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
    /// How many lines have no known sender.
    unattributed: usize,
}

/// How many events that are no lines are kept; a case has far fewer.
const MOST_OUTLINED: usize = 10_000;

impl Hearing {
    /// Begins with the header of a trace.
    #[must_use]
    pub fn new(header: &Header) -> Self {
        let outline = Trace { header: header.clone(), events: Vec::new() };
        Self { judge: Judge::new(header, Edition::v1()), outline, last_us: 0, unattributed: 0 }
    }

    /// Takes in the next event.
    pub fn event(&mut self, event: &Event) {
        self.judge.event(event);
        self.last_us = event.us;
        self.unattributed += usize::from(matches!(event.what, What::Unattributed(_)));
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
        let Self { judge, outline, last_us, unattributed } = self;
        Heard { judgement: judge.finish(), outline, last_us, unattributed }
    }
}

impl Heard {
    /// The positions of the events that prove something, for a second look at the recording.
    #[must_use]
    pub fn evidence(&self) -> BTreeSet<usize> {
        let findings = self.judgement.tallies.values().flat_map(|tally| &tally.findings);
        findings.flat_map(|finding| finding.events.iter().copied()).collect()
    }

    /// What the recording does not tell, a sentence each.
    pub(super) fn notes(&self) -> Vec<String> {
        let late = "it begins in the middle of a conversation: what depends on what was said before is not judged";
        let lacks = self.outline.header.lacks.iter().map(|lack| match lack {
            Lack::Bytes => "its messages were written anew: the bytes, and lines that are no messages, are not judged",
            Lack::Ends => "it does not tell how lines ended: what depends on that is not judged",
            Lack::Times => "it has no times: what depends on them is not judged",
            Lack::Processes => "it does not tell when a program was ended: what depends on that is not judged",
            Lack::Order => "the order of its messages is not known: only single messages are judged",
            Lack::Replays => "it may leave out what is replayed: the loading of sessions is not judged",
        });
        let lacks = lacks.chain(Some(late).filter(|_| self.judgement.begins_late)).map(str::to_owned);
        let unattributed = format!(
            "{} of its messages may be of either party: they are not judged, nor what depends on them",
            self.unattributed
        );
        let forgot = self.judgement.forgot.map(|n| {
            format!(
                "it is too long to remember all of it: from #{n} on, what depends on what was long ago is not judged"
            )
        });
        lacks.chain(forgot).chain(Some(unattributed).filter(|_| self.unattributed > 0)).collect()
    }

    /// The verdict on the trace as a case, as far as one party is concerned.
    pub(super) fn verdict(&self, party: Party, catalogue: &Catalogue) -> CaseVerdict {
        let mut outline = self.outline.clone();
        outline.header.subject = Some(party);
        judge_case(&outline, &self.judgement, catalogue)
    }
}
