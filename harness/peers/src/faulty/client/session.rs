//! Faults in the use of sessions, their lists and their settings.

use std::collections::HashMap;

use serde_json::Value;

use crate::faulty::{
    layer::{Layer, Onward},
    message::{calls, update},
};

/// Keeps the first config options, whatever the answer to a change contains.
#[derive(Default)]
pub(super) struct KeepOptions {
    /// The last options that did not come as an answer to a change.
    known: Value,
}

impl Layer for KeepOptions {
    fn inward(&mut self, mut message: Value, onward: &mut Onward) {
        let is_change = onward.answers("session/set_config_option").is_some();
        let announced =
            if update(&message).is_some() { "/params/update/configOptions" } else { "/result/configOptions" };
        if let Some(options) = message.pointer_mut(announced) {
            match is_change {
                true => *options = self.known.clone(),
                false => self.known = options.clone(),
            }
        }
        onward.inward(message);
    }
}

/// Loads and resumes sessions in the directory in which the client opens new ones.
#[derive(Default)]
pub(super) struct OwnCwd {
    cwd: Value,
}

impl Layer for OwnCwd {
    fn outward(&mut self, mut message: Value, onward: &mut Onward) {
        if calls(&message, "session/new") {
            self.cwd = message["params"]["cwd"].clone();
        } else if calls(&message, "session/load") || calls(&message, "session/resume") {
            message["params"]["cwd"] = self.cwd.clone();
        }
        onward.outward(message);
    }
}

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
            let told = session["additionalDirectories"].as_array().cloned().unwrap_or_default();
            known.extend(told.into_iter().filter(|path| !known.contains(path)).collect::<Vec<_>>());
            session["additionalDirectories"] = known.clone().into();
        }
        onward.inward(message);
    }
}
