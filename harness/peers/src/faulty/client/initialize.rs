//! Faults of `initialize`: the client assumes more or fewer capabilities than the agent advertised.

use serde_json::{Value, json};

use crate::faulty::{
    layer::{Layer, Onward},
    message::calls,
};

const CAPABILITIES: [&str; 6] =
    ["loadSession", "promptCapabilities", "mcpCapabilities", "sessionCapabilities", "auth", "_meta"];

/// Returns the capabilities in a result of `initialize`.
fn capabilities(message: &Value) -> Option<&Value> {
    let result = message.get("result").filter(|result| result.get("protocolVersion").is_some())?;
    result.get("agentCapabilities")
}

/// Treats each null capability as advertised.
pub(super) fn null_is_support(message: &mut Value) {
    let full = json!({
        "loadSession": true,
        "promptCapabilities": {"image": true, "audio": true, "embeddedContext": true},
        "mcpCapabilities": {"http": true, "sse": true},
        "sessionCapabilities": {"list": {}, "delete": {}, "additionalDirectories": {}, "resume": {}, "close": {}},
        "auth": {"logout": {}},
    });
    if let Some(known) = message.pointer_mut("/result/agentCapabilities") {
        replace_nulls(known, &full);
    }
}

fn replace_nulls(known: &mut Value, full: &Value) {
    let (Some(known), Some(full)) = (known.as_object_mut(), full.as_object()) else { return };
    for (name, full) in full {
        match known.get_mut(name) {
            Some(member) if member.is_null() => *member = full.clone(),
            Some(member) => replace_nulls(member, full),
            None => {}
        }
    }
}

/// Ends the client in its turn if an earlier message of the agent gave a reason.
pub(super) struct EndInTurn {
    is_reason: fn(&Value) -> bool,
    has_reason: bool,
}

impl EndInTurn {
    pub(super) fn new(is_reason: fn(&Value) -> bool) -> Self {
        Self { is_reason, has_reason: false }
    }
}

impl Layer for EndInTurn {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        self.has_reason |= (self.is_reason)(&message);
        onward.inward(message);
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        let ends = self.has_reason && calls(&message, "session/prompt");
        onward.outward(message);
        if ends {
            onward.end();
        }
    }
}

pub(super) fn is_minimal(message: &Value) -> bool {
    message.pointer("/result/protocolVersion").is_some()
        && message.pointer("/result/agentCapabilities/promptCapabilities").is_none()
}

pub(super) fn has_unknown_capability(message: &Value) -> bool {
    let known = capabilities(message).and_then(Value::as_object);
    known.is_some_and(|known| known.keys().any(|name| !CAPABILITIES.contains(&name.as_str())))
}

/// Returns whether a message is the result of `session/new`, and the session has no config options.
pub(super) fn lacks_options(message: &Value) -> bool {
    message.pointer("/result/sessionId").is_some() && !message["result"]["configOptions"].is_array()
}

/// Calls a method of an extension after `initialize`, and ends the client if the agent does not implement it.
#[derive(Default)]
pub(super) struct EndWithoutExtension {
    held: Option<Value>,
}

impl Layer for EndWithoutExtension {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        if message.pointer("/result/protocolVersion").is_some() {
            onward.ask_outward("_acp-reference/ping", json!({}));
            self.held = Some(message);
        } else {
            onward.inward(message);
        }
    }

    fn answered(&mut self, answer: Value, onward: &mut Onward) {
        if answer.get("error").is_some() {
            onward.end();
        } else if let Some(held) = self.held.take() {
            onward.inward(held);
        }
    }
}
