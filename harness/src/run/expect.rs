//! Finds the lines that a transcript expects among the messages that have come.

use serde_json::Value;

use super::driver::Seen;
use super::script::{Report, Script};
use crate::case::model::{Action, Incoming, IncomingBody, Presence};
use crate::case::{Bindings, Mismatch, Pattern};
use crate::requirement::Party;
use crate::trace::{Expected, ExpectedAnswer, ExpectedMessage, Observed, Outcome, StepKind};
use crate::wire::{Call, Envelope, RpcId};

/// Whether an expected line has come.
pub(super) enum Found {
    /// It has.
    Matched(Report),
    /// Its place was taken by something that contradicts it.
    Contradicted(Report),
    /// Not so far.
    NotYet,
}

/// The name under which the id of a subject's request is bound.
pub(super) fn request_name(label: &str) -> String {
    format!("request {label}")
}

/// Whether the message answers the request with this id.
pub(super) fn answers(value: &Value, id: &RpcId) -> bool {
    matches!(Envelope::of(value), Envelope::Response { id: Some(found), .. } if RpcId::new(found) == *id)
}

/// Looks for the line among what has come; calls behind the cursor, answers anywhere behind their request. What stands before
/// `from` was looked at before.
pub(super) fn look_for(script: &mut Script<'_>, line: &Incoming, from: usize) -> Found {
    match line.body.answers() {
        None => look_for_call(script, line, from),
        Some(label) => look_for_answer(script, line, label, from),
    }
}

fn look_for_call(script: &mut Script<'_>, line: &Incoming, from: usize) -> Found {
    for index in script.cursor.max(from)..script.driver.inbox.len() {
        let seen = &script.driver.inbox[index];
        let is_foreign = seen.taken.is_some() || script.driver.is_of_fence(&seen.value);
        if is_foreign || !call_matches(&seen.value, line, &mut script.bindings) {
            continue;
        }
        if let (IncomingBody::Call { label: Some(label), .. }, Some(id)) = (&line.body, seen.value.get("id")) {
            script.bindings.set(request_name(label), id.clone());
            script.bindings.set(format!("{label}-id"), id.clone());
        }
        let (n, connection) = (seen.n, seen.connection);
        if let IncomingBody::Call { label: Some(label), .. } = &line.body {
            script.callers.insert(label.clone(), connection);
        }
        script.connection = connection;
        script.driver.inbox[index].taken = Some(script.at);
        script.cursor = index + 1;
        if let Some(person) = &script.subject.person {
            person.sees_progress();
        }
        return Found::Matched(Report { events: vec![n], ..Report::new(StepKind::Must, Outcome::Done) });
    }
    Found::NotYet
}

fn call_matches(value: &Value, line: &Incoming, bindings: &mut Bindings) -> bool {
    let IncomingBody::Call { label, method, params } = &line.body else { return false };
    let Envelope::Call(call) = Envelope::of(value) else { return false };
    let form = label.is_some() == call.id.is_some();
    let found = call.params.unwrap_or(&Value::Null);
    form && call.method == method
        && params.as_ref().is_none_or(|wanted| wanted.matches(found, bindings, line.exact).is_ok())
}

fn look_for_answer(script: &mut Script<'_>, line: &Incoming, label: &str, from: usize) -> Found {
    let Some(asked) = script.driver.asked.get(label) else { return Found::NotYet };
    let (id, request, connection) = (asked.id.clone(), asked.n, asked.connection);
    let from = asked.from.max(from);
    let mut later = script.driver.inbox[from..].iter();
    let position = later.position(|seen| seen.connection == connection && answers(&seen.value, &id));
    let Some(index) = position.map(|position| position + from) else { return Found::NotYet };
    let (n, value) = (script.driver.inbox[index].n, script.driver.inbox[index].value.clone());
    script.cursor = script.cursor.max(index + 1);
    let Err(observed) = fits(line, &value, &mut script.bindings) else {
        return Found::Matched(Report { events: vec![n, request], ..Report::new(StepKind::Must, Outcome::Done) });
    };
    // Only an agent asks for a login; the code means nothing in the answer of a client.
    let login = script.case.subject == Party::Agent
        && value.pointer("/error/code") == Some(&Value::from(-32000))
        && matches!(line.body, IncomingBody::Result { .. });
    let outcome = if login { Outcome::LoginNeeded } else { Outcome::Contradicted };
    let expected = Some(Expected::Message(describe(script, line)));
    let observed = Some(observed);
    Found::Contradicted(Report { events: vec![n, request], expected, observed, ..Report::new(StepKind::Must, outcome) })
}

/// Whether an answer says what the line expects; the difference if not.
fn fits(line: &Incoming, answer: &Value, bindings: &mut Bindings) -> Result<(), Observed> {
    match (&line.body, answer.get("result"), answer.get("error")) {
        (IncomingBody::Answer { .. }, ..) => Ok(()),
        (IncomingBody::Result { result, .. }, Some(found), None) => {
            result.matches(found, bindings, line.exact).map_err(difference)
        }
        (IncomingBody::Error { error, .. }, _, Some(found)) => {
            error.matches(found, bindings, line.exact).map_err(difference)
        }
        (_, _, Some(found)) => Err(Observed::Error(found.clone())),
        (_, found, None) => Err(Observed::Result(found.cloned().unwrap_or_default())),
    }
}

fn difference(mismatch: Mismatch) -> Observed {
    let Mismatch { pointer, expected, found } = mismatch;
    Observed::Mismatch { pointer, expected, actual: found }
}

/// Requests like the one that is hoped for, which neither this line nor a later one awaits; left to the transcript they
/// would never be answered. What stands before `from` was looked at before.
pub(super) fn unawaited(script: &Script<'_>, index: usize, hoped: &Incoming, from: usize) -> Vec<(usize, Value)> {
    let IncomingBody::Call { label: Some(_), method: wanted, .. } = &hoped.body else { return Vec::new() };
    let lines = script.case.steps[index..].iter().flat_map(|step| match &step.action {
        Action::Expect { line, .. } => std::slice::from_ref(line),
        Action::AnyOrder(lines) => lines,
        _ => &[],
    });
    let lines: Vec<&Incoming> = lines.collect();
    let left_alone = |seen: &Seen| {
        let Envelope::Call(Call { id: Some(id), method, .. }) = Envelope::of(&seen.value) else { return None };
        let open = method == wanted && script.driver.open_method(seen.connection, id).is_some();
        let meant = || lines.iter().any(|line| call_matches(&seen.value, line, &mut script.bindings.clone()));
        (seen.taken.is_none() && open && !meant()).then(|| (seen.connection, id.clone()))
    };
    script.driver.inbox[script.cursor.max(from)..].iter().filter_map(left_alone).collect()
}

/// Whether the conversation has passed an optional line: an answer that comes after it in the transcript has arrived. Messages
/// before `from` were checked before.
///
/// An answer from before the tester's last request shows nothing: it belongs to an earlier turn.
pub(super) fn passed(script: &Script<'_>, index: usize, from: usize) -> bool {
    script.case.steps[index + 1..].iter().any(|step| {
        let lines = match &step.action {
            Action::Expect { line, presence: Presence::Must | Presence::Hope } => std::slice::from_ref(line),
            Action::AnyOrder(lines) => lines,
            _ => return false,
        };
        lines.iter().any(|line| has_answer(script, line, from))
    })
}

fn has_answer(script: &Script<'_>, line: &Incoming, from: usize) -> bool {
    let Some(asked) = line.body.answers().and_then(|label| script.driver.asked.get(label)) else { return false };
    let last = script.driver.asked.values().map(|asked| asked.from).max().unwrap_or_default();
    script.driver.inbox[last.max(from)..].iter().any(|seen| answers(&seen.value, &asked.id))
}

/// The events of all messages that match a line which must not come; the line needs no label to match a request. A request
/// that a line above it awaited was meant to come.
pub(super) fn came(script: &Script<'_>, index: usize, line: &Incoming) -> Vec<usize> {
    let asked = line.body.answers().and_then(|label| script.driver.asked.get(label));
    let matches = |value: &Value| {
        let mut bindings = script.bindings.clone();
        match (&line.body, Envelope::of(value)) {
            (IncomingBody::Call { method, params, .. }, Envelope::Call(call)) => {
                let found = call.params.unwrap_or(&Value::Null);
                call.method == method
                    && params.as_ref().is_none_or(|wanted| wanted.matches(found, &mut bindings, line.exact).is_ok())
            }
            (_, Envelope::Response { .. }) => {
                let meant = asked.is_some_and(|asked| answers(value, &asked.id));
                meant && fits(line, value, &mut bindings).is_ok()
            }
            _ => false,
        }
    };
    let awaited = |seen: &Seen| seen.value.get("id").is_some() && seen.taken.is_some_and(|taken| taken < index);
    let meant = |seen: &&Seen| !awaited(seen) && matches(&seen.value) && !script.driver.is_of_fence(&seen.value);
    script.driver.inbox.iter().filter(meant).map(|seen| seen.n).collect()
}

/// The event of the request whose answer the line is.
pub(super) fn request_event(script: &Script<'_>, line: &Incoming) -> Option<usize> {
    line.body.answers().and_then(|label| script.driver.asked.get(label)).map(|asked| asked.n)
}

/// The message that a line is about.
pub(super) fn describe(script: &Script<'_>, line: &Incoming) -> ExpectedMessage {
    let answer = |label: &str, pattern: Option<&Pattern>| ExpectedAnswer {
        method: script.driver.asked.get(label).map(|asked| asked.method.clone()),
        pattern: pattern.map(Pattern::written).filter(|written| **written != "<any>").cloned(),
    };
    match &line.body {
        IncomingBody::Call { method, label: Some(_), .. } => ExpectedMessage::Request(method.clone()),
        IncomingBody::Call { method, label: None, .. } => ExpectedMessage::Notification(method.clone()),
        IncomingBody::Result { label, result } => ExpectedMessage::Result(answer(label, Some(result))),
        IncomingBody::Answer { label } => ExpectedMessage::Answer(answer(label, None)),
        IncomingBody::Error { label, error } => ExpectedMessage::Error(answer(label, Some(error))),
    }
}
