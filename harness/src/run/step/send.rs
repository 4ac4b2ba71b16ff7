//! The tester's lines: builds messages, validates them, and sends them.

mod intent;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::case::model::{Action, Body, Outgoing, RawBytes, Step};
use crate::protocol::Kind;
use crate::requirement::Party;
use crate::run::case::inbox::{SentRequest, request_name};
use crate::run::case::{RunningCase, StepResult};
use crate::run::channel::{Channel, Line, Order};
use crate::trace::{Observed, Outcome, StepKind, What};
use crate::wire::{LineEnd, RpcId, read_line, write_json};

/// Returns the label and the params of the request, if it is an ordinary `initialize`.
pub(in crate::run) fn initialize(action: &Action) -> Option<(&str, &Value)> {
    let Action::Send(lines) = action else { return None };
    let [Outgoing { body, illegal: false, split: None }] = lines.as_slice() else { return None };
    match body {
        Body::Request { label, method, params: Some(params), wire_id: None } if method == "initialize" => {
            Some((label, params))
        }
        _ => None,
    }
}

/// The reason why the tester does not send a message.
struct Unsound {
    text: String,
    /// The wrong value came from the subject, as the id of a session that is a number. It is wrong where the subject
    /// sent it.
    of_subject: bool,
}

impl<C: Channel> RunningCase<'_, C> {
    pub(super) fn send(&mut self, lines: &[Outgoing]) -> StepResult {
        let mut written = Vec::new();
        if let Some(label) = lines.iter().find_map(|line| self.missing_request(line)) {
            // The request was optional, and the lines after it make no sense without it.
            let observed = Some(Observed::RequestMissing { label: label.to_owned() });
            return StepResult { observed, ..StepResult::new(StepKind::Send, Outcome::Missed) };
        }
        if let Some(name) = lines.iter().find_map(|line| self.unbound(line)) {
            let observed = Some(Observed::NameUnbound { name });
            return StepResult { observed, ..StepResult::new(StepKind::Send, Outcome::Missed) };
        }
        for line in lines {
            if let Some(intent) = line.intent() {
                self.intent = Some(intent.to_owned());
            }
            let message = match self.message(line) {
                Ok(message) => message,
                Err(fault) => {
                    // After an unmet optional step, names may have no value.
                    let missed = self.unmet.is_some() || fault.of_subject;
                    let outcome = if missed { Outcome::Missed } else { Outcome::HarnessError };
                    let observed = Some(Observed::Problem(fault.text));
                    return StepResult { observed, ..StepResult::new(StepKind::Send, outcome) };
                }
            };
            let bytes = write_json(&message).into_bytes();
            written.push(Line { bytes, deliberate: line.illegal, message: Some(message) });
        }
        let from = self.inbox.len();
        let split = lines.iter().find_map(|line| line.split);
        let connection = lines.iter().find_map(|line| self.caller(line)).unwrap_or(self.connection);
        if connection >= self.channel.state().connections.len() {
            let observed = Some(Observed::NotConnected);
            return StepResult { observed, ..StepResult::new(StepKind::Send, Outcome::Missed) };
        }
        let messages: Vec<_> = written.iter().map(|line| line.message.clone().unwrap_or_default()).collect();
        let order = Order::Lines { connection, lines: written, end: LineEnd::Lf, split };
        let events = self.channel.send(order).unwrap_or_default();
        let at = Instant::now();
        self.sent_at = Some(at);
        for (line, (n, message)) in lines.iter().zip(events.iter().zip(messages)) {
            if let Body::Request { label, method, .. } = &line.body {
                let (id, params) = (RpcId::new(&message["id"]), message["params"].clone());
                let request = SentRequest { n: *n, connection, id, method: method.clone(), params, from, at };
                self.inbox.requests.insert(label.clone(), request);
            }
        }
        StepResult { events, ..StepResult::new(StepKind::Send, Outcome::Done) }
    }

    /// Builds a message; the tester never violates the schema unless the case marks the line as deliberate.
    fn message(&mut self, line: &Outgoing) -> Result<Value, Unsound> {
        match &line.body {
            Body::Request { method, params, wire_id, .. } => {
                let own = wire_id.as_ref().map(|id| self.bindings.interpolate(id));
                if let Some(own) = &own {
                    self.channel.writing().note_chosen(own);
                }
                let id = own.unwrap_or_else(|| self.channel.writing().fresh_id());
                let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method });
                if let Some(params) = self.params(line, Kind::Request, method, params.as_ref())? {
                    message["params"] = params;
                }
                Ok(message)
            }
            Body::Notification { method, params } => {
                let params = self.params(line, Kind::Notification, method, params.as_ref())?;
                let mut message = json!({ "jsonrpc": "2.0", "method": method });
                if let Some(params) = params {
                    message["params"] = params;
                }
                Ok(message)
            }
            Body::Result { label, result } => {
                let id = self.received_id(label);
                let result = self.bindings.interpolate(result);
                let result = self.result(line, &id, result);
                Ok(json!({ "jsonrpc": "2.0", "id": id, "result": result }))
            }
            Body::Error { label, error } => Ok(
                json!({ "jsonrpc": "2.0", "id": self.received_id(label), "error": self.bindings.interpolate(error) }),
            ),
        }
    }

    /// Returns the params of a call as sent on the wire.
    fn params(
        &mut self,
        line: &Outgoing,
        kind: Kind,
        method: &str,
        written: Option<&Value>,
    ) -> Result<Option<Value>, Unsound> {
        let params = written.map(|params| self.bindings.interpolate(params));
        let params = params.map(|params| match method {
            "session/prompt" => intent::expand(&params, self.subject),
            _ => params,
        });
        self.sound(line, kind, method, written, params.as_ref())?;
        let writing = self.channel.writing();
        Ok(params.map(|params| if line.illegal { params } else { writing.params(kind, method, params) }))
    }

    /// Returns the result for a request of the subject as sent on the wire.
    fn result(&mut self, line: &Outgoing, id: &Value, result: Value) -> Value {
        let state = self.channel.state();
        let method = self.caller(line).and_then(|connection| state.open_method(connection, id)).map(str::to_owned);
        match method {
            Some(method) if !line.illegal => self.channel.writing().result(&method, result),
            _ => result,
        }
    }

    /// Checks params against the schema. `written` has names of the case where `params` has their values.
    fn sound(
        &self,
        line: &Outgoing,
        kind: Kind,
        method: &str,
        written: Option<&Value>,
        params: Option<&Value>,
    ) -> Result<(), Unsound> {
        let edition = self.case.edition;
        let tester = self.party().other();
        let Some(known) = edition.methods.find(tester, kind, method).filter(|_| !line.illegal) else {
            return Ok(());
        };
        let empty = json!({});
        let params = params.unwrap_or(&empty);
        let problems = edition.stable.problems(&known.params, params);
        // A case of both revisions may use what only the later one defines.
        let problems = edition.unexcused(&known.params, params, problems);
        let Some(problem) = problems.iter().find(|problem| !problem.is_null_capability(params)) else { return Ok(()) };
        let (at, message) = (&problem.at, &problem.message);
        let of_subject = written.is_some_and(|written| is_replaced(written, params, at));
        let text = if of_subject {
            format!(
                "the case repeats a value of the {} that breaks the schema of {method} at {at}: {message}",
                self.party()
            )
        } else {
            format!(
                "the case sends params of {method} that break the schema at {at}: {message}; mark the line `illegal: true` if that \
                 is meant"
            )
        };
        Err(Unsound { text, of_subject })
    }

    /// Returns the label of the subject's request that the line answers, or whose id it uses, if that request has not
    /// come.
    fn missing_request<'l>(&self, line: &'l Outgoing) -> Option<&'l str> {
        let label = match &line.body {
            Body::Result { label, .. } | Body::Error { label, .. } => label,
            Body::Request { wire_id, .. } => wire_id.as_ref()?.as_str()?.strip_prefix('<')?.strip_suffix("-id>")?,
            Body::Notification { .. } => return None,
        };
        self.bindings.get(&request_name(label)).is_none().then_some(label)
    }

    /// Returns a name in the line that has no value.
    fn unbound(&self, line: &Outgoing) -> Option<String> {
        let value = match &line.body {
            Body::Request { params, .. } | Body::Notification { params, .. } => params.as_ref()?,
            Body::Result { result, .. } => result,
            Body::Error { error, .. } => error,
        };
        self.bindings.unbound(value).into_iter().next()
    }

    /// Returns the connection of the request that the line answers.
    fn caller(&self, line: &Outgoing) -> Option<usize> {
        match &line.body {
            Body::Result { label, .. } | Body::Error { label, .. } => self.inbox.callers.get(label).copied(),
            _ => None,
        }
    }

    /// Returns the id of a request of the subject that has come.
    fn received_id(&self, label: &str) -> Value {
        self.bindings.get(&request_name(label)).cloned().unwrap_or_default()
    }

    pub(super) fn raw(&mut self, raw: &RawBytes) -> StepResult {
        let (bytes, end) = match raw.bytes.strip_suffix(b"\n") {
            Some(bytes) => (bytes, LineEnd::Lf),
            None => (&raw.bytes[..], LineEnd::Cut),
        };
        let bytes = self.bindings.interpolate_bytes(bytes);
        let lines = vec![Line { bytes, deliberate: !raw.legal, message: None }];
        let order = Order::Lines { connection: self.connection, lines, end, split: raw.split };
        let events = self.channel.send(order).unwrap_or_default();
        StepResult { events, ..StepResult::new(StepKind::Send, Outcome::Done) }
    }

    /// Ends the protocol stream to the subject.
    pub(super) fn close_input(&mut self) -> StepResult {
        self.channel.send(Order::CloseInput(self.connection));
        self.input_closed = true;
        StepResult::new(StepKind::Send, Outcome::Done)
    }

    /// Uses the request with which the process began instead of that of the case, which is the same.
    pub(super) fn take_over(&mut self, step: &Step) -> StepResult {
        let event = initialize(&step.action).and_then(|(label, _)| self.adopt_request(label));
        let outcome = if event.is_some() { Outcome::Done } else { Outcome::HarnessError };
        StepResult { events: event.into_iter().collect(), ..StepResult::new(StepKind::Send, outcome) }
    }

    /// Labels the first request in the trace and returns its event.
    fn adopt_request(&mut self, label: &str) -> Option<usize> {
        let mut lines = self.channel.state().recorder.of_case().filter_map(|event| match &event.what {
            What::Line { from: Party::Client, bytes, .. } => Some((event.n, bytes)),
            _ => None,
        });
        let (n, bytes) = lines.next()?;
        let message = read_line(bytes).one()?;
        let request = SentRequest {
            n,
            connection: self.connection,
            id: RpcId::new(&message["id"]),
            method: message["method"].as_str()?.to_owned(),
            params: message["params"].clone(),
            from: 0,
            at: Instant::now(),
        };
        self.inbox.requests.insert(label.to_owned(), request);
        Some(n)
    }
}

/// Whether the value at this place, or around it, stands where the case has a name.
fn is_replaced(written: &Value, params: &Value, at: &str) -> bool {
    let ends = at.match_indices('/').map(|(end, _)| end).skip(1).chain([at.len()]);
    let replaced = |place: &str| matches!((written.pointer(place), params.pointer(place)), (Some(Value::String(name)), Some(value)) if name != value);
    ends.into_iter().any(|end| replaced(&at[..end]))
}
