//! Faults in the answers to permission requests.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::{
    layer::{Layer, Onward},
    message::{calls, is_response, result, session},
};

const ASK: &str = "session/request_permission";

/// Returns whether a response has the outcome `cancelled`.
fn is_cancelled(response: &Value) -> bool {
    response.pointer("/result/outcome/outcome").is_some_and(|outcome| outcome == "cancelled")
}

/// The sessions whose turn the user cancelled.
#[derive(Default)]
struct Cancelled(HashSet<String>);

impl Cancelled {
    /// Handles a message of the client.
    fn note(&mut self, message: &Value) {
        let id = session(message).unwrap_or_default();
        if calls(message, "session/cancel") {
            self.0.insert(id.to_owned());
        } else if calls(message, "session/prompt") {
            self.0.remove(id);
        }
    }

    fn has_session_of(&self, request: &Value) -> bool {
        session(request).is_some_and(|id| self.0.contains(id))
    }
}

/// Answers the requests of all sessions as cancelled when one turn is cancelled.
pub(super) struct ClearAll;

impl Layer for ClearAll {
    fn outward(&mut self, message: Value, onward: &mut Onward) {
        if is_response(&message) && onward.asked().is_none() {
            // The layer has already answered the request.
            return;
        }
        let clears = calls(&message, "session/cancel");
        onward.outward(message);
        if clears {
            for request in onward.open(ASK).cloned().collect::<Vec<_>>() {
                onward.outward(result(&request, json!({"outcome": {"outcome": "cancelled"}})));
            }
        }
    }
}

/// Answers requests that come after `session/cancel` by choosing an option.
#[derive(Default)]
pub(super) struct AnswerLate {
    cancelled: Cancelled,
    /// The ids of the requests that came after it.
    late: Vec<Value>,
}

impl Layer for AnswerLate {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        if calls(&message, ASK) && self.cancelled.has_session_of(&message) {
            self.late.push(message["id"].clone());
        }
        onward.inward(message);
    }

    fn outward(&mut self, mut message: Value, onward: &mut Onward) {
        self.cancelled.note(&message);
        let request = onward.answers(ASK).filter(|request| self.late.contains(&request["id"]));
        if let Some(request) = request.filter(|_| is_cancelled(&message)) {
            let option = &request["params"]["options"][0]["optionId"];
            message["result"]["outcome"] = json!({"outcome": "selected", "optionId": option});
        }
        onward.outward(message);
    }
}

/// Answers only the first of the open requests of a session that is closed.
#[derive(Default)]
pub(super) struct CloseAnswersOne {
    cancelled: Cancelled,
    /// The sessions with a request that was answered as cancelled, though nothing was cancelled.
    answered: HashSet<String>,
}

impl Layer for CloseAnswersOne {
    fn outward(&mut self, message: Value, onward: &mut Onward) {
        self.cancelled.note(&message);
        if calls(&message, "session/close") {
            self.answered.remove(session(&message).unwrap_or_default());
        }
        let request = onward.answers(ASK).filter(|request| !self.cancelled.has_session_of(request));
        let id = request.as_ref().filter(|_| is_cancelled(&message)).and_then(session);
        if id.is_none_or(|id| self.answered.insert(id.to_owned())) {
            onward.outward(message);
        }
    }
}
