//! Every line in both directions.

use serde_json::{Map, Value, json};

use super::{
    envelope::{self, Kind, kind},
    ids::{Asked, Ids},
    mangle::{Fate, Mangler},
};
use crate::{
    client::Fault,
    wire::{self, Inward, Lines, Wire},
};

/// The gate between the agent and the SDK.
pub(super) struct Gate {
    wire: Wire,
    inward: Inward,
    lines: Lines,
    ids: Ids,
    mangler: Mangler,
}

impl Gate {
    pub(super) fn new(faults: Vec<Fault>, wire: Wire, inward: Inward) -> Self {
        Self { wire, inward, lines: Lines::default(), ids: Ids::default(), mangler: Mangler::new(faults) }
    }

    /// Takes one line; answers whether the client goes on.
    fn take(&mut self, line: Vec<u8>) -> bool {
        match serde_json::from_slice(&line) {
            Ok(Value::Object(message)) => return self.admit(message, line),
            _ if self.mangler.commits(Fault::EndOnBadInput) => return false,
            // The SDK would end the connection.
            Err(_) if std::str::from_utf8(&line).is_err() => self.refuse(&Value::Null, -32700),
            _ => self.inward.pass(line),
        }
        true
    }

    /// Takes one object, and the line that it came in; answers whether the client goes on.
    fn admit(&mut self, mut message: Map<String, Value>, mut line: Vec<u8>) -> bool {
        let mut kind = kind(&message);
        match self.mangler.incoming(&mut message, &kind, &self.ids) {
            Fate::AsItIs => {}
            Fate::Changed => {
                kind = envelope::kind(&message);
                line = text(&message);
            }
            Fate::Dropped => return true,
            Fate::Answered(answer) => {
                self.wire.write(&answer);
                return true;
            }
            Fate::AlsoAnswered(answer) => self.wire.write(&answer),
            Fate::Deadly => return false,
        }
        match kind {
            Kind::Request { id, .. } => {
                self.mangler.note_request(&id);
                self.inward.pass(line);
            }
            Kind::Response { id } => self.admit_response(&id, message),
            Kind::Refused { id, code } => self.refuse(&id, code),
            Kind::Ignored => {}
            Kind::Notification { .. } | Kind::Other => self.inward.pass(line),
        }
        true
    }

    /// Takes messages that a fault held back.
    fn admit_held(&mut self, held: Vec<Map<String, Value>>) {
        for message in held {
            let line = text(&message);
            if !self.admit(message, line) {
                self.inward.close();
            }
        }
    }

    /// Gives an answer to the SDK under the id that it knows.
    ///
    /// A malformed one becomes an error, since the SDK would drop it and wait for ever.
    fn admit_response(&mut self, id: &Value, mut message: Map<String, Value>) {
        // Nobody waits for an answer to a question that was never asked, or was answered before.
        let Some(asked) = self.ids.answer(id) else { return };
        let (result, error) = (message.remove("result"), message.remove("error"));
        let mut answer = json!({"jsonrpc": "2.0", "id": asked.id});
        match (result, error) {
            (Some(result), None) => answer["result"] = self.mangler.result(&asked.method, result),
            (None, Some(error)) if error["code"].is_i64() && error["message"].is_string() => answer["error"] = error,
            _ => answer["error"] = json!({"code": -32603, "message": "The response is malformed"}),
        }
        self.inward.pass(format!("{answer}\n").into_bytes());
        let held = self.mangler.answered_by_agent(&asked.method);
        self.admit_held(held);
    }

    fn refuse(&self, id: &Value, code: i32) {
        let message = match code {
            -32700 => "Parse error",
            -32602 => "Invalid params",
            _ => "Invalid request",
        };
        self.wire.write(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}));
    }

    /// Renames ids in what the SDK writes.
    fn renumber(&mut self, message: &mut Value) {
        let method = message["method"].as_str().map(str::to_owned);
        match (method, message.get("id").cloned()) {
            (Some(method), Some(id)) => {
                let constant = self.mangler.commits(Fault::ConstantRequestId);
                let asked = Asked { id, method, session: message["params"]["sessionId"].clone() };
                message["id"] = self.ids.ask(asked, constant).into();
            }
            (Some(method), None) if method == "$/cancel_request" => {
                if let Some(number) = self.ids.number(&message["params"]["requestId"]) {
                    message["params"]["requestId"] = number.into();
                }
            }
            _ => {}
        }
    }
}

impl wire::Gate for Gate {
    fn incoming(&mut self, bytes: &[u8]) -> bool {
        for line in self.lines.push(bytes) {
            if !self.take(line) {
                self.inward.close();
                return false;
            }
        }
        self.inward.is_open()
    }

    fn close(&mut self) {
        let rest = self.lines.rest();
        if !rest.is_empty() {
            self.take(rest);
        }
        self.inward.close();
    }

    fn outgoing(&mut self, line: Vec<u8>) -> Vec<u8> {
        let Ok(mut message) = serde_json::from_slice::<Value>(&line) else { return line };
        self.renumber(&mut message);
        let held = self.mangler.answered_by_client(&message);
        let bytes = self.mangler.outgoing(message);
        self.admit_held(held);
        bytes
    }

    fn kept_back(&mut self) -> Vec<u8> {
        self.mangler.kept_back()
    }
}

fn text(message: &Map<String, Value>) -> Vec<u8> {
    let mut text = json!(message).to_string();
    text.push('\n');
    text.into_bytes()
}
