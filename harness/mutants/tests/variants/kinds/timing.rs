//! The same lines at other times.

use super::{How, Kind};
use crate::choices::Choices;
use crate::conversation::Conversation;

const RULE: &str = "transports and JSON-RPC 2.0 set no time limits";

pub const KINDS: &[Kind] = &[
    Kind { name: "slow", rule: RULE, how: How::Whole(|conversation, _, choices| slow(conversation, choices)) },
    Kind {
        name: "slower",
        rule: RULE,
        how: How::Whole(|conversation, _, choices| stretch(conversation, choices, 5, 1)),
    },
    Kind {
        name: "fast",
        rule: RULE,
        how: How::Whole(|conversation, _, choices| stretch(conversation, choices, 1, 1000)),
    },
    Kind { name: "burst", rule: RULE, how: How::Whole(|conversation, _, choices| burst(conversation, choices)) },
];

/// Delays some lines of the subject by up to a second, and everything after them as well.
fn slow(conversation: &mut Conversation, choices: &mut Choices) {
    let subject = conversation.subject;
    let mut later = 0;
    for entry in &mut conversation.entries {
        if entry.message_of(subject).is_some() {
            later += choices.site().map_or(0, |mut rng| rng.u64(1_000..1_000_000));
        }
        entry.event.us += later;
    }
}

/// Multiplies and divides all times.
fn stretch(conversation: &mut Conversation, choices: &mut Choices, by: u64, through: u64) {
    if choices.site().is_some() {
        conversation.entries.iter_mut().for_each(|entry| entry.event.us = entry.event.us * by / through);
    }
}

/// Makes consecutive lines of the subject arrive in one read, with the last of them.
fn burst(conversation: &mut Conversation, choices: &mut Choices) {
    let subject = conversation.subject;
    let mut next = None;
    for entry in conversation.entries.iter_mut().rev() {
        if entry.message_of(subject).is_none() {
            next = None;
        } else if let Some(us) = next.filter(|_| choices.site().is_some()) {
            entry.event.us = us;
        } else {
            next = Some(entry.event.us);
        }
    }
}
