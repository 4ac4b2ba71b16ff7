//! Faults of `initialize`: the client assumes more capabilities than the agent advertised.

use serde_json::{Value, json};

use crate::message::replace;

/// Treats each null capability as advertised.
pub(super) fn null_is_support(message: &mut Value) {
    let full = json!({
        "loadSession": true,
        "promptCapabilities": {"image": true, "audio": true, "embeddedContext": true},
        "mcpCapabilities": {"http": true, "sse": true},
        "sessionCapabilities": {"list": {}, "delete": {}, "additionalDirectories": {}, "resume": {}, "close": {}},
        "auth": {"logout": {}},
    });
    if let Some(result) = message.get_mut("result").and_then(Value::as_object_mut)
        && result.get("agentCapabilities").is_some_and(Value::is_object)
    {
        replace(result, "agentCapabilities", &full, |found| found == Some(&Value::Null));
    }
}
