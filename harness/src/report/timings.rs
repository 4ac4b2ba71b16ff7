//! The distribution of the time of a case, from its trace, and the sums over all cases.

use std::collections::BTreeMap;
use std::time::Duration;

use super::model::{Floor, Spent, Timings};
use crate::trace::{CaseMark, Event, McpEvent, McpWhat, Outcome, ProcessEvent, StepEvent, StepKind, Trace, What};

impl Spent {
    /// Returns the distribution of the time of a case with these times for its run and its checks.
    ///
    /// The trace contains the waits for the subject; the rest of the run is the tester's own time.
    #[must_use]
    pub fn of(trace: &Trace, took: Duration, judging: Duration) -> Self {
        let mut spent = Self { judging_us: microseconds(judging), ..Self::default() };
        spent.count_waits(trace);
        let took = microseconds(took);
        spent.tester_us = took.saturating_sub(spent.start_us + spent.answers_us() + spent.exit_us);
        spent.total_us = took + spent.judging_us;
        spent
    }

    /// Returns the sum of the waits between the start and the exit of the subject.
    #[must_use]
    pub fn answers_us(&self) -> u64 {
        self.waits_us.values().sum()
    }

    fn count_waits(&mut self, trace: &Trace) {
        let events = &trace.events;
        let position = |wanted: &dyn Fn(&What) -> bool| events.iter().position(|event| wanted(&event.what));
        // The trace of a later case of a conversation also contains the start of the process, which does not belong to that
        // case.
        let joins = position(&|what| matches!(what, What::Case(CaseMark::Begins(_)))).filter(|&begins| begins > 0);
        let spawned = || position(&|what| matches!(what, What::Process(ProcessEvent::Spawned { .. })));
        let Some(first) = joins.or_else(spawned) else { return };
        let last_step = events.iter().rposition(|event| matches!(event.what, What::Step(_))).unwrap_or(first);
        let exits = events[last_step..].iter().any(|event| matches!(event.what, What::Process(_)));
        let subject = trace.header.subject;
        let spoke = || position(&|what| matches!(what, What::Line { from, .. } if Some(*from) == subject));
        let begun = joins.or_else(spoke).unwrap_or(last_step);
        // The kind of step that waited is known only when the step is over.
        let mut unnamed = 0;
        for (at, (gap, event)) in gaps(events).enumerate().skip(first + 1) {
            match &event.what {
                _ if at <= begun => self.start_us += gap,
                _ if at > last_step && exits => self.exit_us += gap,
                What::Line { from, .. } if Some(*from) != subject => {}
                What::Mcp(McpEvent { what: McpWhat::ToAgent(_), .. }) => {}
                What::Line { .. }
                | What::Unattributed(_)
                | What::Stderr(_)
                | What::Stdout(_)
                | What::Process(_)
                | What::Mcp(_)
                | What::Visit(_)
                | What::Model(_)
                | What::Fence(_)
                | What::Case(_) => unnamed += gap,
                What::Step(step) => {
                    let waited = std::mem::take(&mut unnamed) + if is_awaited(step) { gap } else { 0 };
                    match step.kind {
                        StepKind::Exit => self.exit_us += waited,
                        _ if waited == 0 => {}
                        kind => *self.waits_us.entry(kind).or_default() += waited,
                    }
                }
            }
        }
    }

    fn add(&mut self, other: &Self) {
        self.total_us += other.total_us;
        self.start_us += other.start_us;
        self.exit_us += other.exit_us;
        self.tester_us += other.tester_us;
        self.judging_us += other.judging_us;
        for (kind, us) in &other.waits_us {
            *self.waits_us.entry(*kind).or_default() += us;
        }
    }
}

impl Timings {
    /// Combines the measurements.
    #[must_use]
    pub fn new(jobs: usize, wall: Duration, start_up: Duration, floor: Floor, cases: BTreeMap<String, Spent>) -> Self {
        let mut total = Spent::default();
        cases.values().for_each(|spent| total.add(spent));
        Self { jobs, wall_us: microseconds(wall), start_up_us: microseconds(start_up), floor, total, cases }
    }
}

impl Floor {
    /// Returns the result of bare starts of the subject, or the reason for their absence.
    #[must_use]
    pub fn of(starts: Result<Vec<Duration>, String>) -> Self {
        match starts {
            Ok(mut starts) => {
                starts.sort_unstable();
                let median = starts.get(starts.len() / 2).copied().unwrap_or_default();
                Self::Measured { starts: starts.len(), median_us: microseconds(median) }
            }
            Err(reason) => Self::Unknown { reason },
        }
    }
}

/// Returns each event with the time since the one before it, in microseconds.
fn gaps(events: &[Event]) -> impl Iterator<Item = (u64, &Event)> {
    let before = [0].into_iter().chain(events.iter().map(|event| event.us));
    before.zip(events).map(|(before, event)| (event.us.saturating_sub(before), event))
}

/// Whether the wait was for the end of the step itself, and not for a line before it.
fn is_awaited(step: &StepEvent) -> bool {
    step.outcome != Outcome::Done || matches!(step.kind, StepKind::File | StepKind::Process | StepKind::Exit)
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use super::{Floor, Spent};
    use crate::trace::{StepKind, Trace};

    const TRACE: &str = r#"{"format":"acp-conformance-trace/1","suite":"0","edition":"v1","case":"c","subject":"agent","command":[],"requirements":[]}
{"n":0,"us":5,"process":{"spawned":{"pid":1}}}
{"n":1,"us":6,"from":"client","line":"{}"}
{"n":2,"us":106,"from":"agent","line":"{}"}
{"n":3,"us":110,"step":{"kind":"must","line":1,"text":"","outcome":"done"}}
{"n":4,"us":120,"from":"client","line":"{}"}
{"n":5,"us":150,"from":"agent","line":"{}"}
{"n":6,"us":170,"from":"agent","line":"{}"}
{"n":7,"us":171,"step":{"kind":"must","line":2,"text":"","outcome":"done"}}
{"n":8,"us":180,"process":"stdin-closed"}
{"n":9,"us":200,"step":{"kind":"optional","line":3,"text":"","outcome":"missed"}}
{"n":10,"us":260,"process":{"exited":{"code":0,"signal":null}}}
"#;

    #[test]
    fn every_microsecond_goes_somewhere() {
        let trace = Trace::read(TRACE.as_bytes()).expect("a trace");
        let spent = Spent::of(&trace, Duration::from_micros(300), Duration::from_micros(7));
        let waits = BTreeMap::from([(StepKind::Must, 50), (StepKind::Optional, 29)]);
        let wanted = Spent { total_us: 307, start_us: 101, waits_us: waits, exit_us: 60, tester_us: 60, judging_us: 7 };
        assert_eq!(spent, wanted);
    }

    #[test]
    fn later_case_of_a_conversation_has_no_start_and_no_exit() {
        let marks = [
            r#"{"n":0,"us":1,"case":{"begins":{"id":"a"}}}"#,
            r#"{"n":1,"us":5,"process":{"spawned":{"pid":1}}}"#,
            r#"{"n":2,"us":6,"from":"client","line":"{\"id\":0,\"method\":\"initialize\"}"}"#,
            r#"{"n":3,"us":106,"from":"agent","line":"{\"id\":0,\"result\":{}}"}"#,
            r#"{"n":4,"us":110,"case":"ends"}"#,
            r#"{"n":5,"us":200,"case":{"begins":{"id":"b"}}}"#,
            r#"{"n":6,"us":210,"from":"client","line":"{}"}"#,
            r#"{"n":7,"us":250,"from":"agent","line":"{}"}"#,
            r#"{"n":8,"us":251,"step":{"kind":"must","line":2,"text":"","outcome":"done"}}"#,
            r#"{"n":9,"us":252,"case":"ends"}"#,
        ];
        let header = TRACE.lines().next().unwrap_or_default().replace(r#""case":"c""#, r#""conversation":1"#);
        let text = format!("{header}\n{}\n", marks.join("\n"));
        let parts = Trace::read(text.as_bytes()).expect("a trace").by_case();
        let spent = Spent::of(&parts[1], Duration::from_micros(52), Duration::ZERO);
        let waits = BTreeMap::from([(StepKind::Must, 40)]);
        let wanted = Spent { total_us: 52, start_us: 0, waits_us: waits, exit_us: 0, tester_us: 12, judging_us: 0 };
        assert_eq!(spent, wanted);
    }

    #[test]
    fn the_floor_is_the_median_or_the_reason_why_there_is_none() {
        let starts = [9, 1, 3].map(Duration::from_micros).to_vec();
        assert_eq!(Floor::of(Ok(starts)), Floor::Measured { starts: 3, median_us: 3 });
        assert_eq!(Floor::of(Err("no".to_owned())), Floor::Unknown { reason: "no".to_owned() });
    }
}
