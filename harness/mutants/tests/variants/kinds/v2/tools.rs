//! Tool calls and terminals.

use std::collections::BTreeMap;

use acp_conformance::requirement::Party;
use serde_json::{Map, Value, json};

use super::super::updates::update;
use super::super::{Around, Said};
use super::with;
use crate::choices::Choices;
use crate::conversation::Message;

/// Replaces the content of a tool call by none, and then adds each item.
pub(super) struct ToolChunks;

impl Around for ToolChunks {
    fn pass(&mut self, message: &Message, _: Party, choices: &mut Choices) -> Vec<Said> {
        let parts = update(message).filter(|(_, kind, _)| *kind == "tool_call_update").and_then(|(_, _, body)| {
            let items = body.get("content")?.as_array().filter(|items| !items.is_empty())?;
            Some((body.clone(), items.clone()))
        });
        let Some(((mut body, items), mut rng)) = parts.and_then(|parts| Some((parts, choices.site()?))) else {
            return vec![Said::same(message)];
        };
        body["content"] = if rng.bool() { json!([]) } else { Value::Null };
        let id = body["toolCallId"].clone();
        let chunk =
            |content| json!({ "sessionUpdate": "tool_call_content_chunk", "toolCallId": id, "content": content });
        let bodies = std::iter::once(body).chain(items.into_iter().map(chunk));
        bodies.map(|body| Said::changed(message, with(message, body))).collect()
    }
}

/// Splits output between any two groups of four base64 characters.
pub(super) struct TerminalChunks;

impl Around for TerminalChunks {
    fn pass(&mut self, message: &Message, _: Party, choices: &mut Choices) -> Vec<Said> {
        let known = update(message).filter(|(_, kind, _)| *kind == "terminal_output_chunk");
        let data = known.and_then(|(_, _, body)| body.get("data")?.as_str()).filter(|data| data.len() >= 8);
        let Some((data, mut rng)) = data.and_then(|data| Some((data, choices.site()?))) else {
            return vec![Said::same(message)];
        };
        let (head, tail) = data.split_at(4 * rng.usize(1..data.len() / 4));
        let piece = |data: &str| {
            let mut value = message.value.clone();
            value["params"]["update"]["data"] = data.into();
            Said::changed(message, value)
        };
        vec![piece(head), piece(tail)]
    }
}

/// Fills in the members that a patch of a tool call leaves out.
#[derive(Default)]
pub(super) struct Completed {
    /// The values of each tool call, by session and id, without those that chunks may have changed.
    calls: BTreeMap<[String; 2], Map<String, Value>>,
}

impl Around for Completed {
    fn pass(&mut self, message: &Message, _: Party, choices: &mut Choices) -> Vec<Said> {
        let known = update(message).filter(|(_, kind, _)| *kind == "tool_call_update");
        let parts = known.and_then(|(session, _, body)| {
            Some((session.to_owned(), body.get("toolCallId")?.as_str()?.to_owned(), body.as_object()?.clone()))
        });
        let Some((session, id, mut body)) = parts else { return vec![Said::same(message)] };
        let stored = self.calls.entry([session, id]).or_default();
        let lasts = |name: &String| name != "content" && name != "_meta";
        stored.extend(body.iter().filter(|(name, _)| lasts(name)).map(|(name, value)| (name.clone(), value.clone())));
        if choices.site().is_none() {
            return vec![Said::same(message)];
        }
        for (name, value) in stored {
            body.entry(name.clone()).or_insert_with(|| value.clone());
        }
        vec![Said::changed(message, with(message, body.into()))]
    }
}
