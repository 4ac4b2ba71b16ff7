//! A trace on its way through the judge, event by event: only what the report needs of it is kept.

use std::collections::{BTreeMap, BTreeSet};

use crate::judge::{CaseVerdict, Judge, Judgement, Tally, judge_case};
use crate::protocol::Edition;
use crate::requirement::{Catalogue, Party};
use crate::trace::{Event, FENCE, Header, Lack, Outcome, ProcessEvent, StepEvent, StepKind, Trace, What};

/// Takes in a trace event by event.
pub struct Hearing {
    judge: Judge,
    outline: Trace,
    last_us: u64,
    unattributed: usize,
    /// The methods of the fences that are requests of the protocol, by the events of these requests.
    marked: BTreeMap<usize, String>,
    fences: BTreeMap<String, usize>,
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
    /// What served as a fence, and how often.
    pub(super) fences: BTreeMap<String, usize>,
}

/// How a weak fence is called in the report.
pub(super) const TIME_LIMIT: &str = "time limit";

/// How many events that are no lines are kept; a case has far fewer.
const MOST_OUTLINED: usize = 10_000;

impl Hearing {
    /// Begins with the header of a trace.
    #[must_use]
    pub fn new(header: &Header) -> Self {
        let outline = Trace { header: header.clone(), events: Vec::new() };
        let judge = Judge::new(header, Edition::v1());
        Self { judge, outline, last_us: 0, unattributed: 0, marked: BTreeMap::new(), fences: BTreeMap::new() }
    }

    /// Takes in the next event.
    pub fn event(&mut self, event: &Event) {
        self.judge.event(event);
        self.last_us = event.us;
        self.unattributed += usize::from(matches!(event.what, What::Unattributed(_)));
        self.note_fence(event);
        if matches!(event.what, What::Step(_) | What::Process(_)) && self.outline.events.len() < MOST_OUTLINED {
            self.outline.events.push(event.clone());
        }
    }

    fn note_fence(&mut self, event: &Event) {
        match &event.what {
            // The mark stands directly before its request.
            What::Fence(method) if self.marked.len() < MOST_OUTLINED => {
                self.marked.insert(event.n + 1, method.clone());
            }
            What::Step(step) if step.kind == StepKind::Fence => {
                let marked = step.events.first().and_then(|request| self.marked.remove(request));
                let means = match step.outcome {
                    Outcome::Done => marked.unwrap_or_else(|| FENCE.to_owned()),
                    Outcome::Quiet => TIME_LIMIT.to_owned(),
                    _ => return,
                };
                *self.fences.entry(means).or_default() += 1;
            }
            _ => {}
        }
    }

    /// How many failures were found so far, and the requirements that failed.
    pub fn failed(&self) -> (usize, impl Iterator<Item = (&str, &Tally)>) {
        self.judge.failed()
    }

    /// Ends the trace.
    #[must_use]
    pub fn close(self) -> Heard {
        let Self { judge, outline, last_us, unattributed, fences, .. } = self;
        Heard { judgement: judge.finish(), outline, last_us, unattributed, fences }
    }
}

impl Heard {
    /// The positions of the events that prove something, for a second look at the recording.
    #[must_use]
    pub fn evidence(&self) -> BTreeSet<usize> {
        let findings = self.judgement.tallies.values().flat_map(|tally| &tally.findings);
        findings.flat_map(|finding| finding.events.iter().copied()).collect()
    }

    /// The requirements that the case was written for.
    pub(super) fn requirements(&self) -> &[String] {
        &self.outline.header.requirements
    }

    /// The file that was played or recorded, where the user has it.
    pub(super) fn file(&self) -> Option<&str> {
        self.outline.header.file.as_deref()
    }

    /// The line in the case file of the step that was played when the first of these events came.
    ///
    /// Steps are noted once they are over, and those that forbid something at the end: so it is the step which is itself
    /// the evidence, or which names the event, or else the next one.
    pub(super) fn line_of(&self, evidence: &[usize]) -> Option<usize> {
        let deciding = *evidence.first()?;
        let steps = || {
            let written = |event: &&Event| step_of(event).is_some_and(|step| step.line > 0);
            self.outline.events.iter().filter(written).filter_map(|event| Some((event.n, step_of(event)?)))
        };
        let evident = evidence.iter().find_map(|n| steps().find(|(at, _)| at == n));
        let naming = || steps().find(|(_, step)| step.events.first() == Some(&deciding));
        let next = || steps().find(|(at, step)| *at > deciding && step.kind != StepKind::Never);
        let (_, step) = evident.or_else(naming).or_else(next)?;
        step.include.is_none().then_some(step.line)
    }

    /// The id of the process, if it had served other cases before.
    pub(super) fn reused(&self) -> Option<u32> {
        let processes = self.outline.events.iter().filter_map(|event| match &event.what {
            What::Process(process) => Some(process),
            _ => None,
        });
        let is_reused = processes.clone().any(|process| matches!(process, ProcessEvent::Reused(_)));
        let mut ids = processes.filter_map(|process| match process {
            ProcessEvent::Spawned { pid } => Some(*pid),
            _ => None,
        });
        ids.next().filter(|_| is_reused)
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
        let weak = self.fences.get(TIME_LIMIT).map(|_| {
            "a fence was only a wait, since no request could serve as one: it does not show that something did not come"
                .to_owned()
        });
        let other = self.judgement.not_covered.iter().map(|other| {
            format!("conversation {}: not covered: protocol version {}", other.connection + 1, other.version)
        });
        let unattributed = Some(unattributed).filter(|_| self.unattributed > 0);
        lacks.chain(other).chain(forgot).chain(weak).chain(unattributed).collect()
    }

    /// The verdict on the trace as a case, as far as one party is concerned.
    pub(super) fn verdict(&self, party: Party, catalogue: &Catalogue) -> CaseVerdict {
        let mut outline = self.outline.clone();
        outline.header.subject = Some(party);
        judge_case(&outline, &self.judgement, catalogue)
    }
}

const fn step_of(event: &Event) -> Option<&StepEvent> {
    if let What::Step(step) = &event.what { Some(step) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(n: usize, kind: StepKind, line: usize, events: &[usize]) -> Event {
        let step = StepEvent {
            kind,
            line,
            include: (line >= 100).then(|| "session".to_owned()),
            text: String::new(),
            outcome: Outcome::Done,
            decides: Vec::new(),
            events: events.to_vec(),
            expected: None,
            observed: None,
        };
        Event { n, us: 0, connection: 0, what: What::Step(step) }
    }

    #[test]
    fn a_finding_is_where_the_transcript_was() {
        let mut hearing = Hearing::new(&Header::of_recording("v1@2026-11", Vec::new()));
        let steps = [
            step(3, StepKind::Must, 105, &[2]),
            step(6, StepKind::Must, 9, &[5]),
            step(9, StepKind::Fence, 0, &[]),
            step(10, StepKind::Never, 7, &[8]),
            step(11, StepKind::Never, 8, &[]),
        ];
        steps.iter().for_each(|event| hearing.event(event));
        let heard = hearing.close();
        assert_eq!(heard.line_of(&[5, 2]), Some(9), "the step that names the event");
        assert_eq!(heard.line_of(&[4]), Some(9), "the step that was awaited");
        assert_eq!(heard.line_of(&[4, 10]), Some(7), "the step that is evidence itself");
        assert_eq!(heard.line_of(&[8]), Some(7), "a step that forbids it is noted at the end");
        assert_eq!(heard.line_of(&[2]), None, "an include is another file");
        assert_eq!(heard.line_of(&[7]), None, "what forbids something else does not come next");
        assert_eq!(heard.line_of(&[]), None);
    }
}
