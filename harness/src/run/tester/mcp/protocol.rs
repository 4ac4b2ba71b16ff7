//! The answers of the tester's MCP servers. Each server has one tool, which returns its input text.

use serde_json::{Value, json};

use crate::wire::{Call, Envelope};

/// The answer to a line that is not a message.
pub(super) const UNREADABLE: &str =
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"this is not a message"}}"#;

/// The MCP version in the answer to a client that asks for none.
const USUAL_VERSION: &str = "2025-06-18";

/// Returns the answer of a server to a request; `None` for any other message.
pub(super) fn answer(server: &str, message: &Value) -> Option<Value> {
    let Envelope::Call(call) = Envelope::of(message) else { return None };
    let id = call.id?;
    Some(match result(server, &call) {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err((code, message)) => {
            json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
        }
    })
}

fn result(server: &str, call: &Call<'_>) -> Result<Value, (i64, &'static str)> {
    let params = call.params.unwrap_or(&Value::Null);
    match call.method {
        "initialize" => Ok(json!({
            "protocolVersion": params.get("protocolVersion").unwrap_or(&USUAL_VERSION.into()),
            "capabilities": { "tools": {} },
            "serverInfo": { "name": format!("acp-conformance-{server}"), "version": env!("CARGO_PKG_VERSION") },
        })),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({ "tools": [tool(server)] })),
        "tools/call" if params.get("name") == Some(&tool_name(server).into()) => {
            let text = params.pointer("/arguments/text").and_then(Value::as_str).unwrap_or_default();
            Ok(json!({ "content": [{ "type": "text", "text": format!("acp-conformance-{server}: {text}") }] }))
        }
        "tools/call" => Err((-32602, "unknown tool")),
        _ => Err((-32601, "unknown method")),
    }
}

pub(in crate::run) fn tool_name(server: &str) -> String {
    format!("acp_conformance_{}", server.replace('-', "_"))
}

fn tool(server: &str) -> Value {
    json!({
        "name": tool_name(server),
        "description": "Returns its input text after a fixed mark.",
        "inputSchema": {
            "type": "object",
            "properties": { "text": { "type": "string", "description": "Any text." } },
            "required": ["text"],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(method: &str, params: Value) -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        answer("two-words", &message).expect("a request has an answer")
    }

    #[test]
    fn answers_with_the_requested_version() {
        let asked = ask("initialize", json!({ "protocolVersion": "2024-11-05" }));
        assert_eq!(asked["result"]["protocolVersion"], "2024-11-05");
        assert_eq!(ask("initialize", json!({}))["result"]["protocolVersion"], USUAL_VERSION);
    }

    #[test]
    fn listed_tool_can_be_called() {
        let name = ask("tools/list", json!({}))["result"]["tools"][0]["name"].clone();
        assert_eq!(name, "acp_conformance_two_words");
        let called = ask("tools/call", json!({ "name": name, "arguments": { "text": "é" } }));
        assert_eq!(called["result"]["content"][0]["text"], "acp-conformance-two-words: é");
        assert_eq!(ask("tools/call", json!({ "name": "other" }))["error"]["code"], -32602);
    }

    #[test]
    fn only_requests_are_answered() {
        assert_eq!(ask("resources/list", json!({}))["error"]["code"], -32601);
        for message in [json!({ "method": "notifications/initialized" }), json!({ "id": 1, "result": {} }), json!(1)] {
            assert_eq!(answer("files", &message), None);
        }
    }
}
