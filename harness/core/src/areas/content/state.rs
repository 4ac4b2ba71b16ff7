//! Whether the chunks of a message have its id.

use crate::areas::Event;
use crate::areas::by_session::BySession;
use crate::conversation::{Answer, CallSeen, Conversation, Memory, UpdateSeen};
use crate::requirement::Party;
use crate::wire::Members;

/// The runs of chunks.
#[derive(Debug, Default)]
pub struct State {
    /// The variant of the last chunk and whether it had a message id, as long as no other message came after it.
    pub(super) runs: BySession<(String, bool)>,
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
            update.variant.clone_into(&mut run.0);
            run.1 = update.body.member("messageId").is_some_and(serde_json::Value::is_string);
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
