//! Faults in the use of lists of sessions.

use std::collections::HashMap;

use serde_json::Value;

use crate::layer::{Layer, Onward};

/// Returns the sessions in an answer to `session/list`.
fn listed(message: &mut Value) -> Option<&mut Vec<Value>> {
    message.pointer_mut("/result/sessions")?.as_array_mut()
}

/// Adds up the directories of a session in several lists.
#[derive(Default)]
pub(super) struct MergeDirectories {
    known: HashMap<String, Vec<Value>>,
}

impl Layer for MergeDirectories {
    fn inward(&mut self, mut message: Value, onward: &mut Onward) {
        for session in listed(&mut message).into_iter().flatten() {
            let known = self.known.entry(session["sessionId"].to_string()).or_default();
            let listed = session["additionalDirectories"].as_array().cloned().unwrap_or_default();
            known.extend(listed.into_iter().filter(|path| !known.contains(path)).collect::<Vec<_>>());
            session["additionalDirectories"] = known.clone().into();
        }
        onward.inward(message);
    }
}
