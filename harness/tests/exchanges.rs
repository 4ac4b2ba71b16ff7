//! A correct and a wrong exchange for each requirement, for `explain` and the pages of the requirements.
//!
//! `v1.exchanges.txt` and `v1.violations.txt` in `cases/requirements/`, and those of version 2, are made from the kept traces. A
//! failing trace of a requirement shows which messages prove a violation; with the requests of the responses among them, and the finding, they are the wrong
//! exchange. The correct one has messages with the same senders and methods, from a trace that passes the requirement.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use acp_conformance::edition::{Bundle, V1, V2};
use acp_conformance::judge::{Finding, Judgement, judge};
use acp_conformance::requirement::{Party, Status};
use acp_conformance::trace::{Event, Trace, What};
use acp_conformance::verdict::Verdict;
use libtest_mimic::Failed;
use serde_json::Value;

use crate::kept::kept;
use crate::traces::parts;

/// The largest exchange, in messages.
const LONGEST: usize = 6;
/// The longest line of a wrong exchange, in bytes.
const WIDEST: usize = 1000;

/// The parts of a message that an exchange needs.
struct Message {
    /// Its position in the trace.
    at: usize,
    from: Party,
    /// Its method, or that of its request, with the kind of an update.
    method: String,
    is_response: bool,
    /// The position of the request, for a response.
    request: Option<usize>,
    text: String,
}

/// The messages that prove a failure, in their order, and the wrong member as in JSON, if there is one.
struct Proof<'m> {
    /// Sender, method and whether it is a response.
    messages: Vec<(Party, &'m str, bool)>,
    member: String,
}

impl<'m> Proof<'m> {
    /// Returns the messages to show. Four answers to one method are a contrast of refused and accepted requests; a correct program
    /// refuses none, so one of them is enough.
    fn shown(&self) -> &[(Party, &'m str, bool)] {
        match self.messages.as_slice() {
            [first @ (_, _, true), rest @ ..] if rest.len() == 3 && rest.iter().all(|other| other == first) => {
                &self.messages[..1]
            }
            all => all,
        }
    }
}

/// A kept trace.
struct Kept {
    /// The requirements that it must pass.
    passed: BTreeSet<String>,
    judgement: Judgement,
    messages: Vec<Message>,
    /// Every line, by its position in the trace: its sender and its text.
    lines: BTreeMap<usize, (Party, String)>,
}

/// Compares the files of exchanges with the traces; `ACP_BLESS=1` writes them.
pub fn check(paths: &[PathBuf]) -> Result<(), Failed> {
    [&V1, &V2].into_iter().try_for_each(|bundle| check_edition(bundle, paths))
}

fn check_edition(bundle: &'static Bundle, paths: &[PathBuf]) -> Result<(), Failed> {
    let mut traces = Vec::new();
    for path in paths {
        let text = fs::read_to_string(path)?;
        let (wanted, trace) = parts(&text)?;
        if trace.header.edition != bundle.name() {
            continue;
        }
        let passed: BTreeSet<String> =
            wanted.lines().filter_map(|line| line.strip_suffix(": pass")).map(str::to_owned).collect();
        let judgement = judge(&trace, bundle.edition());
        traces.push(Kept { passed, judgement, messages: messages(&trace), lines: lines(&trace) });
    }
    traces.sort_by_key(|trace| trace.messages.len());
    check_file(bundle, "exchanges", "Correct exchanges", |id| exchange(id, &traces))?;
    check_file(bundle, "violations", "Wrong exchanges, each with its finding", |id| wrong_exchange(id, &traces))
}

/// Compares one file, which has the exchange of each checked requirement.
fn check_file(
    bundle: &'static Bundle,
    kind: &str,
    title: &str,
    exchange: impl Fn(&str) -> Option<Vec<String>>,
) -> Result<(), Failed> {
    let mut text =
        format!("# {title}, made from harness/tests/traces by `ACP_BLESS=1 cargo test --test it traces/`.\n");
    for requirement in bundle.catalogue().iter().filter(|requirement| requirement.status == Status::Checked) {
        if let Some(lines) = exchange(&requirement.id) {
            text.push_str(&format!("\n{}\n", requirement.id));
            lines.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
        }
    }
    let file = format!("cases/requirements/{}.{kind}.txt", bundle.case_folder());
    kept(&Path::new(env!("CARGO_MANIFEST_DIR")).join(file), &text).map_err(Failed::from)
}

/// Returns the messages of the shortest violation, and the finding.
fn wrong_exchange(id: &str, traces: &[Kept]) -> Option<Vec<String>> {
    let violations = traces.iter().flat_map(|trace| {
        let findings = trace.judgement.tallies.get(id).into_iter().flat_map(|tally| &tally.findings);
        let failures = findings.filter(|finding| finding.verdict == Verdict::Fail);
        failures.filter_map(|finding| Some((finding.same_as.is_none(), violation(finding, trace)?)))
    });
    let best = violations.max_by_key(|(is_own, lines)| {
        (*is_own, lines.len().min(3), Reverse(lines.iter().map(String::len).sum::<usize>()))
    });
    best.map(|(_, lines)| lines)
}

/// Returns the lines that prove a failure with the requests of the responses among them, and the finding.
fn violation(finding: &Finding, trace: &Kept) -> Option<Vec<String>> {
    let mut positions: BTreeSet<usize> = finding.events.iter().copied().collect();
    let requests = trace.messages.iter().filter(|message| positions.contains(&message.at)).filter_map(|it| it.request);
    positions.extend(requests.collect::<Vec<_>>());
    let lines = positions.iter().filter_map(|position| trace.lines.get(position));
    let mut lines: Vec<String> = lines.map(|(from, text)| format!("{from} → {}  {text}", from.other())).collect();
    let is_short = !lines.is_empty() && lines.len() <= LONGEST && lines.iter().all(|line| line.len() <= WIDEST);
    lines.push(format!("found: {}", finding.text()));
    (is_short && is_neutral(&lines)).then_some(lines)
}

fn exchange(id: &str, traces: &[Kept]) -> Option<Vec<String>> {
    let proofs: Vec<Proof<'_>> =
        traces.iter().flat_map(|trace| proofs(id, &trace.judgement, &trace.messages)).collect();
    let passing = || traces.iter().filter(|trace| trace.passed.contains(id)).map(|trace| &trace.messages);
    let found = proofs
        .iter()
        .flat_map(|proof| passing().filter_map(move |messages| Some((proof, matching(proof.shown(), messages)?))));
    let best = found.max_by_key(|(proof, lines)| {
        let shows_member = lines.iter().any(|line| line.contains(&proof.member));
        (shows_member, lines.len().min(3), Reverse(lines.iter().map(String::len).sum::<usize>()))
    });
    best.map(|(_, lines)| lines)
}

/// Returns the messages that prove each failure of a requirement in a trace.
fn proofs<'m>(id: &str, judgement: &Judgement, messages: &'m [Message]) -> Vec<Proof<'m>> {
    let findings = judgement.tallies.get(id).into_iter().flat_map(|tally| &tally.findings);
    let failures = findings.filter(|finding| finding.verdict == Verdict::Fail);
    let proofs = failures.map(|finding| {
        let proving = messages.iter().filter(|message| finding.events.contains(&message.at));
        let messages: Vec<_> =
            proving.map(|message| (message.from, message.method.as_str(), message.is_response)).collect();
        let pointer = finding.fact.field("pointer").and_then(Value::as_str).unwrap_or_default();
        let name = pointer.rsplit('/').find(|part| part.parse::<usize>().is_err()).unwrap_or_default();
        Proof { messages, member: if name.is_empty() { String::new() } else { format!("\"{name}\":") } }
    });
    proofs.filter(|it| !it.messages.is_empty() && it.messages.iter().all(|(_, method, _)| !method.is_empty())).collect()
}

/// Finds the same messages in this order, and adds the requests of the responses.
fn matching(proof: &[(Party, &str, bool)], messages: &[Message]) -> Option<Vec<String>> {
    let mut positions = BTreeSet::new();
    let mut rest = messages.iter();
    for wanted in proof {
        let found = rest.find(|message| (message.from, message.method.as_str(), message.is_response) == *wanted)?;
        positions.insert(found.at);
        positions.extend(found.request);
        if !found.is_response {
            // A request alone shows little: its response belongs to the exchange.
            positions
                .extend(messages.iter().find(|message| message.request == Some(found.at)).map(|message| message.at));
        }
    }
    let lines = messages.iter().filter(|message| positions.contains(&message.at));
    let lines: Vec<String> =
        lines.map(|message| format!("{} → {}  {}", message.from, message.from.other(), message.text)).collect();
    (lines.len() <= LONGEST && is_neutral(&lines)).then_some(lines)
}

/// Whether no line has a path that looks like one of a real machine.
fn is_neutral(lines: &[String]) -> bool {
    !lines.iter().any(|line| ["home", "tmp"].iter().any(|name| line.contains(&format!("/{name}/"))))
}

/// Returns every line of a trace by its position.
fn lines(trace: &Trace) -> BTreeMap<usize, (Party, String)> {
    let line = |(at, event): (usize, &Event)| match &event.what {
        What::Line { from, bytes, .. } => Some((at, (*from, printable(bytes)))),
        _ => None,
    };
    trace.events.iter().enumerate().filter_map(line).collect()
}

/// Returns bytes as text. Control characters and bytes that are not UTF-8 are escaped.
fn printable(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() { text.extend(c.escape_default()) } else { text.push(c) }
        }
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("\\x{byte:02x}")));
    }
    text
}

/// Returns the messages of a trace that are JSON objects on separate lines.
fn messages(trace: &Trace) -> Vec<Message> {
    let mut requests: BTreeMap<(Party, String), (usize, String)> = BTreeMap::new();
    let mut messages = Vec::new();
    for (at, event) in trace.events.iter().enumerate() {
        let What::Line { from, bytes, deliberate: false, .. } = &event.what else { continue };
        let Ok(value) = serde_json::from_slice::<Value>(bytes) else { continue };
        let id = value.get("id").map(ToString::to_string);
        let method = value.get("method").and_then(Value::as_str).map(str::to_owned);
        let is_response = method.is_none() && value.is_object();
        let (request, method) = match (&id, method) {
            (Some(id), Some(method)) => {
                requests.insert((*from, id.clone()), (at, method.clone()));
                (None, method)
            }
            (None, Some(method)) => (None, method),
            (Some(id), None) => match requests.get(&(from.other(), id.clone())) {
                Some((request, method)) => (Some(*request), method.clone()),
                None => (None, String::new()),
            },
            (None, None) => (None, String::new()),
        };
        let kind = value.pointer("/params/update/sessionUpdate").and_then(Value::as_str).unwrap_or_default();
        let method = if kind.is_empty() { method } else { format!("{method} {kind}") };
        messages.push(Message { at, from: *from, method, is_response, request, text: value.to_string() });
    }
    messages
}
