//! Gemini `generateContent`.

use serde_json::{Value, json};

use super::{Dialect, StreamPiece, items, text_at, text_of};
use crate::model::answer::{AnswerPart, Finish, ModelAnswer, ToolUse, tokens};
use crate::model::ask::{Ask, ModelTurn, Tool, ToolResult};

/// `POST …/models/NAME:generateContent` and `:streamGenerateContent`.
#[derive(Debug, Clone, Copy)]
pub struct Gemini;

impl Dialect for Gemini {
    fn name(&self) -> &'static str {
        "generateContent"
    }

    fn read(&self, body: &Value) -> Ask {
        let config = member(body, "generationConfig").unwrap_or(&Value::Null);
        let wants_json = member(config, "responseMimeType").is_some_and(|kind| kind == "application/json");
        let schema = ["responseJsonSchema", "responseSchema"].iter().find_map(|name| member(config, name)).cloned();
        let mut ask = Ask {
            system: text_of(member(body, "systemInstruction").and_then(|content| content.get("parts"))),
            tools: items(body.get("tools"))
                .flat_map(|group| items(member(group, "functionDeclarations")).filter_map(tool))
                .collect(),
            format: wants_json.then(|| schema.unwrap_or_else(|| json!({}))),
            ..Ask::default()
        };
        for content in items(body.get("contents")) {
            let parts = content.get("parts");
            if text_at(content, "role") == "model" {
                let calls = items(parts).filter_map(|part| member(part, "functionCall"));
                ask.turns.push(ModelTurn::Model(calls.map(call).collect()));
                continue;
            }
            let results = items(parts).filter_map(|part| member(part, "functionResponse"));
            ask.turns.extend(results.map(|response| ModelTurn::Result(result(response))));
            let said = text_of(parts);
            if !said.is_empty() {
                ask.turns.push(ModelTurn::User(said));
            }
        }
        ask
    }

    fn whole(&self, ask: &Ask, answer: &ModelAnswer) -> Value {
        chunk(ask, answer, &answer.parts.iter().map(whole).collect::<Vec<_>>(), Some(answer.finish))
    }

    fn stream(&self, ask: &Ask, answer: &ModelAnswer) -> Vec<StreamPiece> {
        let mut pieces = Vec::new();
        for part in &answer.parts {
            let said = |part: Value| StreamPiece::new(chunk(ask, answer, &[part], None));
            match part {
                AnswerPart::Thought(texts) => pieces.extend(texts.iter().map(|text| said(thought(text)))),
                AnswerPart::Text(texts) => {
                    pieces.extend(texts.iter().map(|text| said(json!({ "text": text })).paced()))
                }
                AnswerPart::Call(_) => pieces.push(said(whole(part))),
            }
        }
        pieces.push(StreamPiece::new(chunk(ask, answer, &[json!({ "text": "" })], Some(answer.finish))));
        pieces
    }

    fn failure(&self, status: u16, message: &str) -> Value {
        let name = match status {
            400 => "INVALID_ARGUMENT",
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            429 => "RESOURCE_EXHAUSTED",
            503 => "UNAVAILABLE",
            _ => "INTERNAL",
        };
        json!({ "error": { "code": status, "message": message, "status": name } })
    }
}

/// Builds the answer with the number of tokens of a request.
pub fn count(tokens: u64) -> Value {
    json!({ "totalTokens": tokens })
}

fn tool(declaration: &Value) -> Option<Tool> {
    let schema = ["parametersJsonSchema", "parameters"].iter().find_map(|name| member(declaration, name));
    let schema = Some(schema.cloned().unwrap_or_else(|| json!({})));
    let description = text_at(declaration, "description").to_owned();
    Some(Tool { name: declaration.get("name")?.as_str()?.to_owned(), group: None, description, schema })
}

fn call(call: &Value) -> ToolUse {
    ToolUse {
        id: text_at(call, "id").to_owned(),
        name: text_at(call, "name").to_owned(),
        group: None,
        arguments: call.get("args").cloned().unwrap_or_default(),
    }
}

/// Reads the result of a tool: by custom its output or its error as text, or else the whole object.
fn result(response: &Value) -> ToolResult {
    let said = response.get("response").unwrap_or(&Value::Null);
    let text = ["output", "error", "result"].iter().find_map(|name| said.get(name)?.as_str());
    ToolResult { call: text_at(response, "id").to_owned(), text: text.map_or_else(|| said.to_string(), str::to_owned) }
}

fn thought(text: &str) -> Value {
    json!({ "text": text, "thought": true })
}

fn whole(part: &AnswerPart) -> Value {
    match part {
        AnswerPart::Thought(texts) => thought(&texts.concat()),
        AnswerPart::Text(texts) => json!({ "text": texts.concat() }),
        AnswerPart::Call(call) => {
            json!({ "functionCall": { "id": call.id, "name": call.name, "args": call.arguments } })
        }
    }
}

fn chunk(ask: &Ask, answer: &ModelAnswer, parts: &[Value], finish: Option<Finish>) -> Value {
    let (prompt, said) = (tokens(ask.size()), answer.tokens());
    let mut candidate = json!({ "content": { "role": "model", "parts": parts }, "index": 0 });
    if let Some(finish) = finish {
        candidate["finishReason"] = reason(finish).into();
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": { "promptTokenCount": prompt, "candidatesTokenCount": said, "totalTokenCount": prompt + said },
        "modelVersion": crate::model::NAME,
        "responseId": format!("response-{}", ask.number),
    })
}

/// Returns the reason for the end. Calls have no reason of their own.
const fn reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop | Finish::Calls => "STOP",
        Finish::Length => "MAX_TOKENS",
        Finish::Refusal => "SAFETY",
    }
}

/// Returns a member by its name, or by the same name with `_` between the words, since the API accepts both.
fn member<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    let other = || {
        name.chars().fold(String::new(), |mut other, c| {
            if c.is_ascii_uppercase() {
                other.push('_');
            }
            other.push(c.to_ascii_lowercase());
            other
        })
    };
    value.get(name).or_else(|| value.get(other()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_a_conversation_with_a_tool() {
        let ask = Gemini.read(&json!({
            "systemInstruction": { "parts": [{ "text": "Be good." }] },
            "contents": [
                { "role": "user", "parts": [{ "text": "Context." }, { "text": "Do it." }] },
                { "role": "model", "parts": [{ "functionCall": { "id": "c", "name": "read", "args": { "a": 1 } } }] },
                { "role": "user", "parts": [{ "functionResponse": { "id": "c", "response": { "output": "alpha" } } }] },
            ],
            "tools": [{ "function_declarations": [{ "name": "read", "parameters_json_schema": { "type": "object" } }] }],
        }));
        let call = ToolUse { id: "c".to_owned(), name: "read".to_owned(), group: None, arguments: json!({ "a": 1 }) };
        let result = ToolResult { call: "c".to_owned(), text: "alpha".to_owned() };
        let user = ModelTurn::User("Context.\nDo it.".to_owned());
        assert_eq!(ask.turns, [user, ModelTurn::Model(vec![call]), ModelTurn::Result(result)]);
        assert_eq!((ask.system.as_str(), ask.tools[0].name.as_str(), &ask.format), ("Be good.", "read", &None));
        let wanted =
            json!({ "generationConfig": { "responseMimeType": "application/json", "responseSchema": { "a": 1 } } });
        assert_eq!(Gemini.read(&wanted).format, Some(json!({ "a": 1 })));
    }

    #[test]
    fn stream_equals_the_whole_answer() {
        let parts =
            vec![AnswerPart::Thought(vec!["Hm".to_owned()]), AnswerPart::Text(vec!["a".to_owned(), " b".to_owned()])];
        let answer = ModelAnswer { parts, finish: Finish::Length, pace: std::time::Duration::ZERO };
        let pieces = Gemini.stream(&Ask::default(), &answer);
        let part =
            |piece: &StreamPiece| piece.data.pointer("/candidates/0/content/parts/0").cloned().unwrap_or_default();
        let joined = |thought: bool| {
            let of_kind = pieces.iter().map(part).filter(|part| part.get("thought").is_some() == thought);
            of_kind.map(|part| text_at(&part, "text").to_owned()).collect::<String>()
        };
        let whole = Gemini.whole(&Ask::default(), &answer);
        let said = |i: usize| whole.pointer(&format!("/candidates/0/content/parts/{i}/text")).cloned();
        assert_eq!((Some(joined(true).into()), Some(joined(false).into())), (said(0), said(1)));
        let last = pieces.last().and_then(|piece| piece.data.pointer("/candidates/0/finishReason"));
        assert_eq!(last, Some(&json!("MAX_TOKENS")));
    }
}
