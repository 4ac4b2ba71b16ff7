//! The cancels that no turn shows, and the last prompts.

use std::collections::VecDeque;

use crate::areas::Event;
use crate::areas::by_session::BySession;
use crate::conversation::{CallSeen, Conversation, Memory, text_of_content};
use crate::requirement::Party;
use crate::wire::Members;

/// The most prompts of a session that are remembered, and the bytes of the longest one.
const MOST: (usize, usize) = (8, 1024);

/// The cancels that no turn shows, and the last prompts.
#[derive(Debug, Default)]
pub struct State {
    /// The last `session/cancel` for a session that the client does not know.
    pub(super) stray: Option<usize>,
    /// The last prompts of each session: event and text.
    prompts: BySession<VecDeque<(usize, String)>>,
}

impl State {
    pub(in crate::areas) fn call(&mut self, event: &Event<'_>, call: &CallSeen<'_>) {
        if event.from != Party::Client {
            return;
        }
        let id = call.text("sessionId").unwrap_or_default();
        let session = event.conversation.session(id);
        if call.method == "session/cancel" && call.id.is_none() {
            self.stray = if session.is_none() { Some(event.n) } else { self.stray };
        }
        let is_prompt = call.method == "session/prompt" && !event.conversation.edition.adapter.response_ends_turn();
        if is_prompt && session.is_some() {
            let text = call.params.and_then(|params| params.member("prompt")).map(text_of_content).unwrap_or_default();
            let prompts = self.prompts.entry(id);
            prompts.push_back((event.n, text.chars().take(MOST.1).collect()));
            if prompts.len() > MOST.0 {
                prompts.pop_front();
            }
        }
    }

    /// Returns the last prompts of a session: event and text.
    pub(super) fn prompts<'s>(&'s self, session: &str) -> impl Iterator<Item = (usize, &'s str)> + use<'s> {
        self.prompts.get(session).into_iter().flatten().map(|(n, text)| (*n, text.as_str()))
    }

    pub(in crate::areas) fn forget(&mut self, conversation: &Conversation, memory: Memory) {
        self.prompts.forget(conversation, memory);
    }
}
