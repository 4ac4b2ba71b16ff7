//! The judge: equal traces get equal judgements, however they are written and whichever other party is judged.

use std::collections::BTreeSet;
use std::io::Cursor;

use acp_conformance::edition::V1;
use acp_conformance::judge::{Judgement, JudgingSession, judge};
use acp_conformance::recording::{Format, Input, Recording};
use acp_conformance::trace::{Trace, What};
use acp_conformance::wire::{Content, read_line};
use serde_json::Value;

use super::{conversation_of, written};

/// Treats the bytes as a conversation.
pub fn holds(data: &[u8]) {
    let trace = conversation_of(data);
    let judgement = judge(&trace, V1.edition());
    assert_eq!(judge(&trace, V1.edition()), judgement);
    assert_eq!(checked(&trace), judgement, "`check` says something else of the trace that was written");
    evidence_is_at_hand(&trace, &judgement);
    same(&judgement, &judge(&later(&trace), V1.edition()), "a later start of the clock");
    same(&judgement, &judge(&turned_round(&trace), V1.edition()), "another order of members");
}

fn same(judgement: &Judgement, other: &Judgement, what: &str) {
    let differences = judgement.differences(other);
    assert!(differences.is_empty(), "{what}:\n{}", differences.join("\n"));
}

/// Returns the judgement of `check` on the trace.
fn checked(trace: &Trace) -> Judgement {
    let input = Input::Whole(Box::new(Cursor::new(written(trace))), Some(Format::Trace), None);
    let recording = Recording::open(input, V1.edition()).expect("our own trace can be read");
    let mut session = JudgingSession::new(&recording.header, V1.edition());
    recording.for_each(|event| session.event(&event.expect("our own event can be read")));
    session.close().judgement
}

/// Checks that all events of a finding exist, except those that a step of the conversation names itself.
fn evidence_is_at_hand(trace: &Trace, judgement: &Judgement) {
    let named: BTreeSet<usize> = trace
        .events
        .iter()
        .filter_map(|event| if let What::Step(step) = &event.what { Some(&step.events) } else { None })
        .flatten()
        .copied()
        .collect();
    for (id, tally) in &judgement.tallies {
        for n in tally.findings.iter().flat_map(|finding| &finding.events) {
            assert!(*n < trace.events.len() || named.contains(n), "{id} names #{n}");
        }
    }
}

/// Returns the same trace with a clock that started earlier.
fn later(trace: &Trace) -> Trace {
    let mut later = trace.clone();
    later.events.iter_mut().for_each(|event| event.us += 1_000_000_007);
    later
}

/// Returns the same messages with their members in another order, which has no meaning in JSON.
fn turned_round(trace: &Trace) -> Trace {
    let mut turned = trace.clone();
    for event in &mut turned.events {
        if let What::Line { bytes, .. } = &mut event.what
            && let Content::One { value, doubled, .. } = read_line(bytes)
            && doubled.is_empty()
            // Otherwise parts of it may be missing.
            && serde_json::from_slice::<Value>(bytes).is_ok()
        {
            *bytes = reversed(value).to_string().into_bytes();
        }
    }
    turned
}

fn reversed(value: Value) -> Value {
    match value {
        Value::Object(members) => members.into_iter().rev().map(|(name, member)| (name, reversed(member))).collect(),
        Value::Array(items) => items.into_iter().map(reversed).collect(),
        leaf => leaf,
    }
}
