//! Faults in the opening, listing and changing of sessions.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::faulty::{
    layer::{Layer, Onward},
    message::{Open, Own, calls, opens_session, result, session, update},
};

const SAME_ID: &str = "ref-same";

/// Changes the params of a request that opens a session.
pub(super) fn edit_opening(message: &mut Value, edit: impl FnOnce(&str, &mut Value)) {
    if opens_session(message) {
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        edit(&method, &mut message["params"]);
    }
}

pub(super) fn take_process_cwd(message: &mut Value) {
    edit_opening(message, |_, params| params["cwd"] = json!(std::env::current_dir().unwrap_or_default()));
}

pub(super) fn take_root_for_cwd(message: &mut Value) {
    edit_opening(message, |_, params| {
        let roots = params.get_mut("additionalDirectories").and_then(Value::as_array_mut);
        if let Some(first) = roots.filter(|roots| !roots.is_empty()).map(|roots| roots.remove(0)) {
            params["cwd"] = first;
        }
    });
}

pub(super) fn drop_roots(message: &mut Value) {
    edit_opening(message, |_, params| {
        params.as_object_mut().and_then(|params| params.remove("additionalDirectories"));
    });
}

pub(super) fn drop_filter(message: &mut Value) {
    if calls(message, "session/list") {
        message.get_mut("params").and_then(Value::as_object_mut).and_then(|params| params.remove("cwd"));
    }
}

pub(super) fn load_for_resume(message: &mut Value) {
    if calls(message, "session/resume") {
        message["method"] = "session/load".into();
        if message["params"]["mcpServers"].is_null() {
            message["params"]["mcpServers"] = json!([]);
        }
    }
}

/// Shows every session under one id, which stands for the latest one.
#[derive(Default)]
pub(super) struct SameId {
    latest: Value,
}

impl Layer for SameId {
    fn inward(&mut self, mut message: Value, onward: &mut Onward) {
        if session(&message) == Some(SAME_ID) {
            message["params"]["sessionId"] = self.latest.clone();
        }
        onward.inward(message);
    }

    fn outward(&mut self, mut message: Value, onward: &mut Onward) {
        if let Some(id) = message.pointer_mut("/result/sessionId") {
            self.latest = std::mem::replace(id, SAME_ID.into());
        }
        if let Some(id) = message.pointer_mut("/params/sessionId") {
            *id = SAME_ID.into();
        }
        onward.outward(message);
    }
}

/// Sends all updates under the id of the session that was created last.
#[derive(Default)]
pub(super) struct LatestUpdates {
    latest: Option<Value>,
}

impl Layer for LatestUpdates {
    fn outward(&mut self, mut message: Value, onward: &mut Onward) {
        if let Some(id) = message.pointer("/result/sessionId") {
            self.latest = Some(id.clone());
        }
        if let (Some(_), Some(latest)) = (update(&message), &self.latest) {
            message["params"]["sessionId"] = latest.clone();
        }
        onward.outward(message);
    }
}

/// Gives a session that is opened again without additional directories those that it had.
#[derive(Default)]
pub(super) struct RootsRestored {
    openings: Open,
    roots: HashMap<String, Value>,
}

impl Layer for RootsRestored {
    fn inward(&mut self, mut message: Value, onward: &mut Onward) {
        self.openings.add_if(&message, &["session/new"]);
        let earlier = session(&message).and_then(|id| self.roots.get(id)).cloned();
        edit_opening(&mut message, |_, params| {
            let has_roots = params["additionalDirectories"].as_array().is_some_and(|roots| !roots.is_empty());
            if let Some(earlier) = earlier.filter(|_| !has_roots) {
                params["additionalDirectories"] = earlier;
            }
        });
        onward.inward(message);
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        if let Some(opening) = self.openings.answered_by(&message)
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
    own: Own,
}

impl Layer for GlobalMode {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        if calls(&message, "session/set_mode") {
            for other in self.sessions.iter().filter(|id| session(&message) != Some(id.as_str())) {
                let params = json!({"sessionId": other, "modeId": message["params"]["modeId"]});
                onward.inward(self.own.request("session/set_mode", params));
            }
        }
        onward.inward(message);
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        if self.own.takes(&message) {
            return;
        }
        self.sessions.extend(message["result"]["sessionId"].as_str().map(str::to_owned));
        onward.outward(message);
    }
}

/// Closes a session that the client deletes, so that its file stays.
#[derive(Default)]
pub(super) struct DeleteInMemory {
    own: Own,
}

impl Layer for DeleteInMemory {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        if calls(&message, "session/delete") {
            onward.inward(self.own.request("session/close", json!({"sessionId": message["params"]["sessionId"]})));
            onward.outward(result(&message, json!({})));
        } else {
            onward.inward(message);
        }
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        if !self.own.takes(&message) {
            onward.outward(message);
        }
    }
}

/// Changes the replay of `session/load`, which it holds back until the response is there.
pub(super) struct Replay {
    loads: Open,
    history: HashMap<String, Vec<Value>>,
    /// Adds the response to the history.
    finish: fn(Value, &mut Vec<Value>),
}

impl Replay {
    pub(super) fn new(finish: fn(Value, &mut Vec<Value>)) -> Self {
        Self { loads: Open::default(), history: HashMap::new(), finish }
    }
}

impl Layer for Replay {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        self.loads.add_if(&message, &["session/load"]);
        onward.inward(message);
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        let load = self.loads.answered_by(&message);
        if let Some(id) = load.as_ref().and_then(session) {
            let mut history = self.history.remove(id).unwrap_or_default();
            (self.finish)(message, &mut history);
            history.into_iter().for_each(|message| onward.outward(message));
        } else if let Some(id) = session(&message).filter(|id| self.loads.of_session(id).next().is_some()) {
            self.history.entry(id.to_owned()).or_default().push(message);
        } else {
            onward.outward(message);
        }
    }
}

/// Ends a replay without its last message of the agent.
pub(super) fn lose_last_message(response: Value, history: &mut Vec<Value>) {
    if let Some(last) = history.iter().rposition(|message| update(message) == Some("agent_message_chunk")) {
        history.remove(last);
    }
    history.push(response);
}
