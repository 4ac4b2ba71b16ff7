//! What the area remembers: the system prompts of sessions, and the last requests to the model.

use serde_json::Value;

use super::prompt_in;
use crate::areas::Event;
use crate::areas::by_session::BySession;
use crate::conversation::{Answer, CallSeen, Conversation, Memory, UpdateSeen};
use crate::requirement::Party;
use crate::trace::{ModelEvent, Precedence};

/// The sessions, and the requests to the model since the last prompt.
#[derive(Debug, Clone, Default)]
pub struct State {
    sessions: BySession<Known>,
    /// The last request that answered the user without the marked text.
    pub(super) unmarked: Option<usize>,
    /// The last request with the marked text.
    pub(super) marked: Option<usize>,
}

/// A session.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    /// The system prompt with which it was created.
    pub created_with: Option<Value>,
    /// The first message of its history since the client last asked to load or resume it.
    pub shown: Option<usize>,
}

/// The updates that show the history of a session, in both versions.
const HISTORY: [&str; 9] = [
    "user_message",
    "user_message_chunk",
    "agent_message",
    "agent_message_chunk",
    "agent_thought",
    "agent_thought_chunk",
    "tool_call",
    "tool_call_update",
    "replay_complete",
];

impl State {
    pub(super) fn get(&self, session: &str) -> Option<&Known> {
        self.sessions.get(session)
    }

    pub(in crate::areas) fn call(&mut self, event: &Event<'_>, call: &CallSeen<'_>) {
        match (event.from, call.method, call.params.zip(call.text("sessionId"))) {
            (Party::Client, "session/load" | "session/resume", Some((params, id))) if prompt_in(params).is_some() => {
                self.sessions.entry(id).shown = None;
            }
            (Party::Client, "session/prompt", _) => (self.unmarked, self.marked) = (None, None),
            _ => {}
        }
    }

    pub(in crate::areas) fn update(&mut self, event: &Event<'_>, update: &UpdateSeen<'_>) {
        if let Some(known) = self.sessions.get_mut(Some(update.session)).filter(|_| HISTORY.contains(&update.variant)) {
            known.shown = known.shown.or(Some(event.n));
        }
    }

    pub(in crate::areas) fn response(&mut self, answer: &Answer<'_>) {
        let Some((exchange, result)) = answer.result_of("session/new") else { return };
        let id = result.get("sessionId").and_then(Value::as_str);
        if let Some((id, prompt)) = id.zip(prompt_in(&exchange.params)) {
            self.sessions.entry(id).created_with = Some(prompt.clone());
        }
    }

    pub(in crate::areas) fn model(&mut self, event: &Event<'_>, model: &ModelEvent) {
        match model.marked {
            Some(Precedence::System | Precedence::User) => self.marked = Some(event.n),
            None if model.did.starts_with("say:") => self.unmarked = Some(event.n),
            None => {}
        }
    }

    pub(in crate::areas) fn forget(&mut self, conversation: &Conversation, memory: Memory) {
        self.sessions.forget(conversation, memory);
    }
}
