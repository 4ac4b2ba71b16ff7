//! Faults in the opening, listing and changing of sessions.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::{
    layer::{Layer, Onward},
    message::{calls, opens_session, session, update},
};

pub(super) fn take_process_cwd(message: &mut Value) {
    if opens_session(message) {
        message["params"]["cwd"] = json!(std::env::current_dir().unwrap_or_default());
    }
}

/// Restores the earlier additional directories of a session that is opened again without any.
#[derive(Default)]
pub(super) struct RootsRestored {
    roots: HashMap<String, Value>,
}

impl Layer for RootsRestored {
    fn inward(&mut self, mut message: Value, onward: &mut Onward) {
        let roots = message.pointer("/params/additionalDirectories").and_then(Value::as_array);
        let has_roots = roots.is_some_and(|roots| !roots.is_empty());
        let earlier = session(&message).and_then(|id| self.roots.get(id));
        if let Some(earlier) = earlier.filter(|_| opens_session(&message) && !has_roots) {
            message["params"]["additionalDirectories"] = earlier.clone();
        }
        onward.inward(message);
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        if let Some(opening) = onward.answers("session/new")
            && let (Some(id), Some(roots)) =
                (message["result"]["sessionId"].as_str(), opening["params"].get("additionalDirectories"))
        {
            self.roots.insert(id.to_owned(), roots.clone());
        }
        onward.outward(message);
    }
}

/// Sets the mode of all sessions when the client sets that of one.
#[derive(Default)]
pub(super) struct GlobalMode {
    sessions: HashSet<String>,
}

impl Layer for GlobalMode {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        if calls(&message, "session/set_mode") {
            for other in self.sessions.iter().filter(|id| session(&message) != Some(id.as_str())) {
                let params = json!({"sessionId": other, "modeId": message["params"]["modeId"]});
                onward.ask_inward("session/set_mode", params);
            }
        }
        onward.inward(message);
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        self.sessions.extend(message["result"]["sessionId"].as_str().map(str::to_owned));
        onward.outward(message);
    }
}

/// What the agent has lost of the sessions of its earlier processes.
pub(super) enum Lost {
    /// The messages.
    History,
    /// The ids of the messages, so that it replays them under new ones.
    Ids,
}

/// Does not keep everything of its sessions for the next process.
pub(super) struct Forgetful {
    lost: Lost,
    /// The sessions that this process created.
    own: HashSet<String>,
}

impl Forgetful {
    pub(super) fn of(lost: Lost) -> Self {
        Self { lost, own: HashSet::new() }
    }

    fn is_earlier(&self, message: &Value) -> bool {
        session(message).is_some_and(|id| !self.own.contains(id))
    }
}

impl Layer for Forgetful {
    fn outward(&mut self, mut message: Value, onward: &mut Onward) {
        if onward.answers("session/new").is_some() {
            self.own.extend(message["result"]["sessionId"].as_str().map(str::to_owned));
        }
        let is_message = update(&message).is_some_and(|kind| kind.contains("_message"));
        let reopens = |id| ["session/load", "session/resume"].into_iter().any(|by| onward.open_in(by, id).is_some());
        let is_replayed = is_message && self.is_earlier(&message) && session(&message).is_some_and(reopens);
        match self.lost {
            Lost::History if is_replayed => return,
            Lost::Ids if is_replayed => {
                if let Some(Value::String(id)) = message.pointer_mut("/params/update/messageId") {
                    id.push_str("-replayed");
                }
            }
            _ => {}
        }
        onward.outward(message);
    }
}
