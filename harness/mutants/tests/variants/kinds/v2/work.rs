//! Sessions and their work: states, receipts, replays and background work.

use std::collections::BTreeSet;

use acp_conformance::requirement::Party;
use serde_json::{Value, json};

use super::super::order::both;
use super::super::updates::update;
use super::super::{Around, Said};
use super::messages::Replays;
use super::{state, with};
use crate::choices::Choices;
use crate::conversation::{Conversation, Entry, Message};

/// Adds a custom state to running work, then the standard one again.
pub(super) struct CustomStates;

impl Around for CustomStates {
    fn pass(&mut self, message: &Message, _: Party, choices: &mut Choices) -> Vec<Said> {
        let mut said = vec![Said::same(message)];
        if state(message) == Some("running") && choices.site().is_some() {
            let mut custom = message.value.clone();
            custom["params"]["update"]["state"] = "_example.org/thinking".into();
            said.push(Said::more(message.from, custom));
            said.push(Said::more(message.from, message.value.clone()));
        }
        said
    }
}

/// Adds work that no prompt began.
#[derive(Default)]
pub(super) struct AgentWork {
    /// The sessions that are being opened, closed or deleted.
    busy: BTreeSet<String>,
    /// The sessions of subagents.
    children: BTreeSet<String>,
    added: usize,
}

impl Around for AgentWork {
    fn pass(&mut self, message: &Message, _: Party, choices: &mut Choices) -> Vec<Said> {
        const CHANGES: [&str; 3] = ["session/resume", "session/close", "session/delete"];
        let mut said = vec![Said::same(message)];
        let named = message.value.pointer("/params/sessionId").and_then(Value::as_str).unwrap_or_default();
        if !message.is_response && message.method.as_deref().is_some_and(|method| CHANGES.contains(&method)) {
            self.busy.insert(named.to_owned());
        }
        if message.answers("session/resume") {
            self.busy.clear();
        }
        self.children.extend(child(message));
        if state(message) == Some("idle")
            && !self.busy.contains(named)
            && !self.children.contains(named)
            && choices.site().is_some()
        {
            let background = message.value.pointer("/params/update/background");
            let report = |name: &str, stop: Option<&str>| {
                let mut update = json!({ "sessionUpdate": "state_update", "state": name });
                update.as_object_mut().expect("an object").extend(
                    [("background", background.cloned()), ("stopReason", stop.map(Value::from))]
                        .into_iter()
                        .filter_map(|(name, value)| Some((name.to_owned(), value?))),
                );
                update
            };
            let chunk = json!({
                "sessionUpdate": "agent_message_chunk",
                "messageId": format!("own-work-{}", self.added),
                "content": { "type": "text", "text": "By the way …" },
            });
            self.added += 1;
            let updates = [report("running", None), chunk, report("idle", Some("end_turn"))];
            said.extend(updates.map(|update| Said::more(message.from, with(message, update))));
        }
        said
    }
}

/// A receipt of a prompt, and an update of work that the receipt need not precede or follow.
pub(super) fn receipt(conversation: &Conversation, first: &Entry, second: &Entry) -> bool {
    both(conversation, first, second).is_some_and(|(first, second)| {
        let (response, other) = if first.is_response { (first, second) } else { (second, first) };
        response.answers("session/prompt") && update(other).is_some() && state(other) != Some("idle")
    })
}

/// Adds updates of a session before the response that opens it.
pub(super) struct BeforeSession;

impl Around for BeforeSession {
    fn pass(&mut self, message: &Message, _: Party, choices: &mut Choices) -> Vec<Said> {
        let mut said = vec![Said::same(message)];
        let opened = message.value.pointer("/result/sessionId").filter(|_| message.answers("session/new"));
        if let Some((session, mut rng)) = opened.and_then(|session| Some((session, choices.site()?))) {
            let update = match rng.u8(..3) {
                0 => json!({ "sessionUpdate": "session_info_update", "title": "A title" }),
                1 => json!({ "sessionUpdate": "state_update", "state": "idle", "background": [] }),
                _ => json!({ "sessionUpdate": "usage_update", "used": 0, "size": 10 }),
            };
            let params = json!({ "sessionId": session, "update": update });
            let value = json!({ "jsonrpc": "2.0", "method": "session/update", "params": params });
            said.insert(0, Said::more(message.from, value));
        }
        said
    }
}

/// Adds a message to a replay, before the state that ends it.
#[derive(Default)]
pub(super) struct LongerReplay {
    replays: Replays,
    added: usize,
}

impl Around for LongerReplay {
    fn pass(&mut self, message: &Message, _: Party, choices: &mut Choices) -> Vec<Said> {
        let mut said = vec![Said::same(message)];
        // Without `replayFrom`, the agent replays nothing.
        if !message.calls("session/resume") || message.value.pointer("/params/replayFrom").is_some_and(Value::is_object)
        {
            self.replays.note(message);
        }
        let ends =
            update(message).is_some_and(|(session, kind, _)| kind == "state_update" && self.replays.runs(session));
        if ends && choices.site().is_some() {
            let marker = json!({
                "sessionUpdate": "agent_message",
                "messageId": format!("variant-{}", self.added),
                "content": [{ "type": "text", "text": "(interrupted)" }],
            });
            self.added += 1;
            said.insert(0, Said::more(message.from, with(message, marker)));
        }
        said
    }
}

/// Cancels work that has just ended by itself.
#[derive(Default)]
pub(super) struct LateSessionCancels {
    /// The sessions of subagents.
    children: BTreeSet<String>,
}

impl Around for LateSessionCancels {
    fn pass(&mut self, message: &Message, subject: Party, choices: &mut Choices) -> Vec<Said> {
        let mut said = vec![Said::same(message)];
        self.children.extend(child(message));
        let named = message.value.pointer("/params/sessionId").and_then(Value::as_str).unwrap_or_default();
        let is_over = subject == Party::Client && !message.deliberate && state(message) == Some("idle");
        // The client may cancel a child only with its capability.
        if is_over && !self.children.contains(named) && choices.site().is_some() {
            let params = json!({ "sessionId": message.value["params"]["sessionId"] });
            said.push(Said::more(subject, json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params })));
        }
        said
    }
}

/// Leaves out the lists of background work, or makes them null, if they are all empty.
pub(super) fn without_background(conversation: &mut Conversation, _: &Conversation, choices: &mut Choices) {
    let is_empty = |message: &Message| {
        message.value.pointer("/params/update/background").is_none_or(|list| *list == json!([]) || list.is_null())
    };
    let messages = || conversation.entries.iter().filter_map(|entry| entry.message.as_ref());
    if !messages().all(is_empty) {
        return;
    }
    let Some(mut rng) = choices.site() else { return };
    let is_null = rng.bool();
    for message in
        conversation.entries.iter_mut().filter_map(|entry| entry.message.as_mut()).filter(|one| !one.deliberate)
    {
        let body = message.value.pointer_mut("/params/update").and_then(Value::as_object_mut);
        let Some(body) = body.filter(|body| body.contains_key("background")) else { continue };
        if is_null {
            body.insert("background".to_owned(), Value::Null);
        } else {
            body.remove("background");
        }
    }
}

/// Returns the session of a subagent that an update announces.
fn child(message: &Message) -> Option<String> {
    let (_, _, body) = update(message).filter(|(_, kind, _)| *kind == "subagent_update")?;
    Some(body.get("sessionId")?.as_str()?.to_owned())
}
