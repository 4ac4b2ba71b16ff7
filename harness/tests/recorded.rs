//! Each conversation once more as a recording of both parties, in which nothing is marked as wrong on purpose: whatever of it
//! is missing, nobody is accused of more than in the whole.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use acp_conformance::judge::{Judge, Memory, judge};
use acp_conformance::requirement::Party;
use acp_conformance::trace::{Event, Header, Lack, Trace, What};
use acp_conformance::verdict::Verdict;
use libtest_mimic::Failed;

use super::{edition, parts};

/// Where what is sent on purpose is right in itself, so that it means what it says when nothing marks it; or where a login
/// is told from a connection by the process that only our own traces know; or where only our own traces mark a fence.
const RIGHT: [&str; 5] = [
    "fs/read-gate-deliberate.txt",
    "notice/capability-wrong-on-purpose.txt",
    "auth/login-typed.txt",
    "fence/client-odd-answer-is-not-judged.txt",
    "fence/new-session.txt",
];

/// Where all depends on the version that the parties agreed on.
const OTHER_VERSION: [&str; 2] = ["init/talks-version-2.txt", "init/client-talks-version-2.txt"];

/// What is missing.
#[derive(Debug, Clone, Copy)]
enum Missing {
    /// Nothing but what no recorder knows.
    Nothing,
    /// All before this line.
    Before(usize),
    /// Who sent this line.
    Sender(usize),
    /// Whatever of one kind is not at hand any more.
    Memory(&'static str),
    /// What a format does not tell.
    Lack(Lack),
}

/// Judges the file with everything missing that may be missing.
pub fn check(path: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(path)?;
    let (_, trace) = parts(&text)?;
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
    variants.extend([Lack::Bytes, Lack::Times, Lack::Order].map(Missing::Lack));
    // Without the answer to `initialize` nothing shows that this edition does not cover the conversation.
    let first = if OTHER_VERSION.iter().any(|other| path.ends_with(other)) { 3 } else { 1 };
    variants.extend(lines.clone().filter(|_| first == 1).map(Missing::Before));
    variants.extend(lines.filter(|line| *line >= first && is_answer(&trace, *line)).map(Missing::Sender));
    for missing in variants {
        for (id, message) in failed(&trace, missing).iter().filter(|(id, _)| !whole.contains_key(*id)) {
            wrong.push(format!("without {missing:?} it fails {id}: {message}"));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// Whether it is an answer; whoever else speaks is known by the method.
fn is_answer(trace: &Trace, line: usize) -> bool {
    let value =
        lines(trace).nth(line).and_then(|(_, _, bytes)| serde_json::from_slice::<serde_json::Value>(bytes).ok());
    value.is_some_and(|value| value.get("result").or(value.get("error")).is_some())
}

/// The lines of the parties, which are all that a recorder sees.
fn lines(trace: &Trace) -> impl Iterator<Item = (Party, &Event, &[u8])> {
    trace.events.iter().filter_map(|event| match &event.what {
        What::Line { from, bytes, .. } => Some((*from, event, bytes.as_slice())),
        _ => None,
    })
}

/// A memory that holds nothing of one kind.
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

/// What fails.
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
    let tallies = judge.finish().tallies.into_iter().filter(|(_, tally)| tally.verdict() == Verdict::Fail);
    tallies.map(|(id, tally)| (id, tally.findings[0].text())).collect()
}
