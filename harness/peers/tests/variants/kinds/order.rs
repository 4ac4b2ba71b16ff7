//! Lines in another order, if the protocol does not determine which comes first.

use serde_json::Value;

use super::{How, Kind};
use crate::choices::Choices;
use crate::talk::{Entry, Message, Talk};

pub const KINDS: &[Kind] = &[
    Kind {
        name: "responses-reordered",
        rule: "JSON-RPC 2.0 orders no responses; the `id` member \"is used to correlate\" them",
        how: How::Whole(|talk, _, choices| swap(talk, choices, responses)),
    },
    Kind {
        name: "sessions-reordered",
        rule: "session-setup: sessions are independent; nothing orders the messages of one with those of another",
        how: How::Whole(|talk, _, choices| swap(talk, choices, of_different_sessions)),
    },
    Kind {
        name: "crossing-updates",
        rule: "transports: two streams; an update may be on its way while the tester sends its next message",
        how: How::Whole(|talk, _, choices| swap(talk, choices, crossing)),
    },
];

/// Swaps neighbouring lines, but not their times.
fn swap(talk: &mut Talk, choices: &mut Choices, may: fn(&Talk, &Entry, &Entry) -> bool) {
    let mut at = 0;
    while at + 1 < talk.entries.len() {
        let (first, second) = (&talk.entries[at], &talk.entries[at + 1]);
        let same = first.event.connection == second.event.connection;
        if same && may(talk, first, second) && choices.site().is_some() {
            let times = [first.event.us, second.event.us];
            talk.entries.swap(at, at + 1);
            talk.entries[at].event.us = times[0];
            talk.entries[at + 1].event.us = times[1];
            at += 1;
        }
        at += 1;
    }
}

fn both<'e>(talk: &Talk, first: &'e Entry, second: &'e Entry) -> Option<(&'e Message, &'e Message)> {
    Some((first.message_of(talk.subject)?, second.message_of(talk.subject)?))
}

fn responses(talk: &Talk, first: &Entry, second: &Entry) -> bool {
    both(talk, first, second).is_some_and(|(first, second)| first.is_response && second.is_response)
}

fn of_different_sessions(talk: &Talk, first: &Entry, second: &Entry) -> bool {
    let session =
        |message: &Message| message.value.pointer("/params/sessionId").and_then(Value::as_str).map(str::to_owned);
    both(talk, first, second).and_then(|(first, second)| Some(session(first)? != session(second)?)).unwrap_or(false)
}

/// An update of the subject, and a call of the tester that does not depend on it.
fn crossing(talk: &Talk, first: &Entry, second: &Entry) -> bool {
    let update = first.message_of(talk.subject).filter(|message| message.calls("session/update"));
    let call = second.message_of(talk.subject.other()).filter(|message| !message.is_response);
    let Some((update, call)) = update.zip(call) else { return false };
    let new_call = update.value.pointer("/params/update/toolCallId");
    new_call.is_none() && !call.calls("session/prompt")
}
