//! A second conversation on the same connection.

use std::collections::{BTreeMap, BTreeSet};

use acp_conformance::requirement::Party;
use acp_conformance::trace::What;
use acp_conformance::wire::{LineEnd, RpcId};
use serde_json::Value;

use super::{How, Kind};
use crate::choices::Choices;
use crate::conversation::{Conversation, Entry, Message};

pub const KINDS: &[Kind] = &[Kind {
    name: "second-session",
    rule: "architecture: \"Each connection can support several concurrent sessions\"; overview: requests of JSON-RPC may be \
        answered in any order",
    how: How::Whole(interleave),
}];

/// Methods that concern the whole connection.
const OF_ALL: [&str; 6] = ["authenticate", "logout", "auth/login", "auth/logout", "session/list", "session/delete"];

fn interleave(conversation: &mut Conversation, other: &Conversation, choices: &mut Choices) {
    let (Some(first), Some(second)) = (handshake(conversation), handshake(other)) else { return };
    if first.texts != second.texts || !is_plain(conversation) || !is_plain(other) {
        return;
    }
    let Some(mut rng) = choices.site() else { return };
    let end = conversation.entries.iter().position(Entry::ends).unwrap_or(conversation.entries.len());
    let begin = first.end + 1;
    if begin >= end {
        return;
    }
    let lines = other.entries[second.end + 1..].iter().take_while(|entry| !entry.ends());
    let lines: Vec<&Message> = lines.filter_map(|entry| entry.message.as_ref()).collect();
    let mut names = Names::default();
    let mut places: Vec<usize> = lines.iter().map(|_| rng.usize(begin..=end)).collect();
    places.sort_unstable();
    for (at, message) in places.into_iter().zip(lines).enumerate().map(|(n, (at, message))| (at + n, message)) {
        let value = names.renamed(message);
        let like = &conversation.entries[at.min(conversation.entries.len() - 1)].event;
        let what = What::Line { from: message.from, bytes: Vec::new(), end: LineEnd::Lf, deliberate: false };
        let mut entry = Entry::added(like, what);
        entry.message = Some(Message { value, ..message.clone() });
        conversation.entries.insert(at, entry);
    }
}

/// The request and the response of the handshake.
struct Handshake {
    texts: [Value; 2],
    /// The position of the response.
    end: usize,
}

fn handshake(conversation: &Conversation) -> Option<Handshake> {
    let mut messages =
        conversation.entries.iter().enumerate().filter_map(|(at, entry)| Some((at, entry.message.as_ref()?)));
    let (_, request) = messages.next().filter(|(_, message)| message.calls("initialize"))?;
    let (end, response) = messages.next().filter(|(_, message)| message.answers("initialize"))?;
    Some(Handshake { texts: [request.value.get("params").cloned()?, response.value.get("result").cloned()?], end })
}

/// Whether the trace contains exactly one correct conversation, about sessions of its own.
fn is_plain(conversation: &Conversation) -> bool {
    conversation.entries.iter().all(|entry| match (&entry.event.what, &entry.message) {
        (What::Line { .. }, Some(message)) => {
            let method = message.method.as_deref().unwrap_or_default();
            !message.deliberate && entry.event.connection == 0 && !OF_ALL.contains(&method)
        }
        (What::Line { .. } | What::Unattributed(_) | What::Mcp(_) | What::Visit(_), _) => false,
        _ => true,
    })
}

/// Gives the second conversation ids of its own.
#[derive(Default)]
struct Names {
    requests: BTreeMap<(Party, RpcId), Value>,
}

impl Names {
    fn renamed(&mut self, message: &Message) -> Value {
        const NAMED: [&str; 7] =
            ["sessionId", "terminalId", "toolCallId", "messageId", "elicitationId", "planId", "compactionId"];
        let asker = if message.is_response { message.from.other() } else { message.from };
        let mut value = message.value.clone();
        if let Some(id) = value.get_mut("id").filter(|id| !id.is_null()) {
            *id = self.request(asker, id);
        }
        let owner = if message.calls("$/cancel_request") { message.from } else { Party::Client };
        if let Some(id) = value.pointer_mut("/params/requestId").filter(|_| !message.is_response) {
            *id = self.request(owner, id);
        }
        rename(&mut value, &NAMED.into());
        value
    }

    fn request(&mut self, asker: Party, id: &Value) -> Value {
        let n = self.requests.len();
        self.requests.entry((asker, RpcId::new(id))).or_insert_with(|| format!("second-{n}").into()).clone()
    }
}

fn rename(value: &mut Value, named: &BTreeSet<&str>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(text) if named.contains(name.as_str()) => text.push_str("-second"),
                    _ => rename(value, named),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rename(item, named)),
        _ => {}
    }
}
