//! Reading and building JSON-RPC messages.

use serde_json::{Map, Value, json};

/// Returns the method of a request or a notification.
pub(crate) fn method(message: &Value) -> Option<&str> {
    message.get("method")?.as_str()
}

/// Returns whether a message is a request or a notification of this method.
pub(crate) fn calls(message: &Value, name: &str) -> bool {
    method(message) == Some(name)
}

pub(crate) fn is_request(message: &Value) -> bool {
    message.get("method").is_some() && message.get("id").is_some()
}

pub(crate) fn is_response(message: &Value) -> bool {
    message.get("method").is_none() && message.get("id").is_some()
}

/// Returns the session of a request or a notification.
pub(crate) fn session(message: &Value) -> Option<&str> {
    message.pointer("/params/sessionId")?.as_str()
}

/// Returns the kind of a `session/update`, such as `tool_call`.
pub(crate) fn update(message: &Value) -> Option<&str> {
    message.pointer("/params/update/sessionUpdate")?.as_str()
}

/// A tool call by its session and its id.
pub(crate) type ToolCall = (String, String);

/// Returns the tool call that an update or a permission request names.
pub(crate) fn tool_call(message: &Value) -> Option<ToolCall> {
    let places = ["/params/update/toolCallId", "/params/toolCall/toolCallId", "/params/subject/toolCall/toolCallId"];
    let id = places.iter().find_map(|at| message.pointer(at)?.as_str())?;
    Some((session(message)?.to_owned(), id.to_owned()))
}

/// Returns whether an update ends its tool call.
pub(crate) fn ends_tool_call(message: &Value) -> bool {
    let status = message.pointer("/params/update/status").and_then(Value::as_str);
    update(message) == Some("tool_call_update") && matches!(status, Some("completed" | "failed"))
}

/// Returns whether a message is a request that opens a session.
pub(crate) fn opens_session(message: &Value) -> bool {
    matches!(method(message), Some("session/new" | "session/load" | "session/resume"))
}

/// Returns whether a message is the result of `session/prompt`.
pub(crate) fn ends_turn(message: &Value) -> bool {
    message.pointer("/result/stopReason").is_some()
}

pub(crate) fn result(request: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": request["id"], "result": result})
}

/// Builds the error that answers a request; a notification has `id: null`.
pub(crate) fn error(request: &Value, code: i32, message: &str, data: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": message, "data": data}})
}

/// Sets a member, or those members of it, to the wanted value wherever `replaces` accepts the current one.
pub(crate) fn replace(
    members: &mut Map<String, Value>,
    key: &str,
    wanted: &Value,
    replaces: fn(Option<&Value>) -> bool,
) {
    match (members.get_mut(key), wanted.as_object()) {
        (Some(Value::Object(found)), Some(wanted)) => {
            wanted.iter().for_each(|(key, wanted)| replace(found, key, wanted, replaces));
        }
        (found, _) if replaces(found.as_deref()) => {
            members.insert(key.to_owned(), wanted.clone());
        }
        _ => {}
    }
}
