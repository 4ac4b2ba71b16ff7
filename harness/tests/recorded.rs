//! Each conversation also as a recording of both parties, without marks of deliberate violations: with any part
//! missing, no requirement fails that passes in the whole. With a file for each party, the requirements that one
//! message decides fail as in the whole.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Read};
use std::path::Path;

use acp_conformance::conversation::Memory;
use acp_conformance::judge::{Judge, Registry, judge};
use acp_conformance::recording::{Input, Recording};
use acp_conformance::requirement::Party;
use acp_conformance::trace::{Event, Header, Lack, Trace, What};
use acp_conformance::verdict::Verdict;
use acp_conformance::wire::LineEnd;
use libtest_mimic::Failed;

use crate::traces::{edition, parts};

/// Conversations in which a deliberate line is actually correct, so that it has its normal meaning without the mark; or
/// in which only the process of our own traces distinguishes a login from a connection; or in which only our own traces
/// mark a fence.
const RIGHT: [&str; 5] = [
    "fs/read-gate-deliberate.txt",
    "notice/capability-wrong-on-purpose.txt",
    "auth/login-typed.txt",
    "fence/client-odd-answer-is-not-judged.txt",
    "fence/new-session.txt",
];

/// Conversations that depend on the agreed version.
const OTHER_VERSION: [&str; 2] = ["init/talks-version-2.txt", "init/client-talks-version-2.txt"];

/// The missing part.
#[derive(Debug, Clone, Copy)]
enum Missing {
    /// Only the data that no recorder has.
    Nothing,
    /// All lines before this one.
    Before(usize),
    /// The sender of this line.
    Sender(usize),
    /// All data of one kind, which was forgotten.
    Memory(&'static str),
    /// A gap of a format.
    Lack(Lack),
}

/// Checks the file with each part missing that may be missing.
pub fn check(path: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(path)?;
    let (_, trace) = parts(&text)?;
    if !trace.header.transport.is_stdio() {
        // Recorders know only lines.
        return Ok(());
    }
    let marked = judge(&trace, edition(&trace));
    let whole = failed(&trace, Missing::Nothing);
    let mut wrong: Vec<String> = Vec::new();
    let of_subject = |id: &str| edition(&trace).catalogue.find(id).map(|r| r.party) == trace.header.subject;
    for (id, message) in whole.iter().filter(|(id, _)| of_subject(id)) {
        if marked.verdict(id) != Verdict::Fail && !RIGHT.iter().any(|right| path.ends_with(right)) {
            wrong.push(format!("as a recording of both it fails {id}: {message}"));
        }
    }
    let lines = 1..lines(&trace).count();
    let mut variants = ["requests", "sessions", "terminals", "tools"].map(Missing::Memory).to_vec();
    variants.extend([Lack::Bytes, Lack::Times, Lack::Order, Lack::Messages].map(Missing::Lack));
    // Without the answer to `initialize`, the recording does not show that this edition does not cover the
    // conversation.
    let first = if OTHER_VERSION.iter().any(|other| path.ends_with(other)) { 3 } else { 1 };
    variants.extend(lines.clone().filter(|_| first == 1).map(Missing::Before));
    variants.extend(lines.filter(|line| *line >= first && is_answer(&trace, *line)).map(Missing::Sender));
    for missing in variants {
        for (id, message) in failed(&trace, missing).iter().filter(|(id, _)| !whole.contains_key(*id)) {
            wrong.push(format!("without {missing:?} it fails {id}: {message}"));
        }
    }
    if let Some(found) = failed_in_two_files(&trace) {
        let missed = whole.iter().filter(|(id, _)| is_decided_by_one_message(id) && !found.contains_key(*id));
        wrong.extend(missed.map(|(id, message)| format!("in two files it does not fail {id}: {message}")));
        let new = found.iter().filter(|(id, _)| !whole.contains_key(*id));
        wrong.extend(new.map(|(id, message)| format!("in two files it fails {id}: {message}")));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// Whether one message decides all checks of the requirement; the table of shapes always decides so.
fn is_decided_by_one_message(requirement: &str) -> bool {
    Registry::all().iter().filter(|check| check.requirement == requirement).all(|check| check.alone)
}

/// Returns the failures of the same lines in a file for each party; `None` if files cannot hold them.
fn failed_in_two_files(trace: &Trace) -> Option<BTreeMap<String, String>> {
    let fits = |event: &Event| match event.what {
        What::Line { end, .. } => event.connection == 0 && end == LineEnd::Lf,
        _ => true,
    };
    if !trace.events.iter().all(fits) {
        return None;
    }
    let file = |party: Party| {
        let own = lines(trace).filter(move |(from, ..)| *from == party);
        own.fold(Vec::new(), |file, (_, _, bytes)| [&file, bytes, b"\n"].concat())
    };
    let side = |party: Party| (party, Box::new(Cursor::new(file(party))) as Box<dyn Read>);
    let recording = Recording::open(Input::Sides(Party::ALL.map(side).into()), edition(trace)).ok()?;
    let mut judge = Judge::new(&recording.header, edition(trace));
    for event in recording {
        judge.event(&event.ok()?);
    }
    Some(failures(judge))
}

/// Whether it is an answer; the method identifies the sender of other messages.
fn is_answer(trace: &Trace, line: usize) -> bool {
    let value =
        lines(trace).nth(line).and_then(|(_, _, bytes)| serde_json::from_slice::<serde_json::Value>(bytes).ok());
    value.is_some_and(|value| value.get("result").or(value.get("error")).is_some())
}

/// Returns the lines of the parties, which are all that a recorder has.
fn lines(trace: &Trace) -> impl Iterator<Item = (Party, &Event, &[u8])> {
    trace.events.iter().filter_map(|event| match &event.what {
        What::Line { from, bytes, .. } => Some((*from, event, bytes.as_slice())),
        _ => None,
    })
}

/// Returns a memory that holds nothing of one kind.
fn without(kind: &str) -> Memory {
    let mut memory = Memory { every: 1, ..Memory::USUAL };
    match kind {
        "requests" => memory.requests = 0,
        "sessions" => memory.sessions = 0,
        "terminals" => memory.terminals = 0,
        _ => (memory.tools, memory.text) = (0, 0),
    }
    memory
}

/// Returns the failures.
fn failed(trace: &Trace, missing: Missing) -> BTreeMap<String, String> {
    let mut lacks = vec![Lack::Processes];
    lacks.extend(if let Missing::Lack(lack) = missing { Some(lack) } else { None });
    let start = if let Missing::Before(line) = missing { line } else { 0 };
    let mut judge = Judge::new(&Header::of_recording(&trace.header.edition, lacks.clone()), edition(trace));
    if let Missing::Memory(kind) = missing {
        judge = judge.with_memory(without(kind));
    }
    for (n, (from, event, bytes)) in lines(trace).skip(start).enumerate() {
        let What::Line { end, .. } = event.what else { continue };
        let what = match missing {
            Missing::Sender(line) if line == n => What::Unattributed(bytes.to_vec()),
            _ => What::Line { from, bytes: bytes.to_vec(), end, deliberate: false },
        };
        let us = if lacks.contains(&Lack::Times) { 0 } else { event.us };
        judge.event(&Event { n, us, connection: event.connection, what });
    }
    failures(judge)
}

fn failures(judge: Judge) -> BTreeMap<String, String> {
    let tallies = judge.finish().tallies.into_iter().filter(|(_, tally)| tally.verdict() == Verdict::Fail);
    tallies.map(|(id, tally)| (id, tally.findings[0].text())).collect()
}
