//! Messages and patches: repeated, empty, whole, and in chunks.

use std::collections::{BTreeMap, BTreeSet};

use acp_conformance::requirement::Party;
use serde_json::{Value, json};

use super::super::updates::{CHUNKS, update};
use super::super::{Around, Said};
use super::with;
use crate::choices::Choices;
use crate::conversation::Message;

/// Updates that set values, so that a second one changes nothing.
const UPSERTS: [&str; 12] = [
    "agent_message",
    "agent_thought",
    "available_commands_update",
    "compaction_update",
    "config_option_update",
    "plan_update",
    "session_info_update",
    "state_update",
    "terminal_update",
    "tool_call_update",
    "usage_update",
    "user_message",
];

/// Sends an update twice.
pub(super) struct Repeated;

impl Around for Repeated {
    fn pass(&mut self, message: &Message, _: Party, choices: &mut Choices) -> Vec<Said> {
        let mut said = vec![Said::same(message)];
        let upserts = update(message).is_some_and(|(_, kind, _)| UPSERTS.contains(&kind));
        if upserts && choices.site().is_some() {
            said.push(Said::more(message.from, message.value.clone()));
        }
        said
    }
}

/// Adds patches that change at most the metadata.
pub(super) struct EmptyPatches;

impl Around for EmptyPatches {
    fn pass(&mut self, message: &Message, _: Party, choices: &mut Choices) -> Vec<Said> {
        let mut said = vec![Said::same(message)];
        let patch = update(message).and_then(|(_, kind, body)| {
            let (kind, id) = match kind {
                "tool_call_update" | "tool_call_content_chunk" => ("tool_call_update", "toolCallId"),
                "terminal_update" | "terminal_output_chunk" => ("terminal_update", "terminalId"),
                message => (message.strip_suffix("_chunk").unwrap_or(message), "messageId"),
            };
            Some(json!({ "sessionUpdate": kind, id: body.get(id)? }))
        });
        if let Some((mut patch, mut rng)) = patch.and_then(|patch| Some((patch, choices.site()?))) {
            match rng.u8(..3) {
                0 => {}
                1 => patch["_meta"] = Value::Null,
                _ => patch["_meta"] = json!({ "example.org": 1, "removed": null }),
            }
            said.push(Said::more(message.from, with(message, patch)));
        }
        said
    }
}

/// Replaces chunks by the whole message so far.
#[derive(Default)]
pub(super) struct Whole {
    /// The content of each message, by session, kind and id.
    contents: BTreeMap<[String; 3], Vec<Value>>,
}

impl Around for Whole {
    fn pass(&mut self, message: &Message, _: Party, choices: &mut Choices) -> Vec<Said> {
        let Some((session, kind, body)) = update(message) else { return vec![Said::same(message)] };
        let Some(id) = body.get("messageId").and_then(Value::as_str) else { return vec![Said::same(message)] };
        let whole = kind.strip_suffix("_chunk").unwrap_or(kind).to_owned();
        let content = self.contents.entry([session.to_owned(), whole.clone(), id.to_owned()]).or_default();
        if !CHUNKS.contains(&kind) {
            if let Some(replaced) = body.get("content") {
                *content = replaced.as_array().cloned().unwrap_or_default();
            }
            return vec![Said::same(message)];
        }
        content.extend(body.get("content").cloned());
        if choices.site().is_none() {
            return vec![Said::same(message)];
        }
        let all = json!({ "sessionUpdate": whole, "messageId": id, "content": content });
        vec![Said::changed(message, with(message, all))]
    }
}

/// Sends whole messages as an empty one and a chunk for each block; outside of a replay sometimes only as chunks.
#[derive(Default)]
pub(super) struct InChunks {
    replays: Replays,
    /// The messages so far, by session, kind and id. A chunk would add to one of these.
    known: BTreeSet<[String; 3]>,
}

impl Around for InChunks {
    fn pass(&mut self, message: &Message, _: Party, choices: &mut Choices) -> Vec<Said> {
        self.replays.note(message);
        let Some((session, kind, body)) = update(message) else { return vec![Said::same(message)] };
        let Some(id) = body.get("messageId").and_then(Value::as_str) else { return vec![Said::same(message)] };
        let whole = kind.strip_suffix("_chunk").unwrap_or(kind);
        let is_new = self.known.insert([session.to_owned(), whole.to_owned(), id.to_owned()]);
        let blocks = body.get("content").and_then(Value::as_array).filter(|blocks| !blocks.is_empty());
        let Some((blocks, mut rng)) = blocks.and_then(|blocks| Some((blocks, choices.site()?))) else {
            return vec![Said::same(message)];
        };
        let chunk = |block| json!({ "sessionUpdate": format!("{kind}_chunk"), "messageId": id, "content": block });
        let mut updates: Vec<Value> = blocks.iter().map(chunk).collect();
        if !is_new || self.replays.runs(session) || rng.bool() {
            let mut empty = body.clone();
            empty["content"] = if rng.bool() { json!([]) } else { Value::Null };
            updates.insert(0, empty);
        }
        updates.into_iter().map(|body| Said::changed(message, with(message, body))).collect()
    }
}

/// Splits a chunk of a message, and puts a chunk of a thought between the two pieces.
#[derive(Default)]
pub(super) struct Interleaved {
    replays: Replays,
}

impl Around for Interleaved {
    fn pass(&mut self, message: &Message, _: Party, choices: &mut Choices) -> Vec<Said> {
        self.replays.note(message);
        let parts = update(message).and_then(|(session, kind, body)| {
            let is_live = kind == "agent_message_chunk" && !self.replays.runs(session);
            let text = body.pointer("/content/text")?.as_str().filter(|text| is_live && text.is_ascii())?;
            Some((body.get("messageId")?.as_str()?, text))
        });
        let Some(((id, text), mut rng)) = parts.and_then(|parts| Some((parts, choices.site()?))) else {
            return vec![Said::same(message)];
        };
        let thought = json!({
            "sessionUpdate": "agent_thought_chunk",
            "messageId": format!("variant-{id}"),
            "content": { "type": "text", "text": "Let me see …" },
        });
        let (head, tail) = text.split_at(rng.usize(..=text.len()));
        let piece = |text: &str| {
            let mut value = message.value.clone();
            value["params"]["update"]["content"]["text"] = text.into();
            Said::changed(message, value)
        };
        vec![piece(head), Said::more(message.from, with(message, thought)), piece(tail)]
    }
}

/// The sessions whose replay goes on.
#[derive(Default)]
pub(super) struct Replays(BTreeMap<String, String>);

impl Replays {
    /// Records requests to resume a session and their responses.
    pub(super) fn note(&mut self, message: &Message) {
        let id = message.value.get("id").map(Value::to_string).unwrap_or_default();
        if message.answers("session/resume") {
            self.0.remove(&id);
        } else if message.calls("session/resume") {
            let session = message.value.pointer("/params/sessionId").and_then(Value::as_str).unwrap_or_default();
            self.0.insert(id, session.to_owned());
        }
    }

    /// Whether the client waits for the end of a replay of the session.
    pub(super) fn runs(&self, session: &str) -> bool {
        self.0.values().any(|known| known == session)
    }
}
