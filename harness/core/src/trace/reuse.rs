//! What earlier cases left on a connection whose process serves one case after the other.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::wire::Envelope;

/// What the cases were about that a process has served before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reuse {
    /// How many cases it has served.
    pub cases: usize,
    /// Their sessions.
    pub sessions: BTreeSet<String>,
    /// Every integer below this, from 0, was the id of a request of the tester.
    pub requests: i64,
}

impl Reuse {
    /// Whether a message of the subject belongs to an earlier case: it is about one of its sessions, or answers one of its
    /// requests. Nothing of it is said about the case at hand.
    #[must_use]
    pub fn is_about(&self, message: &Value) -> bool {
        match Envelope::of(message) {
            Envelope::Call(call) => {
                let session = call.params.and_then(|params| params.get("sessionId")?.as_str());
                session.is_some_and(|session| self.sessions.contains(session))
            }
            Envelope::Response { id, .. } => {
                let id = id.and_then(Value::as_i64);
                id.is_some_and(|id| (0..self.requests).contains(&id))
            }
            Envelope::Unclear => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Reuse;

    #[test]
    fn a_message_belongs_to_an_earlier_case_by_its_session_or_by_its_request() {
        let reuse = Reuse { cases: 1, sessions: ["s-1".to_owned()].into(), requests: 3 };
        for (message, earlier) in [
            (json!({ "method": "session/update", "params": { "sessionId": "s-1", "update": {} } }), true),
            (json!({ "id": 0, "method": "fs/read_text_file", "params": { "sessionId": "s-1" } }), true),
            (json!({ "id": 2, "result": {} }), true),
            (json!({ "id": 3, "result": {} }), false),
            (json!({ "id": -1, "result": {} }), false),
            (json!({ "id": "2", "result": {} }), false),
            (json!({ "id": null, "error": {} }), false),
            (json!({ "method": "session/update", "params": { "sessionId": "s-2" } }), false),
            (json!({ "id": 0, "method": "_ask" }), false),
            (json!([]), false),
        ] {
            assert_eq!(reuse.is_about(&message), earlier, "{message}");
        }
    }
}
