//! Faults of JSON-RPC that only the agent has.

use serde_json::Value;

use crate::jsonrpc::has_member;

pub(super) fn has_null(message: &Value) -> Option<&'static str> {
    has_member(message.get("params")?, &|_, value| value.is_null()).then_some("null is not accepted")
}

/// Returns a reason to refuse a request with `_meta`. Capabilities with `_meta` are accepted.
pub(super) fn has_meta(message: &Value) -> Option<&'static str> {
    let params = message.get("params")?;
    let in_prompt = has_member(&params["prompt"], &|key, _| key == "_meta");
    (in_prompt || params.get("_meta").is_some()).then_some("_meta is not accepted")
}
