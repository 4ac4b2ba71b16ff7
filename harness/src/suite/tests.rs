//! Which cases run again, by the traces of conversations.

use serde_json::json;

use super::retry::{Again, Retry};
use crate::edition::V1;
use crate::requirement::Party;
use crate::results::Collector;
use crate::trace::Trace;

/// The state of a suite after some conversations.
struct AfterRuns {
    collector: Collector,
    retry: Retry,
}

impl AfterRuns {
    /// Judges conversations in which the steps of the cases have these outcomes.
    fn of(conversations: &[&[&str]]) -> Self {
        let collector = Collector::new(V1.edition(), Party::Agent, Vec::new());
        let mut state = Self { collector, retry: Retry::default() };
        for (number, outcomes) in conversations.iter().enumerate() {
            let trace = conversation(number, outcomes);
            let cases = state.collector.add(&trace, None);
            for (case, part) in cases.iter().zip(trace.by_case()) {
                state.retry.add(&state.collector, case, part);
            }
        }
        state
    }

    /// Returns the number of cases that need no further run, and those that run again.
    fn review(&mut self) -> (usize, Again) {
        let (settled, again) = self.retry.review(&self.collector);
        (settled.len(), again)
    }
}

fn conversation(number: usize, outcomes: &[&str]) -> Trace {
    let step = |outcome| json!({ "kind": "must", "line": 9, "text": "agent: { id: list }", "outcome": outcome });
    let events = outcomes.iter().enumerate().flat_map(|(place, outcome)| {
        let id = format!("v1/agent/list/number-{number}-{place}");
        let begins = json!({ "id": id, "requirements": ["list.next-cursor-string"] });
        [json!({ "case": { "begins": begins } }), json!({ "step": step(outcome) }), json!({ "case": "ends" })]
    });
    let header = json!({
        "format": "acp-conformance-trace/2", "suite": "0", "edition": "v1@2026-11-20", "conversation": 1, "subject": "agent",
    });
    let lines = events.enumerate().map(|(n, mut event)| {
        event["n"] = n.into();
        event["us"] = n.into();
        format!("\n{event}")
    });
    let text: String = std::iter::once(header.to_string()).chain(lines).collect();
    Trace::read(text.as_bytes()).expect("a trace")
}

#[test]
fn unmet_step_is_confirmed_alone_only_if_the_agent_did_not_answer() {
    for (outcome, is_together) in
        [("contradicted", true), ("missed", true), ("timed-out", false), ("ended", false), ("login-needed", false)]
    {
        let (_, again) = AfterRuns::of(&[&["done", outcome]]).review();
        let runs = (again.together.len(), again.alone.len());
        assert_eq!(runs, if is_together { (1, 0) } else { (0, 1) }, "{outcome}");
    }
}

#[test]
fn skipped_case_waits_for_nothing() {
    let mut runs = AfterRuns::of(&[&["done", "missed"]]);
    let (_, again) = runs.review();
    runs.retry.remove(&again.together[0]);
    assert_eq!(runs.review(), (0, Again::default()));
}

#[test]
fn unmet_step_of_the_first_case_of_a_conversation_needs_no_run_alone() {
    for outcome in ["contradicted", "missed"] {
        let (settled, again) = AfterRuns::of(&[&[outcome, outcome]]).review();
        assert_eq!((settled, again), (2, Again::default()), "{outcome}");
    }
    for outcome in ["timed-out", "ended", "login-needed"] {
        let (_, again) = AfterRuns::of(&[&[outcome]]).review();
        assert_eq!((again.together.len(), again.alone.len()), (0, 1), "{outcome}: one process may be slow");
        let (settled, again) = AfterRuns::of(&[&[outcome], &[outcome]]).review();
        assert_eq!((settled, again), (2, Again::default()), "{outcome}");
    }
}
