//! The messages of the subject that a case has received, and the requests that it has sent.

use std::collections::BTreeMap;

use serde_json::Value;
use tokio::time::Instant;

use crate::case::model::{Incoming, IncomingBody};
use crate::case::{Bindings, Mismatch};
use crate::run::channel::Message;
use crate::trace::{Difference, ExpectedAnswer, ExpectedMessage, Observed};
use crate::wire::{Envelope, RpcId};

/// A message of the subject.
pub(in crate::run) struct Received {
    /// The position of its event in the trace.
    pub n: usize,
    /// The connection on which it came.
    pub connection: usize,
    /// The message.
    pub value: Value,
    /// The index of the step that took it.
    pub taken: Option<usize>,
}

/// A request that the tester sent.
pub(in crate::run) struct SentRequest {
    /// The position of its event in the trace.
    pub n: usize,
    /// The connection on which it was sent.
    pub connection: usize,
    /// Its id on the wire.
    pub id: RpcId,
    /// Its method.
    pub method: String,
    /// Its params.
    pub params: Value,
    /// The number of messages of the subject that came before it.
    pub from: usize,
    /// When it was sent.
    pub at: Instant,
}

/// The messages of a case so far.
#[derive(Default)]
pub(in crate::run) struct Inbox {
    /// The messages in the order of arrival.
    pub messages: Vec<Received>,
    /// The number of messages that the transcript has passed.
    pub cursor: usize,
    /// The requests of the case, by label.
    pub requests: BTreeMap<String, SentRequest>,
    /// The connections of the subject's requests, by label.
    pub callers: BTreeMap<String, usize>,
    /// The number of messages that came before each forbidden line was reached, by the index of its step.
    pub reached: BTreeMap<usize, usize>,
    /// The ids of fences that open a session.
    pub session_fences: Vec<RpcId>,
}

/// Returns the name that holds the id of a subject's request.
pub(in crate::run) fn request_name(label: &str) -> String {
    format!("request {label}")
}

/// Whether the message answers the request with this id.
pub(in crate::run) fn answers(value: &Value, id: &RpcId) -> bool {
    matches!(Envelope::of(value), Envelope::Response { id: Some(found), .. } if RpcId::new(found) == *id)
}

/// Whether the message is the call that the line expects; if so, binds its names.
pub(in crate::run) fn is_call(value: &Value, line: &Incoming, bindings: &mut Bindings) -> bool {
    let IncomingBody::Call { label, method, params } = &line.body else { return false };
    let Envelope::Call(call) = Envelope::of(value) else { return false };
    let form = label.is_some() == call.id.is_some();
    let found = call.params.unwrap_or(&Value::Null);
    form && call.method == method
        && params.as_ref().is_none_or(|wanted| wanted.matches(found, bindings, line.exact).is_ok())
}

/// Compares an answer with the line; returns the difference if they do not match.
pub(in crate::run) fn compare_answer(line: &Incoming, answer: &Value, bindings: &mut Bindings) -> Result<(), Observed> {
    let (pattern, found) = match (&line.body, answer.get("result"), answer.get("error")) {
        (IncomingBody::Answer { .. }, ..) => return Ok(()),
        (IncomingBody::Result { result, .. }, Some(found), None) => (result, found),
        (IncomingBody::Error { error, .. }, _, Some(found)) => (error, found),
        (_, _, Some(found)) => return Err(Observed::Error(found.clone())),
        (_, found, None) => return Err(Observed::Result(found.cloned().unwrap_or_default())),
    };
    pattern.matches(found, bindings, line.exact).map_err(|mismatch| Observed::Mismatch(difference(mismatch)))
}

/// Returns a difference as a trace stores it.
fn difference(Mismatch { pointer, expected, found }: Mismatch) -> Difference {
    Difference { pointer, expected, actual: found }
}

impl Inbox {
    /// Whether the case has sent a prompt on this connection.
    pub fn has_prompted(&self, connection: usize) -> bool {
        self.requests.values().any(|request| request.connection == connection && request.method == "session/prompt")
    }

    /// Appends messages.
    pub fn receive(&mut self, messages: Vec<Message>) {
        let received = |Message { n, connection, value }| Received { n, connection, value, taken: None };
        self.messages.extend(messages.into_iter().map(received));
    }

    /// Returns the number of messages so far.
    pub const fn len(&self) -> usize {
        self.messages.len()
    }

    /// Returns the request whose answer the line expects.
    pub fn request_of(&self, line: &Incoming) -> Option<&SentRequest> {
        line.body.answers().and_then(|label| self.requests.get(label))
    }

    /// Takes the first call that the line expects, after the cursor and from position `from` on, for the step with this
    /// index.
    pub fn take_call(
        &mut self,
        line: &Incoming,
        from: usize,
        step: usize,
        bindings: &mut Bindings,
    ) -> Option<&Received> {
        let index = (self.cursor.max(from)..self.messages.len()).find(|&index| {
            let message = &self.messages[index];
            message.taken.is_none() && !self.is_of_fence(&message.value) && is_call(&message.value, line, bindings)
        })?;
        self.messages[index].taken = Some(step);
        self.cursor = index + 1;
        let message = &self.messages[index];
        if let IncomingBody::Call { label: Some(label), .. } = &line.body {
            if let Some(id) = message.value.get("id") {
                bindings.set(request_name(label), id.clone());
                bindings.set(format!("{label}-id"), id.clone());
            }
            self.callers.insert(label.clone(), message.connection);
        }
        Some(message)
    }

    /// Returns how the first request after the cursor that has the method of the line differs from it.
    pub fn differing_request(&self, line: &Incoming, bindings: &Bindings) -> Option<Difference> {
        let IncomingBody::Call { label: Some(_), method, params: Some(wanted) } = &line.body else { return None };
        self.messages.get(self.cursor..)?.iter().filter(|message| message.taken.is_none()).find_map(|message| {
            let Envelope::Call(call) = Envelope::of(&message.value) else { return None };
            if call.id.is_none() || call.method != method || self.is_of_fence(&message.value) {
                return None;
            }
            let params = call.params.unwrap_or(&Value::Null);
            wanted.matches(params, &mut bindings.clone(), line.exact).err().map(difference)
        })
    }

    /// Finds the answer to the request with this label, from position `from` on, and moves the cursor after it.
    pub fn find_answer(&mut self, label: &str, from: usize) -> Option<(&Received, &SentRequest)> {
        let request = self.requests.get(label)?;
        let index = self.answer_to(request, from)?;
        self.cursor = self.cursor.max(index + 1);
        Some((&self.messages[index], request))
    }

    /// Whether the request with this label was answered.
    pub fn is_answered(&self, label: &str) -> bool {
        self.requests.get(label).is_some_and(|request| self.answer_to(request, 0).is_some())
    }

    /// Returns the position of the answer to a request, from position `from` on.
    fn answer_to(&self, request: &SentRequest, from: usize) -> Option<usize> {
        let from = request.from.max(from);
        let is_answer =
            |message: &Received| message.connection == request.connection && answers(&message.value, &request.id);
        Some(from + self.messages.get(from..)?.iter().position(is_answer)?)
    }

    /// Whether the answer that the line expects came, from position `from` on and after the tester's last request.
    pub fn has_answer(&self, line: &Incoming, from: usize) -> bool {
        let Some(request) = self.request_of(line) else { return false };
        let last = self.requests.values().map(|request| request.from).max().unwrap_or_default();
        self.messages[last.max(from)..].iter().any(|message| answers(&message.value, &request.id))
    }

    /// Returns the events of all messages that match the forbidden line of the step with this index. A line without a
    /// label also matches requests. A request that an earlier step awaited is not forbidden.
    pub fn forbidden(&self, line: &Incoming, step: usize, bindings: &Bindings) -> Vec<usize> {
        let request = self.request_of(line);
        let matches = |value: &Value| {
            let mut bindings = bindings.clone();
            match (&line.body, Envelope::of(value)) {
                (IncomingBody::Call { method, params, .. }, Envelope::Call(call)) => {
                    let found = call.params.unwrap_or(&Value::Null);
                    call.method == method
                        && params.as_ref().is_none_or(|wanted| wanted.matches(found, &mut bindings, line.exact).is_ok())
                }
                (_, Envelope::Response { .. }) => {
                    let meant = request.is_some_and(|request| answers(value, &request.id));
                    meant && compare_answer(line, value, &mut bindings).is_ok()
                }
                _ => false,
            }
        };
        let awaited =
            |message: &Received| message.value.get("id").is_some() && message.taken.is_some_and(|taken| taken < step);
        let counts =
            |message: &&Received| !awaited(message) && matches(&message.value) && !self.is_of_fence(&message.value);
        let reached = || self.reached.get(&step).copied().unwrap_or(self.messages.len());
        let begin = if line.from_here { reached() } else { 0 };
        self.messages.iter().skip(begin).filter(counts).map(|message| message.n).collect()
    }

    /// Whether the message is about a session that a fence opened, which no transcript expects.
    fn is_of_fence(&self, value: &Value) -> bool {
        let session = |value: &Value, at: &str| Some(value.pointer(at)?.as_str()?.to_owned());
        let Some(named) = session(value, "/params/sessionId").filter(|_| !self.session_fences.is_empty()) else {
            return false;
        };
        let is_answer = |message: &&Received| self.session_fences.iter().any(|id| answers(&message.value, id));
        let mut opened = self.messages.iter().filter(is_answer);
        opened.any(|message| session(&message.value, "/result/sessionId").as_ref() == Some(&named))
    }

    /// Describes the message that a line expects.
    pub fn describe(&self, line: &Incoming) -> ExpectedMessage {
        let answer = |pattern: Option<&Value>| ExpectedAnswer {
            method: self.request_of(line).map(|request| request.method.clone()),
            pattern: pattern.filter(|written| **written != "<any>").cloned(),
        };
        match &line.body {
            IncomingBody::Call { method, label: Some(_), .. } => ExpectedMessage::Request(method.clone()),
            IncomingBody::Call { method, label: None, .. } => ExpectedMessage::Notification(method.clone()),
            IncomingBody::Result { result, .. } => ExpectedMessage::Result(answer(Some(result.written()))),
            IncomingBody::Answer { .. } => ExpectedMessage::Answer(answer(None)),
            IncomingBody::Error { error, .. } => ExpectedMessage::Error(answer(Some(error.written()))),
        }
    }
}
