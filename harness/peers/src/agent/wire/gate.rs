//! Faults on whole messages, committed between stdin and the SDK.
//!
//! The gate exists only when such a fault is asked for. It may refuse a request itself, change a
//! message, or hold messages back.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use serde_json::{Map, Value, json};

use crate::{
    agent::{Fault, Options},
    wire::{self, Inward, Lines, Wire},
};

const GATED: [Fault; 17] = [
    Fault::CancelAnswered,
    Fault::AnswerNotifications,
    Fault::DropUnknownRequests,
    Fault::EchoVersion,
    Fault::VersionError,
    Fault::RequireCapabilities,
    Fault::NullIsSupport,
    Fault::StrictCapabilities,
    Fault::RejectNull,
    Fault::RejectMeta,
    Fault::FifoResponses,
    Fault::Blocking,
    Fault::EndOnBadInput,
    Fault::OneIdSpace,
    Fault::OmittedIsSupport,
    Fault::DieOnCancelRequest,
    Fault::DieOnStrayCancel,
];

const METHODS: [&str; 14] = [
    "initialize",
    "authenticate",
    "logout",
    "session/new",
    "session/load",
    "session/list",
    "session/delete",
    "session/resume",
    "session/close",
    "session/set_mode",
    "session/set_config_option",
    "session/prompt",
    "session/cancel",
    "_acp-reference/echo",
];

const CAPABILITIES: [&str; 6] = ["fs", "terminal", "session", "auth", "elicitation", "_meta"];

/// A filter on both directions.
pub(super) struct Gate {
    options: Arc<Options>,
    wire: Wire,
    inward: Inward,
    lines: Lines,
    /// Ids of the agent's own requests, oldest first.
    open_requests: VecDeque<Value>,
    /// Requested protocol version by the id of its initialize.
    versions: HashMap<String, Value>,
    /// Id of the running prompt, and what waits for its end.
    prompt: Option<Value>,
    held: VecDeque<Value>,
}

impl Gate {
    /// Builds the gate if one of the faults needs it.
    pub(super) fn new(options: Arc<Options>, wire: Wire, inward: Inward) -> Option<Self> {
        GATED.iter().any(|fault| options.commits(*fault)).then(|| Self {
            options,
            wire,
            inward,
            lines: Lines::default(),
            open_requests: VecDeque::new(),
            versions: HashMap::new(),
            prompt: None,
            held: VecDeque::new(),
        })
    }

    fn commits(&self, fault: Fault) -> bool {
        self.options.commits(fault)
    }

    fn admit(&mut self, mut message: Value) {
        let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
        match (method, message.get("id").cloned()) {
            (None, _) if self.commits(Fault::FifoResponses) => {
                if let Some(oldest) = self.open_requests.pop_front() {
                    message["id"] = oldest;
                }
            }
            (Some(_), Some(id)) if self.commits(Fault::OneIdSpace) && self.open_requests.contains(&id) => {
                message = json!({"jsonrpc": "2.0", "id": id, "result": message["params"]});
            }
            (Some(_), _) if self.commits(Fault::Blocking) && self.prompt.is_some() => {
                self.held.push_back(message);
                return;
            }
            (Some(method), Some(id)) if !self.admit_request(&method, &id, &mut message) => return,
            (Some(method), None) => self.answer_notification(&method),
            _ => {}
        }
        self.inward.pass(format!("{message}\n").into_bytes());
    }

    /// Decides whether a request reaches the SDK.
    fn admit_request(&mut self, method: &str, id: &Value, message: &mut Value) -> bool {
        if method == "session/prompt" {
            self.prompt = Some(id.clone());
        }
        if self.commits(Fault::DropUnknownRequests) && !METHODS.contains(&method) {
            return false;
        }
        let reason = self.reason_to_refuse(method, message.get("params").unwrap_or(&Value::Null));
        if let Some(reason) = reason {
            self.wire.write(&json!({
                "jsonrpc": "2.0",
                "id": id,
                "error": {"code": -32602, "message": "Invalid params", "data": reason},
            }));
            return false;
        }
        if method == "initialize" {
            self.versions.insert(id.to_string(), message["params"]["protocolVersion"].clone());
            let capabilities = &mut message["params"]["clientCapabilities"];
            if self.commits(Fault::NullIsSupport) {
                support(capabilities, Absence::Null);
            }
            if self.commits(Fault::OmittedIsSupport) {
                support(capabilities, Absence::Omitted);
            }
        }
        true
    }

    fn reason_to_refuse(&self, method: &str, params: &Value) -> Option<&'static str> {
        let is_initialize = method == "initialize";
        if self.commits(Fault::RejectNull) && contains(params, &|_, value| value.is_null()) {
            return Some("null is not accepted");
        }
        if self.commits(Fault::RejectMeta) && has_meta(params) {
            return Some("_meta is not accepted");
        }
        if is_initialize && self.commits(Fault::VersionError) && params["protocolVersion"] != 1 {
            return Some("unsupported protocol version");
        }
        if is_initialize && self.commits(Fault::RequireCapabilities) && !params["clientCapabilities"].is_object() {
            return Some("clientCapabilities is missing");
        }
        if is_initialize && self.commits(Fault::StrictCapabilities) && has_unknown_capability(params) {
            return Some("unknown capability");
        }
        None
    }

    /// Tells whether the agent ends at this message; the ids of its sessions begin with `ref-`.
    fn is_fatal(&self, message: &Value) -> bool {
        let is_stray = || message["params"]["sessionId"].as_str().is_none_or(|id| !id.starts_with("ref-"));
        match message["method"].as_str() {
            Some("$/cancel_request") => self.commits(Fault::DieOnCancelRequest),
            Some("session/cancel") => self.commits(Fault::DieOnStrayCancel) && is_stray(),
            _ => false,
        }
    }

    fn answer_notification(&self, method: &str) {
        if method == "session/cancel" {
            if self.commits(Fault::CancelAnswered) {
                self.wire.write(&json!({"jsonrpc": "2.0", "id": null, "result": {}}));
            }
        } else if self.commits(Fault::AnswerNotifications) {
            let error = json!({"code": -32601, "message": "Method not found", "data": method});
            self.wire.write(&json!({"jsonrpc": "2.0", "id": null, "error": error}));
        }
    }
}

impl wire::Gate for Gate {
    fn incoming(&mut self, bytes: &[u8]) -> bool {
        for line in self.lines.push(bytes) {
            match serde_json::from_slice::<Value>(&line) {
                Ok(message) if self.is_fatal(&message) => {
                    self.close();
                    return false;
                }
                Ok(message @ Value::Object(_)) => self.admit(message),
                _ if self.commits(Fault::EndOnBadInput) => {
                    self.close();
                    return false;
                }
                _ => self.inward.pass(line),
            }
        }
        self.inward.is_open()
    }

    fn close(&mut self) {
        self.inward.close();
    }

    fn outgoing(&mut self, line: Vec<u8>) -> Vec<u8> {
        let Ok(mut message) = serde_json::from_slice::<Value>(&line) else { return line };
        if message.get("method").is_some() {
            self.open_requests.extend(message.get("id").cloned());
            return line;
        }
        let id = message.get("id").cloned().unwrap_or_default();
        if self.prompt.as_ref() == Some(&id) {
            self.prompt = None;
            let held = std::mem::take(&mut self.held);
            held.into_iter().for_each(|message| self.admit(message));
        }
        match self.versions.remove(&id.to_string()) {
            Some(version) if message["result"].is_object() && self.commits(Fault::EchoVersion) => {
                message["result"]["protocolVersion"] = version;
                format!("{message}\n").into_bytes()
            }
            _ => line,
        }
    }
}

/// Searches all members below a value.
fn contains(value: &Value, wanted: &dyn Fn(&str, &Value) -> bool) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(key, value)| wanted(key, value) || contains(value, wanted)),
        Value::Array(items) => items.iter().any(|item| contains(item, wanted)),
        _ => false,
    }
}

/// Tells whether a request or one of its prompt blocks carries `_meta`; capabilities may.
fn has_meta(params: &Value) -> bool {
    params.get("_meta").is_some() || contains(&params["prompt"], &|key, _| key == "_meta")
}

fn has_unknown_capability(params: &Value) -> bool {
    let known = |capabilities: &Map<String, Value>| capabilities.keys().all(|key| CAPABILITIES.contains(&key.as_str()));
    params["clientCapabilities"].as_object().is_some_and(|capabilities| !known(capabilities))
}

/// The two ways not to say that a capability is there.
#[derive(Clone, Copy, PartialEq)]
enum Absence {
    Null,
    Omitted,
}

/// Turns on every client capability that is absent in this way.
fn support(capabilities: &mut Value, absence: Absence) {
    let full = json!({
        "fs": {"readTextFile": true, "writeTextFile": true},
        "terminal": true,
        "session": {"configOptions": {"boolean": {}}},
        "elicitation": {"form": {}},
    });
    if capabilities.is_null() && absence == Absence::Omitted {
        *capabilities = json!({});
    }
    fill(capabilities, &full, absence);
}

fn fill(value: &mut Value, full: &Value, absence: Absence) {
    let (Some(members), Some(full)) = (value.as_object_mut(), full.as_object()) else { return };
    for (key, full) in full {
        match members.get_mut(key) {
            Some(member) if member.is_null() && absence == Absence::Null => *member = full.clone(),
            Some(member) => fill(member, full, absence),
            None if absence == Absence::Omitted => {
                members.insert(key.clone(), full.clone());
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_becomes_support_and_absence_stays() {
        let mut capabilities = json!({"fs": null, "session": {"configOptions": {"boolean": null}}});
        support(&mut capabilities, Absence::Null);
        assert_eq!(
            capabilities,
            json!({
                "fs": {"readTextFile": true, "writeTextFile": true},
                "session": {"configOptions": {"boolean": {}}},
            })
        );
    }

    #[test]
    fn absence_becomes_support_and_null_stays() {
        let mut capabilities = json!({"fs": {"readTextFile": false}, "session": null, "elicitation": {}});
        support(&mut capabilities, Absence::Omitted);
        assert_eq!(
            capabilities,
            json!({
                "fs": {"readTextFile": false, "writeTextFile": true},
                "session": null,
                "elicitation": {"form": {}},
                "terminal": true,
            })
        );
    }

    #[test]
    fn finds_members_at_any_depth() {
        let params = json!({"prompt": [{"type": "text", "_meta": {}}], "cwd": "/"});
        assert!(has_meta(&params));
        assert!(!contains(&params, &|_, value| value.is_null()));
    }
}
