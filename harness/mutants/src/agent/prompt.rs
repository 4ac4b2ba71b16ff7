//! Faults in the behaviour of the agent while a turn runs.

use serde_json::{Value, json};

use crate::{
    layer::{Layer, Onward},
    message::is_response,
};

/// Holds requests and notifications back until the running turn has ended.
#[derive(Default)]
pub(super) struct Blocking {
    held: Vec<Value>,
}

impl Layer for Blocking {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        if !is_response(&message) && onward.open("session/prompt").next().is_some() {
            self.held.push(message);
        } else {
            onward.inward(message);
        }
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        let ends = onward.answers("session/prompt").is_some();
        onward.outward(message);
        if ends {
            std::mem::take(&mut self.held).into_iter().for_each(|message| self.inward(message, onward));
        }
    }
}

/// Reports to the agent that the user has visited a page as soon as the user agrees to visit it.
pub(super) struct VisitedAtConsent;

impl Layer for VisitedAtConsent {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        let asked = onward.answers("elicitation/create").unwrap_or_default();
        if let Some(id) = asked["params"]["elicitationId"].as_str().filter(|_| message["result"]["action"] == "accept")
        {
            let params = json!({"elicitationId": id});
            onward.inward(json!({"jsonrpc": "2.0", "method": "_acp-reference/visited", "params": params}));
        }
        onward.inward(message);
    }
}
