//! The tester's lines: puts messages together, sees that they are sound, and sends them.

use serde_json::{Value, json};
use tokio::time::Instant;

use super::driver::{Asked, Written};
use super::script::{Report, Script};
use super::{expect, intent};
use crate::case::model::{Body, Outgoing, RawBytes};
use crate::protocol::Kind;
use crate::requirement::Party;
use crate::trace::{Observed, Outcome, StepKind};
use crate::wire::{LineEnd, RpcId, write_json};

impl Script<'_> {
    pub(super) fn send(&mut self, lines: &[Outgoing]) -> Report {
        let mut written = Vec::new();
        let mut asked = Vec::new();
        let mut cancelled = Vec::new();
        if let Some(label) = lines.iter().find_map(|line| self.unasked(line)) {
            // The subject was hoped to ask, and did not; what the transcript says next makes no sense without it.
            let observed = Some(Observed::RequestMissing { label: label.to_owned() });
            return Report { observed, ..Report::new(StepKind::Send, Outcome::Missed) };
        }
        if let Some(name) = lines.iter().find_map(|line| self.unbound(line)) {
            let observed = Some(Observed::NameUnbound { name });
            return Report { observed, ..Report::new(StepKind::Send, Outcome::Missed) };
        }
        for line in lines {
            let message = match self.message(written.len(), line, &mut asked, &mut cancelled) {
                Ok(message) => message,
                Err(fault) => {
                    // What was hoped for in vain has left names without a value.
                    let outcome = if self.missed.is_some() { Outcome::Missed } else { Outcome::HarnessError };
                    return Report { observed: Some(Observed::Problem(fault)), ..Report::new(StepKind::Send, outcome) };
                }
            };
            written.push(Written { bytes: write_json(&message).into_bytes(), deliberate: line.illegal });
        }
        let from = self.driver.inbox.len();
        let split = lines.iter().find_map(|line| line.split);
        let connection = lines.iter().find_map(|line| self.caller(line)).unwrap_or(self.connection);
        if connection >= self.driver.connections() {
            let observed = Some(Observed::NotConnected);
            return Report { observed, ..Report::new(StepKind::Send, Outcome::Missed) };
        }
        let events = self.driver.write(connection, written, LineEnd::Lf, split);
        self.sent_at = Some(Instant::now());
        let answered: Vec<Value> = lines.iter().filter_map(|line| self.answered_id(line)).collect();
        answered.iter().for_each(|id| self.driver.closed(connection, id));
        for (index, label, id, method, params) in asked {
            if let ("session/prompt", Some(session)) = (method.as_str(), params["sessionId"].as_str()) {
                self.driver.turn_begins(session);
            }
            let request =
                Asked { n: events[index], connection, id: RpcId::new(&id), method, params, from, at: Instant::now() };
            self.driver.asked.insert(label, request);
        }
        for session in cancelled {
            self.driver.cancelled(&session);
        }
        Report { events, ..Report::new(StepKind::Send, Outcome::Done) }
    }

    /// Puts a message together; the tester never breaks the schema unless the case says that it means to.
    fn message(
        &mut self,
        index: usize,
        line: &Outgoing,
        asked: &mut Vec<(usize, String, Value, String, Value)>,
        cancelled: &mut Vec<String>,
    ) -> Result<Value, String> {
        match &line.body {
            Body::Request { label, method, params, wire_id } => {
                let own = wire_id.as_ref().map(|id| self.bindings.interpolate(id));
                if let Some(own) = &own {
                    self.driver.writing.note_chosen(own);
                }
                let id = own.unwrap_or_else(|| self.driver.writing.fresh_id());
                let params = self.params(line, Kind::Request, method, params.as_ref())?;
                let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method });
                asked.push((index, label.clone(), id, method.clone(), params.clone().unwrap_or_default()));
                if let Some(params) = params {
                    message["params"] = params;
                }
                Ok(message)
            }
            Body::Notification { method, params } => {
                let params = self.params(line, Kind::Notification, method, params.as_ref())?;
                let mut message = json!({ "jsonrpc": "2.0", "method": method });
                if let Some(params) = params {
                    if method == "session/cancel" {
                        cancelled.extend(params.get("sessionId").and_then(Value::as_str).map(str::to_owned));
                    }
                    message["params"] = params;
                }
                Ok(message)
            }
            Body::Result { label, result } => {
                let id = self.received_id(label);
                let result = self.result(line, &id, self.bindings.interpolate(result));
                Ok(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
            }
            Body::Error { label, error } => Ok(
                json!({ "jsonrpc": "2.0", "id": self.received_id(label), "error": self.bindings.interpolate(error) }),
            ),
        }
    }

    /// The params of a call as they go on the wire.
    fn params(
        &self,
        line: &Outgoing,
        kind: Kind,
        method: &str,
        params: Option<&Value>,
    ) -> Result<Option<Value>, String> {
        let params = params.map(|params| self.bindings.interpolate(params));
        let params = params.map(|params| match method {
            "session/prompt" => intent::expand(&params, &self.subject.prompts),
            _ => params,
        });
        self.sound(line, kind, method, params.as_ref())?;
        let written = |params| if line.illegal { params } else { self.driver.writing.params(kind, method, params) };
        Ok(params.map(written))
    }

    /// The result for a request of the subject as it goes on the wire.
    fn result(&self, line: &Outgoing, id: &Value, result: Value) -> Value {
        let method = self.caller(line).and_then(|connection| self.driver.open_method(connection, id));
        match method {
            Some(method) if !line.illegal => self.driver.writing.result(method, result),
            _ => result,
        }
    }

    fn sound(&self, line: &Outgoing, kind: Kind, method: &str, params: Option<&Value>) -> Result<(), String> {
        let edition = self.case.edition;
        let Some(known) = edition.methods.find(Party::Client, kind, method).filter(|_| !line.illegal) else {
            return Ok(());
        };
        let empty = json!({});
        let params = params.unwrap_or(&empty);
        match edition.stable.problems(&known.params, params).iter().find(|problem| !problem.is_null_capability(params))
        {
            None => Ok(()),
            Some(problem) => Err(format!(
                "the case sends params of {method} that break the schema at {}: {}; mark the line `illegal: true` if that is meant",
                problem.at, problem.message
            )),
        }
    }

    /// The label of the subject's request that the line answers, or whose id it takes, when that request has not come.
    fn unasked<'l>(&self, line: &'l Outgoing) -> Option<&'l str> {
        let label = match &line.body {
            Body::Result { label, .. } | Body::Error { label, .. } => label,
            Body::Request { wire_id, .. } => wire_id.as_ref()?.as_str()?.strip_prefix('<')?.strip_suffix("-id>")?,
            Body::Notification { .. } => return None,
        };
        self.bindings.get(&expect::request_name(label)).is_none().then_some(label)
    }

    /// A name in the line that has no value.
    fn unbound(&self, line: &Outgoing) -> Option<String> {
        let value = match &line.body {
            Body::Request { params, .. } | Body::Notification { params, .. } => params.as_ref()?,
            Body::Result { result, .. } => result,
            Body::Error { error, .. } => error,
        };
        self.bindings.unbound(value).into_iter().next()
    }

    /// The connection on which the request came that the line answers.
    fn caller(&self, line: &Outgoing) -> Option<usize> {
        match &line.body {
            Body::Result { label, .. } | Body::Error { label, .. } => self.callers.get(label).copied(),
            _ => None,
        }
    }

    /// The id of the request that the line answers.
    fn answered_id(&self, line: &Outgoing) -> Option<Value> {
        match &line.body {
            Body::Result { label, .. } | Body::Error { label, .. } => Some(self.received_id(label)),
            _ => None,
        }
    }

    /// The id of a request of the subject that has come.
    fn received_id(&self, label: &str) -> Value {
        self.bindings.get(&expect::request_name(label)).cloned().unwrap_or_default()
    }

    pub(super) fn raw(&mut self, raw: &RawBytes) -> Report {
        let (bytes, end) = match raw.bytes.strip_suffix(b"\n") {
            Some(bytes) => (bytes, LineEnd::Lf),
            None => (&raw.bytes[..], LineEnd::Cut),
        };
        let bytes = self.bindings.interpolate_bytes(bytes);
        let events =
            self.driver.write(self.connection, vec![Written { bytes, deliberate: !raw.legal }], end, raw.split);
        Report { events, ..Report::new(StepKind::Send, Outcome::Done) }
    }
}
