//! What kind of message an object is, and what is wrong with its envelope.

use serde_json::{Map, Value};

/// What an object from the agent turns out to be.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Request {
        id: Value,
        method: String,
    },
    Notification {
        method: String,
    },
    /// Names an id, and could be read as an answer, well-formed or not.
    Response {
        id: Value,
    },
    /// A request that must be refused with this code.
    Refused {
        id: Value,
        code: i32,
    },
    /// A notification that makes no sense.
    Ignored,
    /// Something that only the SDK need look at.
    Other,
}

/// Tells what an object is.
pub(super) fn kind(message: &Map<String, Value>) -> Kind {
    let id = message.get("id").filter(|id| id.is_string() || id.is_i64() || id.is_null()).cloned();
    let is_answer = message.contains_key("result") || message.contains_key("error");
    let Some(method) = message.get("method") else {
        return match id {
            Some(id) if is_answer => Kind::Response { id },
            Some(id) => Kind::Refused { id, code: -32600 },
            None => Kind::Other,
        };
    };
    let params = message.get("params");
    let has_params = params.is_none_or(|params| params.is_object() || params.is_null());
    let is_sound = message.get("jsonrpc").is_some_and(|version| version == "2.0") && !is_answer;
    let method = method.as_str().filter(|_| is_sound);
    match (method, message.contains_key("id"), id) {
        (Some(method), true, Some(id)) if has_params => Kind::Request { id, method: method.to_owned() },
        (Some(_), true, Some(id)) => Kind::Refused { id, code: -32602 },
        (None, true, Some(id)) => Kind::Refused { id, code: -32600 },
        (Some(method), false, _) if has_params => Kind::Notification { method: method.to_owned() },
        (Some(_), false, _) => Kind::Ignored,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tells_messages_apart() {
        let request = |id: Value| Kind::Request { id, method: "m".into() };
        let table = [
            (json!({"jsonrpc": "2.0", "id": 1, "method": "m"}), request(json!(1))),
            (json!({"jsonrpc": "2.0", "id": "", "method": "m", "params": null}), request(json!(""))),
            (json!({"jsonrpc": "2.0", "method": "m"}), Kind::Notification { method: "m".into() }),
            (json!({"jsonrpc": "2.0", "method": "m", "params": []}), Kind::Ignored),
            (
                json!({"jsonrpc": "2.0", "id": 1, "method": "m", "params": "x"}),
                Kind::Refused { id: json!(1), code: -32602 },
            ),
            (json!({"jsonrpc": "1.0", "id": 1, "method": "m"}), Kind::Refused { id: json!(1), code: -32600 }),
            (json!({"jsonrpc": "2.0", "id": 1, "method": 5}), Kind::Refused { id: json!(1), code: -32600 }),
            (json!({"jsonrpc": "2.0", "id": 1, "result": null}), Kind::Response { id: json!(1) }),
            (json!({"jsonrpc": "2.0", "id": 1.5, "method": "m"}), Kind::Other),
            (json!({"jsonrpc": "2.0", "id": 1}), Kind::Refused { id: json!(1), code: -32600 }),
            (json!({}), Kind::Other),
        ];
        for (message, wanted) in table {
            assert_eq!(kind(message.as_object().expect("an object")), wanted, "{message}");
        }
    }
}
