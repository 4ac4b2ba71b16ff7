//! OpenAI responses.

use serde_json::{Value, json};

use super::{Dialect, StreamPiece, arguments_in, event, items, text_at, text_of};
use crate::model::answer::{AnswerPart, Finish, ModelAnswer, ToolUse, tokens};
use crate::model::ask::{Ask, ModelTurn, Tool, ToolResult};

/// `POST …/responses`.
#[derive(Debug, Clone, Copy)]
pub struct Responses;

impl Dialect for Responses {
    fn name(&self) -> &'static str {
        "responses"
    }

    fn read(&self, body: &Value) -> Ask {
        let format = body.pointer("/text/format");
        let mut ask = Ask {
            model: text_at(body, "model").to_owned(),
            stream: body.get("stream") == Some(&Value::Bool(true)),
            system: text_of(body.get("instructions")),
            tools: items(body.get("tools")).flat_map(tools).collect(),
            format: format.and_then(wanted),
            ..Ask::default()
        };
        if let Some(text) = body.get("input").and_then(Value::as_str) {
            ask.turns.push(ModelTurn::User(text.to_owned()));
        }
        for item in items(body.get("input")) {
            add(&mut ask, item);
        }
        ask
    }

    fn whole(&self, ask: &Ask, answer: &ModelAnswer) -> Value {
        let output = answer.parts.iter().enumerate().map(|(at, part)| item(ask, answer, at, part)).collect();
        response(ask, Some(answer), output)
    }

    fn stream(&self, ask: &Ask, answer: &ModelAnswer) -> Vec<StreamPiece> {
        let mut pieces = vec![
            event("response.created", json!({ "response": response(ask, None, Vec::new()) })),
            event("response.in_progress", json!({ "response": response(ask, None, Vec::new()) })),
        ];
        for (at, part) in answer.parts.iter().enumerate() {
            let whole = item(ask, answer, at, part);
            let begun = json!({ "output_index": at, "item": empty(&whole) });
            pieces.push(event("response.output_item.added", begun));
            pieces.extend(inside(at, part, answer.finish, &whole));
            pieces.push(event("response.output_item.done", json!({ "output_index": at, "item": whole })));
        }
        let end = if answer.finish == Finish::Length { "response.incomplete" } else { "response.completed" };
        pieces.push(event(end, json!({ "response": self.whole(ask, answer) })));
        for (number, piece) in pieces.iter_mut().enumerate() {
            piece.data["sequence_number"] = number.into();
        }
        pieces
    }

    fn failure(&self, status: u16, message: &str) -> Value {
        super::chat::Chat.failure(status, message)
    }
}

/// Reads the tools of one entry, which may be a group.
fn tools(entry: &Value) -> Vec<Tool> {
    let name = text_at(entry, "name").to_owned();
    let description = text_at(entry, "description").to_owned();
    let schema = || entry.get("parameters").cloned().unwrap_or_else(|| json!({}));
    match text_at(entry, "type") {
        "function" => vec![Tool { name, group: None, description, schema: Some(schema()) }],
        "custom" => vec![Tool { name, group: None, description, schema: None }],
        "namespace" => {
            let mut inside: Vec<Tool> = items(entry.get("tools")).flat_map(tools).collect();
            inside.iter_mut().for_each(|tool| tool.group = Some(name.clone()));
            inside
        }
        _ => Vec::new(),
    }
}

/// Returns the schema of an answer in JSON.
fn wanted(format: &Value) -> Option<Value> {
    match text_at(format, "type") {
        "json_schema" => Some(format.get("schema").cloned().unwrap_or_else(|| json!({}))),
        "json_object" => Some(json!({})),
        _ => None,
    }
}

/// Adds an item of the input to the request.
fn add(ask: &mut Ask, item: &Value) {
    match text_at(item, "type") {
        "" | "message" => {
            let text = text_of(item.get("content"));
            match text_at(item, "role") {
                "system" | "developer" => ask.system.push_str(&text),
                "user" => ask.turns.push(ModelTurn::User(text)),
                "assistant" => ask.turns.push(ModelTurn::Model(Vec::new())),
                _ => {}
            }
        }
        "function_call" | "custom_tool_call" => ask.push_call(call(item)),
        "function_call_output" | "custom_tool_call_output" => {
            let text = text_of(item.get("output"));
            ask.turns.push(ModelTurn::Result(ToolResult { call: text_at(item, "call_id").to_owned(), text }));
        }
        "additional_tools" => ask.tools.extend(items(item.get("tools")).flat_map(tools)),
        _ => {}
    }
}

fn call(item: &Value) -> ToolUse {
    let input = item.get("input").cloned();
    ToolUse {
        id: text_at(item, "call_id").to_owned(),
        name: text_at(item, "name").to_owned(),
        group: item.get("namespace").and_then(Value::as_str).map(str::to_owned),
        arguments: input.unwrap_or_else(|| arguments_in(text_at(item, "arguments"))),
    }
}

/// Builds an item of the output.
fn item(ask: &Ask, answer: &ModelAnswer, at: usize, part: &AnswerPart) -> Value {
    let id = |kind: &str| format!("{kind}_{}_{at}", ask.number);
    match part {
        AnswerPart::Thought(texts) => json!({
            "id": id("rs"), "type": "reasoning",
            "summary": [{ "type": "summary_text", "text": texts.concat() }],
        }),
        AnswerPart::Text(texts) => json!({
            "id": id("msg"), "type": "message", "role": "assistant", "status": status(answer.finish),
            "content": [content(answer.finish, &texts.concat())],
        }),
        // A tool that takes free text has another kind of call.
        AnswerPart::Call(ToolUse { id: call, name, arguments: Value::String(input), .. }) => json!({
            "id": id("ctc"), "type": "custom_tool_call", "status": "completed", "call_id": call, "name": name, "input": input,
        }),
        AnswerPart::Call(call) => {
            let mut item = json!({
                "id": id("fc"), "type": "function_call", "status": "completed", "call_id": call.id, "name": call.name,
                "arguments": call.arguments_text(),
            });
            if let Some(group) = &call.group {
                item["namespace"] = group.as_str().into();
            }
            item
        }
    }
}

/// Builds a content part of a message.
fn content(finish: Finish, text: &str) -> Value {
    match finish {
        Finish::Refusal => json!({ "type": "refusal", "refusal": text }),
        _ => json!({ "type": "output_text", "text": text, "annotations": [], "logprobs": [] }),
    }
}

/// Builds an item as it begins in a stream.
fn empty(item: &Value) -> Value {
    let mut item = item.clone();
    for (member, nothing) in
        [("content", json!([])), ("summary", json!([])), ("arguments", json!("")), ("input", json!(""))]
    {
        if item.get(member).is_some() {
            item[member] = nothing;
        }
    }
    if item.get("status").is_some() {
        item["status"] = "in_progress".into();
    }
    item
}

/// Returns the events between the begin and the end of an item.
fn inside(at: usize, part: &AnswerPart, finish: Finish, item: &Value) -> Vec<StreamPiece> {
    let id = text_at(item, "id");
    let at_item = |name: &'static str, mut data: Value| {
        data["item_id"] = id.into();
        data["output_index"] = at.into();
        event(name, data)
    };
    let mut pieces = Vec::new();
    match part {
        AnswerPart::Thought(texts) => {
            let part = json!({ "summary_index": 0, "part": { "type": "summary_text", "text": "" } });
            pieces.push(at_item("response.reasoning_summary_part.added", part));
            let delta = "response.reasoning_summary_text.delta";
            pieces.extend(texts.iter().map(|text| at_item(delta, json!({ "summary_index": 0, "delta": text }))));
            let text = texts.concat();
            let done = json!({ "summary_index": 0, "text": text });
            pieces.push(at_item("response.reasoning_summary_text.done", done));
            let part = json!({ "summary_index": 0, "part": { "type": "summary_text", "text": text } });
            pieces.push(at_item("response.reasoning_summary_part.done", part));
        }
        AnswerPart::Text(texts) => {
            let (delta, done, member) = match finish {
                Finish::Refusal => ("response.refusal.delta", "response.refusal.done", "refusal"),
                _ => ("response.output_text.delta", "response.output_text.done", "text"),
            };
            let part = |text: &str| json!({ "content_index": 0, "part": content(finish, text) });
            pieces.push(at_item("response.content_part.added", part("")));
            let said = |text: &String| json!({ "content_index": 0, "delta": text, "logprobs": [] });
            pieces.extend(texts.iter().map(|text| at_item(delta, said(text)).paced()));
            let text = texts.concat();
            pieces.push(at_item(done, json!({ "content_index": 0, member: text, "logprobs": [] })));
            pieces.push(at_item("response.content_part.done", part(&text)));
        }
        AnswerPart::Call(call) => {
            let (delta, done, member) = match &call.arguments {
                Value::String(_) => {
                    ("response.custom_tool_call_input.delta", "response.custom_tool_call_input.done", "input")
                }
                _ => ("response.function_call_arguments.delta", "response.function_call_arguments.done", "arguments"),
            };
            let text = call.arguments_text();
            pieces.push(at_item(delta, json!({ "delta": text })));
            pieces.push(at_item(done, json!({ member: text, "name": call.name })));
        }
    }
    pieces
}

/// Builds the response so far; without an answer it has just begun.
fn response(ask: &Ask, answer: Option<&ModelAnswer>, output: Vec<Value>) -> Value {
    let finish = answer.map(|answer| answer.finish);
    let usage = answer.map(|answer| {
        let (input, said) = (tokens(ask.size()), answer.tokens());
        json!({
            "input_tokens": input, "output_tokens": said, "total_tokens": input + said,
            "input_tokens_details": { "cached_tokens": 0 }, "output_tokens_details": { "reasoning_tokens": 0 },
        })
    });
    let incomplete = (finish == Some(Finish::Length)).then(|| json!({ "reason": "max_output_tokens" }));
    json!({
        "id": format!("resp_{}", ask.number), "object": "response", "created_at": 0, "model": ask.model,
        "status": finish.map_or("in_progress", status), "error": null, "incomplete_details": incomplete, "output": output,
        "instructions": null, "metadata": {}, "parallel_tool_calls": true, "temperature": 1.0, "tool_choice": "auto",
        "tools": [], "top_p": 1.0, "usage": usage,
    })
}

const fn status(finish: Finish) -> &'static str {
    if matches!(finish, Finish::Length) { "incomplete" } else { "completed" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_calls_are_one_turn() {
        let ask = Responses.read(&json!({
            "model": "m", "instructions": "Be good.", "stream": true,
            "input": [
                { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Do it." }] },
                { "type": "reasoning", "summary": [] },
                { "type": "function_call", "call_id": "1", "name": "read", "arguments": "{}", "namespace": "mcp" },
                { "type": "custom_tool_call", "call_id": "2", "name": "apply_patch", "input": "{}" },
                { "type": "function_call_output", "call_id": "1", "output": "alpha" },
                { "type": "custom_tool_call_output", "call_id": "2", "output": [{ "type": "input_text", "text": "beta" }] },
            ],
            "tools": [
                { "type": "namespace", "name": "mcp", "tools": [{ "type": "function", "name": "read" }] },
                { "type": "custom", "name": "apply_patch" }, { "type": "web_search" },
            ],
        }));
        let named = |id: &str, name: &str| ToolUse { id: id.to_owned(), name: name.to_owned(), ..ToolUse::default() };
        let read = ToolUse { group: Some("mcp".to_owned()), arguments: json!({}), ..named("1", "read") };
        let patch = ToolUse { arguments: json!("{}"), ..named("2", "apply_patch") };
        let result =
            |call: &str, text: &str| ModelTurn::Result(ToolResult { call: call.to_owned(), text: text.to_owned() });
        let user = ModelTurn::User("Do it.".to_owned());
        assert_eq!(ask.turns, [user, ModelTurn::Model(vec![read, patch]), result("1", "alpha"), result("2", "beta")]);
        let tools: Vec<_> = ask.tools.iter().map(|tool| (tool.name.as_str(), tool.group.as_deref())).collect();
        assert_eq!(tools, [("read", Some("mcp")), ("apply_patch", None)]);
    }

    #[test]
    fn stream_equals_the_whole_answer() {
        let call = |arguments: Value| AnswerPart::Call(ToolUse { id: "1".to_owned(), arguments, ..ToolUse::default() });
        let text = |text: &str| vec![text.to_owned(), " more".to_owned()];
        let parts = vec![
            AnswerPart::Thought(text("Hm")),
            AnswerPart::Text(text("a")),
            call(json!({ "a": 1 })),
            call(json!("patch")),
        ];
        for finish in [Finish::Calls, Finish::Refusal, Finish::Length] {
            let answer = ModelAnswer { parts: parts.clone(), finish, pace: std::time::Duration::ZERO };
            let whole = Responses.whole(&Ask::default(), &answer);
            let pieces = Responses.stream(&Ask::default(), &answer);
            let done = pieces.iter().filter(|piece| piece.name == Some("response.output_item.done"));
            assert_eq!(Value::from_iter(done.map(|piece| piece.data["item"].clone())), whole["output"]);
            let joined = |at: usize| {
                let of_item = pieces.iter().filter(move |piece| piece.data["output_index"] == at);
                of_item.filter_map(|piece| piece.data.get("delta")?.as_str()).collect::<String>()
            };
            assert_eq!(joined(0), whole["output"][0]["summary"][0]["text"]);
            let member = if finish == Finish::Refusal { "refusal" } else { "text" };
            assert_eq!(joined(1), whole["output"][1]["content"][0][member]);
            assert_eq!((joined(2), joined(3)), (r#"{"a":1}"#.to_owned(), "patch".to_owned()));
            assert_eq!(pieces.last().map(|piece| &piece.data["response"]), Some(&whole));
        }
    }
}
