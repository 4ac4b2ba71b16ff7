//! A correct exchange for each requirement, for `explain` and the pages of the requirements.
//!
//! `cases/requirements/v1.exchanges.txt` is made from the kept traces. A failing trace of a requirement shows which messages
//! prove a violation: their senders and methods. The exchange has the same messages from a trace that passes the requirement,
//! with the requests of the responses among them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use acp_conformance::edition::V1;
use acp_conformance::judge::{Judgement, judge};
use acp_conformance::requirement::{Party, Status};
use acp_conformance::trace::{Trace, What};
use acp_conformance::verdict::Verdict;
use libtest_mimic::Failed;
use serde_json::Value;

use crate::kept::kept;
use crate::parts;

const FILE: &str = "cases/requirements/v1.exchanges.txt";
/// The largest exchange, in messages.
const LONGEST: usize = 6;

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

/// Compares the file of exchanges with the traces; `ACP_BLESS=1` writes it.
pub fn check(paths: &[PathBuf]) -> Result<(), Failed> {
    let mut traces = Vec::new();
    for path in paths {
        let text = fs::read_to_string(path)?;
        let (wanted, trace) = parts(&text)?;
        if trace.header.edition != V1.name() {
            continue;
        }
        let passed: BTreeSet<String> =
            wanted.lines().filter_map(|line| line.strip_suffix(": pass")).map(str::to_owned).collect();
        traces.push((passed, judge(&trace, V1.edition()), messages(&trace)));
    }
    traces.sort_by_key(|(_, _, messages)| messages.len());
    let mut text =
        "# Correct exchanges, made from harness/tests/traces by `ACP_BLESS=1 cargo test --test traces`.\n".to_owned();
    for requirement in V1.catalogue().iter().filter(|requirement| requirement.status == Status::Checked) {
        if let Some(lines) = exchange(&requirement.id, &traces) {
            text.push_str(&format!("\n{}\n", requirement.id));
            lines.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
        }
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    kept(&file, &text).map_err(Failed::from)
}

fn exchange(id: &str, traces: &[(BTreeSet<String>, Judgement, Vec<Message>)]) -> Option<Vec<String>> {
    let proofs: Vec<Proof<'_>> =
        traces.iter().flat_map(|(_, judgement, messages)| proofs(id, judgement, messages)).collect();
    let passing = || traces.iter().filter(|(passed, _, _)| passed.contains(id)).map(|(_, _, messages)| messages);
    let found =
        proofs.iter().flat_map(|proof| passing().filter_map(move |messages| Some((proof, matching(proof, messages)?))));
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
fn matching(proof: &Proof<'_>, messages: &[Message]) -> Option<Vec<String>> {
    let mut positions = BTreeSet::new();
    let mut rest = messages.iter();
    for wanted in &proof.messages {
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
    // Such a path would look like one of a real machine.
    let is_neutral = !lines.iter().any(|line| ["home", "tmp"].iter().any(|name| line.contains(&format!("/{name}/"))));
    (lines.len() <= LONGEST && is_neutral).then_some(lines)
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
