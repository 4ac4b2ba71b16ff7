//! What a client with a fault does not accept although the protocol allows it, and the other way round.

use serde_json::{Value, json};

use crate::client::Fault;

const REQUESTS: [&str; 9] = [
    "fs/read_text_file",
    "fs/write_text_file",
    "session/request_permission",
    "terminal/create",
    "terminal/output",
    "terminal/wait_for_exit",
    "terminal/kill",
    "terminal/release",
    "elicitation/create",
];

const NOTIFICATIONS: [&str; 3] = ["session/update", "elicitation/complete", "$/cancel_request"];

/// Updates that belong to a turn or a replay.
const TURN_UPDATES: [&str; 6] =
    ["user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"];

/// Updates that may come at any time.
const STATE_UPDATES: [&str; 5] =
    ["available_commands_update", "current_mode_update", "config_option_update", "session_info_update", "usage_update"];

/// Tells whether clients have a method.
pub(super) fn is_known_request(method: &str) -> bool {
    REQUESTS.contains(&method)
}

/// Returns why a fault refuses a request, if it does.
pub(super) fn objection(faults: &[Fault], method: &str, params: &Value) -> Option<&'static str> {
    let commits = |fault| faults.contains(&fault);
    if commits(Fault::RejectNull) && contains(params, &|_, value| value.is_null()) {
        return Some("null is not accepted");
    }
    if commits(Fault::RejectMeta) && contains(params, &|key, _| key == "_meta") {
        return Some("_meta is not accepted");
    }
    if commits(Fault::ArgsRequired) && method == "terminal/create" && !params["args"].is_array() {
        return Some("args is missing");
    }
    None
}

/// Returns why a fault refuses a result, if it does.
pub(super) fn objection_to_result(faults: &[Fault], method: &str, result: &Value) -> Option<&'static str> {
    let commits = |fault| faults.contains(&fault);
    let prompts = &result["agentCapabilities"]["promptCapabilities"];
    if commits(Fault::PartialCapabilitiesRejected) && method == "initialize" && prompts["image"] != prompts["audio"] {
        return Some("images and audio go together");
    }
    if commits(Fault::RejectNull) && contains(result, &|_, value| value.is_null()) {
        return Some("null is not accepted");
    }
    if commits(Fault::RejectResultMeta) && result.get("_meta").is_some() {
        return Some("_meta is not accepted");
    }
    let mut options = result["configOptions"].as_array().into_iter().flatten();
    let is_odd = |option: &Value| option["type"] != "select" && option["type"] != "boolean";
    if commits(Fault::OptionTypeRejected) && method.starts_with("session/") && options.any(is_odd) {
        return Some("a config option is of an unknown type");
    }
    None
}

/// Tells whether a client with a fault ends at a notification.
pub(super) fn is_deadly(faults: &[Fault], method: &str, params: &Value, is_idle: bool) -> bool {
    let commits = |fault| faults.contains(&fault);
    let update = &params["update"];
    let kind = update["sessionUpdate"].as_str().unwrap_or_default();
    let is_state = STATE_UPDATES.contains(&kind);
    let is_known = is_state || TURN_UPDATES.contains(&kind);
    let is_update = method == "session/update";
    let misses = |name: &str| update.get(name).is_none_or(Value::is_null);
    commits(Fault::DieOnUnknownNotification) && !NOTIFICATIONS.contains(&method)
        || commits(Fault::DieOnCancelRequest) && method == "$/cancel_request"
        || commits(Fault::DieOnCompletion) && method == "elicitation/complete"
        || commits(Fault::DieOnUnknownUpdate) && is_update && !is_known
        || commits(Fault::DieOnIdleUpdate) && is_update && is_state && is_idle
        || commits(Fault::DieOnReplay) && is_update && !is_state && is_idle
        || commits(Fault::DieOnMissingMessageId) && kind.ends_with("_chunk") && misses("messageId")
        || commits(Fault::DieOnSparseToolCall) && kind == "tool_call" && (misses("kind") || misses("status"))
        || commits(Fault::DieOnMeta) && contains(params, &|key, _| key == "_meta")
}

/// Turns on every agent capability that is null.
pub(super) fn support_null(capabilities: &mut Value) {
    let full = json!({
        "loadSession": true,
        "promptCapabilities": {"image": true, "audio": true, "embeddedContext": true},
        "mcpCapabilities": {"http": true, "sse": true},
        "sessionCapabilities": {"list": {}, "delete": {}, "additionalDirectories": {}, "resume": {}, "close": {}},
        "auth": {"logout": {}},
    });
    fill_nulls(capabilities, &full);
}

fn fill_nulls(value: &mut Value, full: &Value) {
    let (Some(members), Some(full)) = (value.as_object_mut(), full.as_object()) else { return };
    for (key, full) in full {
        match members.get_mut(key) {
            Some(member) if member.is_null() => *member = full.clone(),
            Some(member) => fill_nulls(member, full),
            None => {}
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
