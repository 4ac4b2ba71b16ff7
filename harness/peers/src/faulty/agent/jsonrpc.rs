//! Faults of JSON-RPC that only the agent has.

use serde_json::Value;

use crate::faulty::{
    jsonrpc::has_member,
    layer::{Layer, Onward},
    message::{calls, is_request, method},
};

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

pub(super) fn has_null(message: &Value) -> Option<&'static str> {
    has_member(message.get("params")?, &|_, value| value.is_null()).then_some("null is not accepted")
}

/// Returns a reason to refuse a request with `_meta`. Capabilities with `_meta` are accepted.
pub(super) fn has_meta(message: &Value) -> Option<&'static str> {
    let params = message.get("params")?;
    let in_prompt = has_member(&params["prompt"], &|key, _| key == "_meta");
    (in_prompt || params.get("_meta").is_some()).then_some("_meta is not accepted")
}

pub(super) fn is_cancel_request(message: &Value) -> bool {
    calls(message, "$/cancel_request")
}

pub(super) struct DropUnknownRequests;

impl Layer for DropUnknownRequests {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        if !is_request(&message) || method(&message).is_some_and(|method| METHODS.contains(&method)) {
            onward.inward(message);
        }
    }
}
