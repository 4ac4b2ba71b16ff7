//! What single checks of version 2 remember about the work of a session: ids of messages, texts, and ends of work.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::work::message_of;
use crate::protocol::Update;
use crate::wire::Members;

/// The bound on the entries of each list.
const MOST: usize = 256;

/// The bound on the bytes of one text; longer ones are not remembered.
const MOST_TEXT: usize = 1024;

/// The history of a session.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// The ids of the agent's messages since its work began.
    pub replies: BTreeSet<String>,
    /// The ids of the agent's messages of earlier work.
    pub earlier_replies: BTreeSet<String>,
    /// The event of the last message of the agent.
    pub spoke: Option<usize>,
    /// The first custom state since the session was last idle: its event.
    pub custom: Option<usize>,
    /// Whether `running` or `requires_action` was reported since the session was last idle.
    pub has_begun: bool,
    /// The event of the last idle state.
    pub idle: usize,
    /// The event at which the agent last accepted to cancel a tool call.
    pub tool_cancelled: Option<usize>,
    /// The idle state that reported a cancel, until the next work or prompt: its event, and the begin of that work.
    pub cancelled: Option<(usize, usize)>,
    /// The last request to close the session.
    pub close_asked: Option<usize>,
    /// The last prompt that was answered with an error: the event of the answer, and its text.
    pub refused: Option<(usize, String)>,
    /// The text of each message outside of replays, by kind and id.
    pub texts: BTreeMap<(String, String), MessageText>,
    /// The messages of the last replay, in their order.
    pub replayed: Vec<Replayed>,
}

/// The text of a message, whole or put together from chunks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageText {
    /// The text so far.
    pub text: String,
    /// Whether it was too long to remember all of it.
    pub is_cut: bool,
}

/// A replayed message.
#[derive(Debug, Clone)]
pub struct Replayed {
    /// The event that opened it.
    pub n: usize,
    /// Its kind, without `_chunk`.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: MessageText,
}

/// Returns the text blocks of the content of a message, one after the other.
#[must_use]
pub fn text_of_content(content: &Value) -> String {
    let blocks = content.as_array().map_or(std::slice::from_ref(content), Vec::as_slice);
    let texts = blocks.iter().filter(|block| block.member("type").and_then(Value::as_str) == Some("text"));
    texts.filter_map(|block| block.member("text")?.as_str()).collect()
}

impl MessageText {
    /// Reads a chunk, or the content of a whole message, which replaces what was before.
    fn learn(&mut self, update: &Update<'_>) {
        let Some(content) = update.body.member("content") else { return };
        if !update.variant.ends_with("_chunk") {
            *self = Self::default();
        }
        let text = text_of_content(content);
        if self.text.len() + text.len() <= MOST_TEXT {
            self.text.push_str(&text);
        } else {
            self.is_cut = true;
        }
    }
}

impl History {
    /// Reads an update, which may be part of a replay.
    pub(super) fn learn(&mut self, n: usize, update: &Update<'_>, is_replay: bool) {
        if let Some((kind, id)) = message_of(update) {
            match kind {
                _ if is_replay => self.learn_replayed(n, (kind, id), update),
                "agent_message" => {
                    self.spoke = Some(n);
                    if self.replies.len() < MOST {
                        self.replies.insert(id.to_owned());
                    }
                    self.learn_text((kind, id), update);
                }
                _ => self.learn_text((kind, id), update),
            }
        }
    }

    fn learn_text(&mut self, (kind, id): (&str, &str), update: &Update<'_>) {
        let key = (kind.to_owned(), id.to_owned());
        if self.texts.len() < MOST || self.texts.contains_key(&key) {
            self.texts.entry(key).or_default().learn(update);
        }
    }

    /// Reads a part of a replayed message. A whole message with an empty content and its chunks are one message; a second text for
    /// an id is a further one.
    fn learn_replayed(&mut self, n: usize, (kind, id): (&str, &str), update: &Update<'_>) {
        let has_room = self.replayed.len() < MOST;
        let known = self.replayed.iter_mut().rev().find(|message| message.kind == kind && message.id == id);
        let is_chunk = update.variant.ends_with("_chunk");
        match known {
            Some(message) if is_chunk || message.text == MessageText::default() => message.text.learn(update),
            Some(_) if update.body.member("content").is_none() => {}
            _ if has_room => {
                let mut text = MessageText::default();
                text.learn(update);
                self.replayed.push(Replayed { n, kind: kind.to_owned(), id: id.to_owned(), text });
            }
            _ => {}
        }
    }

    /// Reads a standard state; `begins` if work begins with it. An idle state that reports a cancel has the event at which the
    /// cancelled work began.
    pub(super) fn learn_state(&mut self, n: usize, state: &str, begins: bool, cancelled: Option<usize>) {
        if begins {
            let replies = std::mem::take(&mut self.replies);
            let room = MOST.saturating_sub(self.earlier_replies.len());
            self.earlier_replies.extend(replies.into_iter().take(room));
        }
        match state {
            "idle" => {
                // A repeated snapshot says nothing new about the cancel before it.
                let is_repeated = !self.has_begun && cancelled.is_none();
                if !is_repeated {
                    self.cancelled = cancelled.map(|begun| (n, begun));
                }
                (self.idle, self.custom, self.has_begun) = (n, None, false);
            }
            _ => (self.has_begun, self.cancelled) = (true, None),
        }
    }

    /// Processes a prompt, after which late output may belong to it.
    pub(super) const fn begin_prompt(&mut self) {
        self.cancelled = None;
    }

    /// Reads the error with which a prompt was answered.
    pub(super) fn learn_refused(&mut self, n: usize, params: &Value) {
        let text = params.member("prompt").map(text_of_content).unwrap_or_default();
        self.refused = Some((n, text)).filter(|(_, text)| text.len() <= MOST_TEXT);
    }
}
