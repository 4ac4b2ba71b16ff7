//! Faults of JSON-RPC that both parties can have.

use serde_json::Value;

use super::{
    layer::{Layer, Onward},
    message,
};

/// Gives each response of the other side to the program's oldest open request, ignoring the id.
#[derive(Default)]
pub(crate) struct FifoResponses {
    /// The ids of the program's requests, oldest first.
    open: std::collections::VecDeque<Value>,
}

impl Layer for FifoResponses {
    fn inward(&mut self, mut message: Value, onward: &mut Onward) {
        if message.get("method").is_none()
            && let Some(oldest) = self.open.pop_front()
        {
            message["id"] = oldest;
        }
        onward.inward(message);
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        if message::is_request(&message) {
            self.open.push_back(message["id"].clone());
        }
        onward.outward(message);
    }
}

/// Treats a request with the id of an open request of the program as the answer to that.
pub(crate) struct OneIdSpace;

impl Layer for OneIdSpace {
    fn inward(&mut self, mut message: Value, onward: &mut Onward) {
        if message::is_request(&message) && onward.open_outward().any(|open| open["id"] == message["id"]) {
            message = message::result(&message, message["params"].clone());
        }
        onward.inward(message);
    }
}

/// Holds back all but responses until the running turn has ended, whichever side ends it.
#[derive(Default)]
pub(crate) struct Blocking {
    held: Vec<Value>,
}

impl Blocking {
    /// Gives the program what was held back, unless another turn still runs.
    fn release(&mut self, onward: &mut Onward) {
        std::mem::take(&mut self.held).into_iter().for_each(|message| self.pass(message, onward));
    }

    fn pass(&mut self, message: Value, onward: &mut Onward) {
        if !message::is_response(&message) && onward.open("session/prompt").next().is_some() {
            self.held.push(message);
        } else {
            onward.inward(message);
        }
    }
}

impl Layer for Blocking {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        self.pass(message, onward);
        if onward.answers("session/prompt").is_some() {
            self.release(onward);
        }
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        onward.outward(message);
        if onward.answers("session/prompt").is_some() {
            self.release(onward);
        }
    }
}

/// Searches all members below a value.
pub(crate) fn has_member(value: &Value, wanted: &dyn Fn(&str, &Value) -> bool) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(key, value)| wanted(key, value) || has_member(value, wanted)),
        Value::Array(items) => items.iter().any(|item| has_member(item, wanted)),
        _ => false,
    }
}
