//! What single checks of version 2 remember about the work of a session: ids of messages, texts, plans, and ends of work.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::course::plan_texts;
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
    /// The text of each user message outside of replays, by id.
    pub texts: BTreeMap<String, String>,
    /// The text of each user message of the last replay, by id.
    pub replayed: BTreeMap<String, String>,
    /// The plans, by id.
    pub plans: BTreeMap<String, Plan>,
}

/// The last two states of a plan.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The entries of the last update.
    pub entries: Vec<Value>,
    /// The texts that the last update left out, if it contained only entries of the one before.
    pub dropped: BTreeSet<String>,
}

/// Returns the text blocks of the content of a message, one after the other.
#[must_use]
pub fn text_of_content(content: &Value) -> String {
    let blocks = content.as_array().map_or(std::slice::from_ref(content), Vec::as_slice);
    let texts = blocks.iter().filter(|block| block.member("type").and_then(Value::as_str) == Some("text"));
    texts.filter_map(|block| block.member("text")?.as_str()).collect()
}

/// Returns the id and the entries of an update of a plan.
#[must_use]
pub fn plan_items<'v>(update: &Update<'v>) -> Option<(&'v str, &'v [Value])> {
    let plan = update.body.member("plan").filter(|_| update.variant == "plan_update")?;
    Some((plan.member("planId")?.as_str()?, plan.member("entries")?.as_array()?))
}

impl History {
    /// Reads an update, which may be part of a replay.
    pub(super) fn learn(&mut self, n: usize, update: &Update<'_>, is_replay: bool) {
        if let Some((kind, id)) = message_of(update) {
            match kind {
                "user_message" => self.learn_text(id, update, is_replay),
                "agent_message" if !is_replay => {
                    self.spoke = Some(n);
                    if self.replies.len() < MOST {
                        self.replies.insert(id.to_owned());
                    }
                }
                _ => {}
            }
        }
        if let Some((id, entries)) = plan_items(update).filter(|_| self.plans.len() < MOST) {
            let plan = self.plans.entry(id.to_owned()).or_default();
            let (before, now) = (plan_texts(&plan.entries), plan_texts(entries));
            plan.dropped =
                if now.is_subset(&before) { before.difference(&now).cloned().collect() } else { BTreeSet::new() };
            plan.entries = entries.to_vec();
        }
    }

    fn learn_text(&mut self, id: &str, update: &Update<'_>, is_replay: bool) {
        let texts = if is_replay { &mut self.replayed } else { &mut self.texts };
        let Some(text) = update.body.member("content").map(text_of_content) else { return };
        if texts.len() >= MOST && !texts.contains_key(id) {
            return;
        }
        let known = texts.entry(id.to_owned()).or_default();
        if !update.variant.ends_with("_chunk") {
            known.clear();
        }
        if known.len() + text.len() <= MOST_TEXT {
            known.push_str(&text);
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
                (self.idle, self.custom, self.has_begun) = (n, None, false);
                self.cancelled = cancelled.map(|begun| (n, begun));
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
