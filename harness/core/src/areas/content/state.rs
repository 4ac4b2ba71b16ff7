//! Whether the chunks of a message have its id.

use crate::areas::Event;
use crate::areas::by_session::BySession;
use crate::conversation::{Answer, CallSeen, Conversation, Memory, UpdateSeen};
use crate::requirement::Party;
use crate::wire::Members;

/// The runs of chunks.
#[derive(Debug, Default)]
pub struct State {
    /// The last chunks of each session, as long as no other message came after them.
    pub(super) runs: BySession<Run>,
}

/// Chunks of one kind, one after the other.
#[derive(Debug, Default)]
pub(super) struct Run {
    /// Their variant.
    pub(super) variant: String,
    /// Whether one of them had a message id.
    pub(super) has_id: bool,
    /// The number of chunks without one since then.
    pub(super) without: usize,
}

impl State {
    pub(in crate::areas) fn call(&mut self, event: &Event<'_>, call: &CallSeen<'_>) {
        let id = call.text("sessionId").filter(|_| event.from == Party::Client);
        match call.method {
            "session/load" | "session/resume" => self.runs.remove(id),
            "session/prompt" => {
                let session = id.and_then(|id| event.conversation.session(id));
                self.runs.remove(id.filter(|_| session.is_some_and(|session| session.turn.is_none())));
            }
            _ => {}
        }
    }

    pub(in crate::areas) fn update(&mut self, update: &UpdateSeen<'_>) {
        if update.known.is_none() {
            return;
        }
        if matches!(update.variant, "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk") {
            let run = match self.runs.get_mut(Some(update.session)) {
                Some(run) => run,
                None => self.runs.entry(update.session),
            };
            if run.variant != update.variant {
                *run = Run { variant: update.variant.to_owned(), ..Run::default() };
            }
            if update.body.member("messageId").is_some_and(serde_json::Value::is_string) {
                (run.has_id, run.without) = (true, 0);
            } else {
                run.without += 1;
            }
        } else {
            self.runs.remove(Some(update.session));
        }
    }

    pub(in crate::areas) fn response(&mut self, answer: &Answer<'_>) {
        self.runs.remove(answer.exchange.and_then(|exchange| exchange.session()));
    }

    pub(in crate::areas) fn forget(&mut self, conversation: &Conversation, memory: Memory) {
        self.runs.forget(conversation, memory);
    }
}
