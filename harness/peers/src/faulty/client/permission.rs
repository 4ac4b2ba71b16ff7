//! Faults in the answers to permission requests.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::faulty::{
    layer::{Layer, Onward},
    message::{Open, calls, is_request, result, session},
};

pub(super) fn lacks_title(message: &Value) -> Option<&'static str> {
    let call = message.pointer("/params/toolCall").filter(|_| calls(message, "session/request_permission"))?;
    call["title"].is_null().then_some("the tool call has no title")
}

/// Tells whether a response says that the turn was cancelled.
fn is_cancelled(response: &Value) -> bool {
    response.pointer("/result/outcome/outcome").is_some_and(|outcome| outcome == "cancelled")
}

/// Open permission requests, and the sessions whose turn the user cancelled.
#[derive(Default)]
struct Asked {
    requests: Open,
    cancelled: HashSet<String>,
}

impl Asked {
    fn note_inward(&mut self, message: &Value) {
        self.requests.add_if(message, &["session/request_permission"]);
    }

    fn note_outward(&mut self, message: &Value) {
        let id = session(message).unwrap_or_default();
        if calls(message, "session/cancel") {
            self.cancelled.insert(id.to_owned());
        } else if calls(message, "session/prompt") {
            self.cancelled.remove(id);
        }
    }

    fn is_cancelled(&self, request: &Value) -> bool {
        session(request).is_some_and(|id| self.cancelled.contains(id))
    }
}

/// Never gives the answer that a turn was cancelled, or a session closed.
pub(super) struct LeaveOpen {
    asked: Asked,
    after_cancel: bool,
}

impl LeaveOpen {
    /// Leaves requests open when the turn is cancelled.
    pub(super) fn when_cancelled() -> Self {
        Self { asked: Asked::default(), after_cancel: true }
    }

    /// Leaves requests open when the session is closed.
    pub(super) fn when_closed() -> Self {
        Self { asked: Asked::default(), after_cancel: false }
    }
}

impl Layer for LeaveOpen {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        self.asked.note_inward(&message);
        onward.inward(message);
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        self.asked.note_outward(&message);
        let request = self.asked.requests.answered_by(&message).filter(|_| is_cancelled(&message));
        if request.is_none_or(|request| self.asked.is_cancelled(&request) != self.after_cancel) {
            onward.outward(message);
        }
    }
}

/// Answers the requests of all sessions as cancelled when one turn is cancelled.
#[derive(Default)]
pub(super) struct ClearAll {
    asked: Open,
    answered: Open,
}

impl Layer for ClearAll {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        self.asked.add_if(&message, &["session/request_permission"]);
        onward.inward(message);
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        if self.answered.answered_by(&message).is_some() {
            return;
        }
        self.asked.answered_by(&message);
        let clears = calls(&message, "session/cancel");
        onward.outward(message);
        if clears {
            for request in std::mem::take(&mut self.asked).all() {
                onward.outward(result(request, json!({"outcome": {"outcome": "cancelled"}})));
                self.answered.add(request);
            }
        }
    }
}

/// Answers requests that come after `session/cancel` with an option.
#[derive(Default)]
pub(super) struct AnswerLate {
    asked: Asked,
}

impl Layer for AnswerLate {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        if is_request(&message) && self.asked.is_cancelled(&message) {
            self.asked.note_inward(&message);
        }
        onward.inward(message);
    }

    fn outward(&mut self, mut message: Value, onward: &mut Onward) {
        self.asked.note_outward(&message);
        if let Some(request) = self.asked.requests.answered_by(&message).filter(|_| is_cancelled(&message)) {
            let option = &request["params"]["options"][0]["optionId"];
            message["result"]["outcome"] = json!({"outcome": "selected", "optionId": option});
        }
        onward.outward(message);
    }
}
