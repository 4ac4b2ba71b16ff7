//! Faults in the behaviour of the agent while a turn runs.

use serde_json::{Value, json};

use crate::layer::{Layer, Onward};

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
