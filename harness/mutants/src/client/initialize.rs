//! Faults of `initialize`: the client assumes more capabilities than the agent advertised.

use serde_json::{Value, json};

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
