//! What single checks of version 2 remember about the work of a session: ids of messages, and ends of work.

use std::collections::BTreeSet;

use serde_json::Value;

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
    /// The first custom state since the session was last idle: its event.
    pub custom: Option<usize>,
    /// Whether `running` or `requires_action` was reported since the session was last idle.
    pub has_begun: bool,
    /// The event of the last idle state.
    pub idle: usize,
    /// The idle state that ended the last work: its event and its stop reason.
    pub stopped: Option<(usize, String)>,
    /// The idle state that reported a cancel, until the next work or prompt: its event, and the begin of that work.
    pub cancelled: Option<(usize, usize)>,
    /// The last prompt that was answered with an error: the event of the answer, and its text.
    pub refused: Option<(usize, String)>,
}

/// Returns the text blocks of the content of a message, one after the other.
pub fn text_of_content(content: &Value) -> String {
    let blocks = content.as_array().map_or(std::slice::from_ref(content), Vec::as_slice);
    let texts = blocks.iter().filter(|block| block.text("type") == Some("text"));
    texts.filter_map(|block| block.text("text")).collect()
}

/// The message that an update is about: its kind without `_chunk`, and its id.
pub fn message_of<'v>(update: &Update<'v>) -> Option<(&'v str, &'v str)> {
    let kind = update.variant.strip_suffix("_chunk").unwrap_or(update.variant);
    let is_message = matches!(kind, "user_message" | "agent_message" | "agent_thought");
    Some((kind, update.body.text("messageId").filter(|_| is_message)?))
}

impl History {
    /// Reads an update, which may be part of a replay.
    pub(super) fn learn(&mut self, update: &Update<'_>, is_replay: bool) {
        if let Some(("agent_message", id)) = message_of(update).filter(|_| !is_replay && self.replies.len() < MOST) {
            self.replies.insert(id.to_owned());
        }
    }

    /// Reads a standard state; `begins` if work begins with it. An idle state that reports a cancel has the event at
    /// which the cancelled work began.
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
