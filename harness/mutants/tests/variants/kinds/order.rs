//! Lines in another order, if the protocol does not determine which comes first.

use acp_conformance::trace::{StepEvent, What};
use serde_json::Value;

use super::{How, Kind};
use crate::choices::Choices;
use crate::conversation::{Conversation, Entry, Message};

pub const KINDS: &[Kind] = &[
    Kind {
        name: "responses-reordered",
        rule: "JSON-RPC 2.0 orders no responses; the `id` member \"is used to correlate\" them",
        how: How::Whole(|conversation, _, choices| swap(conversation, choices, responses)),
    },
    Kind {
        name: "sessions-reordered",
        rule: "session-setup: sessions are independent; nothing orders the messages of one with those of another",
        how: How::Whole(|conversation, _, choices| swap(conversation, choices, of_different_sessions)),
    },
    Kind {
        name: "crossing-updates",
        rule: "transports: two streams; an update may be on its way while the tester sends its next message",
        how: How::Whole(|conversation, _, choices| swap(conversation, choices, crossing)),
    },
];

/// Swaps lines that follow each other, but not their times.
pub(super) fn swap(
    conversation: &mut Conversation,
    choices: &mut Choices,
    may: fn(&Conversation, &Entry, &Entry) -> bool,
) {
    let mut at = 0;
    while at < conversation.entries.len() {
        let Some(next) = next_line(conversation, at) else {
            at += 1;
            continue;
        };
        let (first, second) = (&conversation.entries[at], &conversation.entries[next]);
        let same = first.event.connection == second.event.connection;
        if same && may(conversation, first, second) && choices.site().is_some() {
            let times = [first.event.us, second.event.us];
            // A step stays before the call of the tester that follows it.
            let [from, to] = if second.message_of(conversation.subject).is_some() { [next, at] } else { [at, next] };
            let moved = conversation.entries.remove(from);
            conversation.entries.insert(to, moved);
            conversation.entries[at].event.us = times[0];
            conversation.entries[next].event.us = times[1];
            at = next;
        }
        at += 1;
    }
}

/// Returns the place of the message that follows this one, if nothing but steps of other messages is between them.
fn next_line(conversation: &Conversation, at: usize) -> Option<usize> {
    let first = conversation.entries.get(at).filter(|entry| entry.message.is_some())?;
    let concerns = |step: &StepEvent| step.events.iter().any(|event| first.stands_for.contains(event));
    let is_other = |entry: &Entry| matches!(&entry.event.what, What::Step(step) if !concerns(step));
    let next = conversation.entries.iter().skip(at + 1).position(|entry| !is_other(entry))? + at + 1;
    conversation.entries[next].message.as_ref().map(|_| next)
}

/// Returns both messages, if the subject sent them.
pub(super) fn both<'e>(
    conversation: &Conversation,
    first: &'e Entry,
    second: &'e Entry,
) -> Option<(&'e Message, &'e Message)> {
    Some((first.message_of(conversation.subject)?, second.message_of(conversation.subject)?))
}

fn responses(conversation: &Conversation, first: &Entry, second: &Entry) -> bool {
    both(conversation, first, second).is_some_and(|(first, second)| first.is_response && second.is_response)
}

fn of_different_sessions(conversation: &Conversation, first: &Entry, second: &Entry) -> bool {
    let session =
        |message: &Message| message.value.pointer("/params/sessionId").and_then(Value::as_str).map(str::to_owned);
    // The session of a subagent begins with its announcement on another one.
    let announces = |message: &Message| {
        message.value.pointer("/params/update/sessionUpdate").and_then(Value::as_str) == Some("subagent_update")
    };
    both(conversation, first, second)
        .filter(|(first, second)| !announces(first) && !announces(second))
        .and_then(|(first, second)| Some(session(first)? != session(second)?))
        .unwrap_or(false)
}

/// An update of the subject, and a call of the tester that does not depend on it.
fn crossing(conversation: &Conversation, first: &Entry, second: &Entry) -> bool {
    let update = first.message_of(conversation.subject).filter(|message| message.calls("session/update"));
    let call = second.message_of(conversation.subject.other()).filter(|message| !message.is_response);
    let Some((update, call)) = update.zip(call) else { return false };
    // The tester may name a tool call or a terminal as soon as it has read of it.
    let named = ["toolCallId", "terminalId"].map(|id| update.value.pointer("/params/update")?.get(id));
    named == [None, None] && !call.calls("session/prompt")
}
