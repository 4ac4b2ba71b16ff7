//! Faults on whole messages, committed between the agent's pipes and the SDK.
//!
//! Without faults everything passes as it is.

use serde_json::{Map, Value, json};

use super::{envelope::Kind, ids::Ids, picky};
use crate::client::Fault;

/// What becomes of a message of the agent.
#[derive(Debug)]
pub(super) enum Fate {
    AsItIs,
    /// The message was changed on the way.
    Changed,
    Dropped,
    /// The fault answers in place of the client.
    Answered(Value),
    /// The fault answers, and the client takes the message as well.
    AlsoAnswered(Value),
    /// The client cannot stand the message and ends.
    Deadly,
}

/// What the faults remember.
#[derive(Debug)]
pub(super) struct Mangler {
    faults: Vec<Fault>,
    /// Ids of the agent's open requests.
    open: Vec<Value>,
    held: Vec<Map<String, Value>>,
    answers: Vec<Value>,
    n_answers: u64,
    is_deaf: bool,
}

impl Mangler {
    pub(super) fn new(faults: Vec<Fault>) -> Self {
        Self { faults, open: Vec::new(), held: Vec::new(), answers: Vec::new(), n_answers: 0, is_deaf: false }
    }

    /// Tells whether a fault is to be committed.
    pub(super) fn commits(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }

    /// Decides about a message of the agent before the client sees it.
    pub(super) fn incoming(&mut self, message: &mut Map<String, Value>, kind: &Kind, ids: &Ids) -> Fate {
        if self.faults.is_empty() {
            return Fate::AsItIs;
        }
        if self.holds(kind, ids) {
            self.held.push(message.clone());
            return Fate::Dropped;
        }
        match kind {
            Kind::Request { id, method } => self.request(id, method, message, ids),
            Kind::Notification { method } => self.notification(method, message, ids),
            Kind::Response { id } => self.response(id, message, ids),
            _ => Fate::AsItIs,
        }
    }

    /// Notes a request that reaches the client.
    pub(super) fn note_request(&mut self, id: &Value) {
        self.open.push(id.clone());
    }

    /// Changes a result on its way to the client.
    pub(super) fn result(&self, method: &str, mut result: Value) -> Value {
        if method == "initialize" && result.is_object() {
            if self.commits(Fault::IgnoreVersion) {
                result["protocolVersion"] = 1.into();
            }
            if self.commits(Fault::NullIsSupport) {
                picky::support_null(&mut result["agentCapabilities"]);
            }
        }
        result
    }

    /// Notes an answer of the agent; returns the messages that were held for it.
    pub(super) fn answered_by_agent(&mut self, method: &str) -> Vec<Map<String, Value>> {
        if method == "session/prompt" {
            self.is_deaf = false;
        }
        let waited = self.commits(Fault::Blocking) && method == "session/prompt";
        if waited { std::mem::take(&mut self.held) } else { Vec::new() }
    }

    /// Notes an answer of the client; returns the messages that were held for it.
    pub(super) fn answered_by_client(&mut self, message: &Value) -> Vec<Map<String, Value>> {
        if message["method"] == "session/cancel" && self.commits(Fault::DeafAfterCancel) {
            self.is_deaf = true;
        }
        if message.get("method").is_some() {
            return Vec::new();
        }
        self.open.retain(|id| *id != message["id"]);
        if self.commits(Fault::SerialRequests) { std::mem::take(&mut self.held) } else { Vec::new() }
    }

    /// Returns what is written for a message of the client.
    pub(super) fn outgoing(&mut self, mut message: Value) -> Vec<u8> {
        let is_answer = message.get("method").is_none();
        if is_answer && self.commits(Fault::CountedResponseIds) {
            message["id"] = self.n_answers.into();
        }
        self.n_answers += u64::from(is_answer);
        if is_answer && (self.commits(Fault::Batch) || self.commits(Fault::BlockBuffered)) {
            self.answers.push(message);
            return if self.commits(Fault::Batch) && self.open.is_empty() { self.batch() } else { Vec::new() };
        }
        if is_answer && self.commits(Fault::AnswersTwice) && message["result"]["outcome"]["outcome"] == "cancelled" {
            let error = json!({"code": -32800, "message": "Request cancelled"});
            let first = json!({"jsonrpc": "2.0", "id": message["id"], "error": error});
            return [line(&first), line(&message)].concat();
        }
        let mut bytes = self.kept_back();
        bytes.extend(line(&message));
        bytes
    }

    /// Returns the answers that were kept back.
    pub(super) fn kept_back(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.answers).iter().flat_map(line).collect()
    }

    fn batch(&mut self) -> Vec<u8> {
        let answers = std::mem::take(&mut self.answers);
        match answers.as_slice() {
            [single] => line(single),
            several => line(&json!(several)),
        }
    }

    /// Tells whether a message must wait for another one to be answered.
    fn holds(&self, kind: &Kind, ids: &Ids) -> bool {
        let is_call = matches!(kind, Kind::Request { .. } | Kind::Notification { .. });
        let blocks = self.commits(Fault::Blocking) && ids.is_open("session/prompt");
        let queues = self.commits(Fault::SerialRequests) && !self.open.is_empty();
        is_call && blocks || matches!(kind, Kind::Request { .. }) && queues
    }

    fn request(&self, id: &Value, method: &str, message: &mut Map<String, Value>, ids: &Ids) -> Fate {
        if self.is_deaf {
            return Fate::Dropped;
        }
        if self.commits(Fault::OneIdSpace) && ids.open(id).is_some() {
            message.remove("method");
            message.remove("params");
            message.insert("result".to_owned(), json!({}));
            return Fate::Changed;
        }
        let is_custom = method.starts_with('_');
        if self.commits(Fault::DropUnknownRequests) && !picky::is_known_request(method)
            || self.commits(Fault::DropCustomRequests) && is_custom
        {
            return Fate::Dropped;
        }
        match picky::objection(&self.faults, method, message.get("params").unwrap_or(&Value::Null)) {
            Some(reason) => {
                let error = json!({"code": -32602, "message": "Invalid params", "data": reason});
                Fate::Answered(json!({"jsonrpc": "2.0", "id": id, "error": error}))
            }
            None => Fate::AsItIs,
        }
    }

    fn notification(&self, method: &str, message: &Map<String, Value>, ids: &Ids) -> Fate {
        let is_cancel = method == "$/cancel_request";
        let params = message.get("params").unwrap_or(&Value::Null);
        if self.is_deaf {
            return Fate::Dropped;
        }
        if picky::is_deadly(&self.faults, method, params, !ids.is_prompted(&params["sessionId"])) {
            return Fate::Deadly;
        }
        if is_cancel && self.commits(Fault::CancelRequestAnswered) {
            let error = json!({"code": -32601, "message": "Method not found"});
            return Fate::AlsoAnswered(json!({"jsonrpc": "2.0", "id": null, "error": error}));
        }
        if is_cancel && self.commits(Fault::LateCancelAnswered) && !self.open.contains(&params["requestId"]) {
            let error = json!({"code": -32800, "message": "Request cancelled"});
            return Fate::AlsoAnswered(json!({"jsonrpc": "2.0", "id": params["requestId"], "error": error}));
        }
        if !is_cancel && self.commits(Fault::AnswerNotifications) {
            return Fate::AlsoAnswered(json!({"jsonrpc": "2.0", "id": null, "result": {}}));
        }
        Fate::AsItIs
    }

    fn response(&self, id: &Value, message: &mut Map<String, Value>, ids: &Ids) -> Fate {
        let mut is_changed = false;
        if let Some(oldest) = ids.oldest().filter(|_| self.commits(Fault::FifoResponses)) {
            message.insert("id".to_owned(), oldest.into());
            is_changed = true;
        }
        let method = ids.open(id).map_or("", |asked| asked.method.as_str());
        let result = message.get("result").unwrap_or(&Value::Null);
        let reason = result["stopReason"].as_str();
        let early = reason.is_some_and(|reason| !matches!(reason, "end_turn" | "cancelled"));
        let deadly = (self.commits(Fault::CancelledIsFailure) && reason == Some("cancelled"))
            || (self.commits(Fault::DieOnStopReason) && early);
        if deadly {
            return Fate::Deadly;
        }
        if let Some(reason) = picky::objection_to_result(&self.faults, method, result) {
            message.remove("result");
            message.insert("error".to_owned(), json!({"code": -32603, "message": reason}));
            is_changed = true;
        }
        if is_changed { Fate::Changed } else { Fate::AsItIs }
    }
}

fn line(message: &Value) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}
