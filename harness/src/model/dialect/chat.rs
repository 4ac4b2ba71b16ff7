//! OpenAI chat completions, which many other vendors offer as well.

use serde_json::{Value, json};

use super::{Dialect, StreamPiece, arguments_in, items, text_at, text_of};
use crate::model::answer::{AnswerPart, Finish, ModelAnswer, ToolUse, tokens};
use crate::model::ask::{Ask, ModelTurn, Tool, ToolResult};

/// `POST …/chat/completions`.
#[derive(Debug, Clone, Copy)]
pub struct Chat;

/// The end mark of a stream.
pub const DONE: &str = "[DONE]";

impl Dialect for Chat {
    fn name(&self) -> &'static str {
        "chat completions"
    }

    fn read(&self, body: &Value) -> Ask {
        let mut ask = Ask {
            model: text_at(body, "model").to_owned(),
            stream: body.get("stream") == Some(&Value::Bool(true)),
            tools: items(body.get("tools")).filter_map(tool).collect(),
            format: body.get("response_format").and_then(format),
            ..Ask::default()
        };
        for message in items(body.get("messages")) {
            let text = text_of(message.get("content"));
            match text_at(message, "role") {
                "system" | "developer" => ask.system.push_str(&text),
                "user" => ask.turns.push(ModelTurn::User(text)),
                "assistant" => ask.turns.push(ModelTurn::Model(items(message.get("tool_calls")).map(call).collect())),
                "tool" => {
                    ask.turns.push(ModelTurn::Result(ToolResult {
                        call: text_at(message, "tool_call_id").to_owned(),
                        text,
                    }));
                }
                _ => {}
            }
        }
        ask
    }

    fn whole(&self, ask: &Ask, answer: &ModelAnswer) -> Value {
        let mut message = json!({ "role": "assistant", "content": answer.said(), "refusal": null });
        let calls: Vec<Value> = answer.calls().map(|call| written(call, call.arguments_text())).collect();
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        if !answer.thought().is_empty() {
            message["reasoning_content"] = answer.thought().into();
        }
        let choice =
            json!({ "index": 0, "message": message, "logprobs": null, "finish_reason": reason(answer.finish) });
        envelope(ask, "chat.completion", &json!([choice]), Some(usage(ask, answer)))
    }

    fn stream(&self, ask: &Ask, answer: &ModelAnswer) -> Vec<StreamPiece> {
        let chunk = |delta: Value, finish: Option<&str>| {
            let choices = json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish }]);
            StreamPiece::new(envelope(ask, "chat.completion.chunk", &choices, None))
        };
        let mut pieces = vec![chunk(json!({ "role": "assistant", "content": "" }), None)];
        let mut calls = 0;
        for part in &answer.parts {
            match part {
                AnswerPart::Thought(texts) => {
                    pieces.extend(texts.iter().map(|text| chunk(json!({ "reasoning_content": text }), None)));
                }
                AnswerPart::Text(texts) => {
                    pieces.extend(texts.iter().map(|text| chunk(json!({ "content": text }), None).paced()));
                }
                AnswerPart::Call(call) => {
                    let mut begin = written(call, String::new());
                    begin["index"] = calls.into();
                    pieces.push(chunk(json!({ "tool_calls": [begin] }), None));
                    let more = json!({ "index": calls, "function": { "arguments": call.arguments_text() } });
                    pieces.push(chunk(json!({ "tool_calls": [more] }), None));
                    calls += 1;
                }
            }
        }
        pieces.push(chunk(json!({}), Some(reason(answer.finish))));
        // Clients that did not ask for it ignore it.
        pieces.push(StreamPiece::new(envelope(ask, "chat.completion.chunk", &json!([]), Some(usage(ask, answer)))));
        pieces.push(StreamPiece::new(DONE.into()));
        pieces
    }

    fn failure(&self, status: u16, message: &str) -> Value {
        let kind = if status == 429 {
            "rate_limit_exceeded"
        } else if status < 500 {
            "invalid_request_error"
        } else {
            "server_error"
        };
        json!({ "error": { "message": message, "type": kind, "param": null, "code": null } })
    }
}

fn tool(tool: &Value) -> Option<Tool> {
    let function = tool.get("function")?;
    let schema = function.get("parameters").cloned().unwrap_or_else(|| json!({}));
    let description = text_at(function, "description").to_owned();
    Some(Tool { name: function.get("name")?.as_str()?.to_owned(), group: None, description, schema: Some(schema) })
}

/// Returns the schema of an answer in JSON.
fn format(wanted: &Value) -> Option<Value> {
    match text_at(wanted, "type") {
        "json_schema" => Some(wanted.pointer("/json_schema/schema").cloned().unwrap_or_else(|| json!({}))),
        "json_object" => Some(json!({})),
        _ => None,
    }
}

fn call(call: &Value) -> ToolUse {
    let function = call.get("function").unwrap_or(&Value::Null);
    ToolUse {
        id: text_at(call, "id").to_owned(),
        name: text_at(function, "name").to_owned(),
        arguments: arguments_in(text_at(function, "arguments")),
        ..ToolUse::default()
    }
}

fn written(call: &ToolUse, arguments: String) -> Value {
    json!({ "id": call.id, "type": "function", "function": { "name": call.name, "arguments": arguments } })
}

fn envelope(ask: &Ask, object: &str, choices: &Value, usage: Option<Value>) -> Value {
    let id = format!("chatcmpl-{}", ask.number);
    let mut body = json!({ "id": id, "object": object, "created": 0, "model": ask.model, "choices": choices });
    if let Some(usage) = usage {
        body["usage"] = usage;
    }
    body
}

fn usage(ask: &Ask, answer: &ModelAnswer) -> Value {
    let (prompt, completion) = (tokens(ask.size()), answer.tokens());
    json!({ "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion })
}

const fn reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::Calls => "tool_calls",
        Finish::Length => "length",
        Finish::Refusal => "content_filter",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_conversation_with_a_tool() {
        let ask = Chat.read(&json!({
            "model": "m", "stream": true,
            "messages": [
                { "role": "system", "content": "Be good." },
                { "role": "user", "content": [{ "type": "text", "text": "Do it." }, { "type": "image_url" }] },
                { "role": "assistant", "content": null, "tool_calls": [
                    { "id": "call_1", "type": "function", "function": { "name": "read", "arguments": "{\"path\":\"/a\"}" } },
                ] },
                { "role": "tool", "tool_call_id": "call_1", "content": "alpha" },
            ],
            "tools": [{ "type": "function", "function": { "name": "read", "parameters": { "type": "object" } } }, 5],
        }));
        let call = ToolUse {
            id: "call_1".to_owned(),
            name: "read".to_owned(),
            group: None,
            arguments: json!({ "path": "/a" }),
        };
        let result = ToolResult { call: "call_1".to_owned(), text: "alpha".to_owned() };
        let turns = vec![ModelTurn::User("Do it.".to_owned()), ModelTurn::Model(vec![call]), ModelTurn::Result(result)];
        let schema = Some(json!({ "type": "object" }));
        let tools = vec![Tool { name: "read".to_owned(), group: None, description: String::new(), schema }];
        let expected = Ask {
            number: 0,
            model: "m".to_owned(),
            stream: true,
            system: "Be good.".to_owned(),
            turns,
            tools,
            format: None,
        };
        assert_eq!(ask, expected);
    }

    #[test]
    fn stream_equals_the_whole_answer() {
        let call = ToolUse {
            id: "call_1".to_owned(),
            name: "read".to_owned(),
            group: None,
            arguments: json!({ "path": "/a" }),
        };
        let parts = vec![AnswerPart::Text(vec!["Let".to_owned(), " me.".to_owned()]), AnswerPart::Call(call)];
        let answer = ModelAnswer { parts, finish: Finish::Calls, pace: std::time::Duration::ZERO };
        let ask = Ask::default();
        let whole = Chat.whole(&ask, &answer);
        let deltas: Vec<Value> = Chat.stream(&ask, &answer).into_iter().map(|piece| piece.data).collect();
        let joined =
            |pointer: &str| deltas.iter().filter_map(|data| data.pointer(pointer)?.as_str()).collect::<String>();
        assert_eq!(joined("/choices/0/delta/content"), whole["choices"][0]["message"]["content"]);
        let arguments = "/choices/0/delta/tool_calls/0/function/arguments";
        let function = &whole["choices"][0]["message"]["tool_calls"][0]["function"];
        assert_eq!(joined(arguments), function["arguments"]);
        assert_eq!(joined("/choices/0/finish_reason"), whole["choices"][0]["finish_reason"]);
        assert_eq!(deltas.last(), Some(&json!(DONE)));
    }
}
