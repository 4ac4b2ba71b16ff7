//! Anthropic messages.

use serde_json::{Value, json};

use super::{Dialect, StreamPiece, event, items, text_at, text_of};
use crate::model::answer::{AnswerPart, Finish, ModelAnswer, ToolUse, tokens};
use crate::model::ask::{Ask, ModelTurn, Tool, ToolResult};

/// `POST …/messages`.
#[derive(Debug, Clone, Copy)]
pub struct Messages;

impl Dialect for Messages {
    fn name(&self) -> &'static str {
        "messages"
    }

    fn read(&self, body: &Value) -> Ask {
        let format = ["/output_config/format", "/output_format"].iter().find_map(|path| body.pointer(path));
        let mut ask = Ask {
            model: text_at(body, "model").to_owned(),
            stream: body.get("stream") == Some(&Value::Bool(true)),
            system: text_of(body.get("system")),
            tools: items(body.get("tools")).filter_map(tool).collect(),
            format: format.and_then(|format| format.get("schema").cloned()),
            ..Ask::default()
        };
        for message in items(body.get("messages")) {
            let content = message.get("content");
            match text_at(message, "role") {
                "user" => {
                    let results = items(content).filter(|block| text_at(block, "type") == "tool_result");
                    ask.turns.extend(results.map(|block| ModelTurn::Result(result(block))));
                    let said = text_of(content);
                    if !said.is_empty() {
                        ask.turns.push(ModelTurn::User(said));
                    }
                }
                "assistant" => {
                    let calls = items(content).filter(|block| text_at(block, "type") == "tool_use");
                    ask.turns.push(ModelTurn::Model(calls.map(call).collect()));
                }
                "system" => ask.system.push_str(&text_of(content)),
                _ => {}
            }
        }
        ask
    }

    fn whole(&self, ask: &Ask, answer: &ModelAnswer) -> Value {
        let content: Vec<Value> = answer.parts.iter().map(block).collect();
        let mut message = opened(ask);
        message["content"] = content.into();
        message["stop_reason"] = reason(answer.finish).into();
        message["usage"]["output_tokens"] = answer.tokens().into();
        message
    }

    fn stream(&self, ask: &Ask, answer: &ModelAnswer) -> Vec<StreamPiece> {
        let mut pieces = vec![event("message_start", json!({ "message": opened(ask) }))];
        for (index, part) in answer.parts.iter().enumerate() {
            let delta = |delta: Value| event("content_block_delta", json!({ "index": index, "delta": delta }));
            pieces.push(event("content_block_start", json!({ "index": index, "content_block": empty(part) })));
            match part {
                AnswerPart::Thought(texts) => {
                    pieces.extend(texts.iter().map(|t| delta(json!({ "type": "thinking_delta", "thinking": t }))));
                    pieces.push(delta(json!({ "type": "signature_delta", "signature": SIGNATURE })));
                }
                AnswerPart::Text(texts) => {
                    pieces.extend(texts.iter().map(|t| delta(json!({ "type": "text_delta", "text": t })).paced()));
                }
                AnswerPart::Call(call) => {
                    let arguments = call.arguments.to_string();
                    pieces.push(delta(json!({ "type": "input_json_delta", "partial_json": arguments })));
                }
            }
            pieces.push(event("content_block_stop", json!({ "index": index })));
        }
        let end = json!({
            "delta": { "stop_reason": reason(answer.finish), "stop_sequence": null },
            "usage": { "output_tokens": answer.tokens() },
        });
        pieces.extend([event("message_delta", end), event("message_stop", json!({}))]);
        pieces
    }

    fn failure(&self, status: u16, message: &str) -> Value {
        let kind = match status {
            401 => "authentication_error",
            404 => "not_found_error",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            400..500 => "invalid_request_error",
            _ => "api_error",
        };
        json!({ "type": "error", "error": { "type": kind, "message": message } })
    }
}

/// Builds the answer with the number of tokens of a request.
pub fn count(tokens: u64) -> Value {
    json!({ "input_tokens": tokens })
}

/// The signature of a thought, which only its maker can check.
const SIGNATURE: &str = "c2NyaXB0ZWQ=";

/// Reads a tool of the agent; tools that the maker of the model runs have no schema.
fn tool(tool: &Value) -> Option<Tool> {
    let schema = tool.get("input_schema")?.clone();
    let description = text_at(tool, "description").to_owned();
    Some(Tool { name: tool.get("name")?.as_str()?.to_owned(), group: None, description, schema: Some(schema) })
}

fn call(block: &Value) -> ToolUse {
    ToolUse {
        id: text_at(block, "id").to_owned(),
        name: text_at(block, "name").to_owned(),
        group: None,
        arguments: block.get("input").cloned().unwrap_or_default(),
    }
}

fn result(block: &Value) -> ToolResult {
    ToolResult { call: text_at(block, "tool_use_id").to_owned(), text: text_of(block.get("content")) }
}

fn block(part: &AnswerPart) -> Value {
    match part {
        AnswerPart::Thought(texts) => json!({ "type": "thinking", "thinking": texts.concat(), "signature": SIGNATURE }),
        AnswerPart::Text(texts) => json!({ "type": "text", "text": texts.concat() }),
        AnswerPart::Call(call) => {
            json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments })
        }
    }
}

/// Builds a block as it begins in a stream.
fn empty(part: &AnswerPart) -> Value {
    match part {
        AnswerPart::Thought(_) => json!({ "type": "thinking", "thinking": "", "signature": "" }),
        AnswerPart::Text(_) => json!({ "type": "text", "text": "" }),
        AnswerPart::Call(call) => json!({ "type": "tool_use", "id": call.id, "name": call.name, "input": {} }),
    }
}

/// Builds a message without content.
fn opened(ask: &Ask) -> Value {
    let usage = json!({
        "input_tokens": tokens(ask.size()), "output_tokens": 0,
        "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
    });
    json!({
        "id": format!("msg_{}", ask.number), "type": "message", "role": "assistant", "model": ask.model,
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage,
    })
}

const fn reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "end_turn",
        Finish::Calls => "tool_use",
        Finish::Length => "max_tokens",
        Finish::Refusal => "refusal",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_precede_user_text_and_system_messages_are_no_turn() {
        let ask = Messages.read(&json!({
            "model": "m", "system": [{ "type": "text", "text": "Be good." }],
            "messages": [
                { "role": "user", "content": "Do it." },
                { "role": "assistant", "content": [
                    { "type": "text", "text": "I will." }, { "type": "tool_use", "id": "t", "name": "Read", "input": {} },
                ] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "t", "content": [{ "type": "text", "text": "alpha" }] },
                    { "type": "text", "text": "A reminder." },
                ] },
                { "role": "system", "content": "More." },
            ],
            "tools": [{ "name": "Read", "input_schema": {} }, { "type": "web_search_20250305", "name": "web_search" }],
        }));
        let call = ToolUse { id: "t".to_owned(), name: "Read".to_owned(), group: None, arguments: json!({}) };
        let result = ToolResult { call: "t".to_owned(), text: "alpha".to_owned() };
        let user = |text: &str| ModelTurn::User(text.to_owned());
        assert_eq!(
            ask.turns,
            [user("Do it."), ModelTurn::Model(vec![call]), ModelTurn::Result(result), user("A reminder.")]
        );
        assert_eq!((ask.system.as_str(), ask.tools.len(), ask.stream), ("Be good.More.", 1, false));
    }

    #[test]
    fn stream_equals_the_whole_answer() {
        let call =
            ToolUse { id: "t".to_owned(), name: "Read".to_owned(), group: None, arguments: json!({ "a": "é" }) };
        let parts = vec![
            AnswerPart::Thought(vec!["Hm".to_owned()]),
            AnswerPart::Text(vec!["a".to_owned(), "b".to_owned()]),
            AnswerPart::Call(call),
        ];
        let answer = ModelAnswer { parts, finish: Finish::Calls, pace: std::time::Duration::ZERO };
        let whole = Messages.whole(&Ask::default(), &answer);
        let pieces = Messages.stream(&Ask::default(), &answer);
        let joined = |member: &str| {
            pieces.iter().filter_map(|piece| piece.data.get("delta")?.get(member)?.as_str()).collect::<String>()
        };
        assert_eq!(joined("text"), whole["content"][1]["text"]);
        assert_eq!(joined("thinking"), whole["content"][0]["thinking"]);
        assert_eq!(joined("partial_json"), whole["content"][2]["input"].to_string());
        assert_eq!(joined("stop_reason"), whole["stop_reason"]);
        assert!(pieces.iter().all(|piece| piece.data["type"].as_str() == piece.name));
    }
}
