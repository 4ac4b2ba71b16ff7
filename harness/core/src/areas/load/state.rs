//! The notices of each session.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::areas::by_session::BySession;
use crate::conversation::{Conversation, Memory, UpdateSeen};
use crate::wire::Members;

/// The most notices of a session that are remembered.
const MOST: usize = 256;

/// The titles of notices that were shown in the turn of a prompt which contains the title, by session.
#[derive(Debug, Clone, Default)]
pub struct State(BySession<BTreeSet<String>>);

impl State {
    /// Returns the titles of the notices of a session.
    pub(super) fn notices(&self, session: &str) -> impl Iterator<Item = &str> {
        self.0.get(session).into_iter().flatten().map(String::as_str)
    }

    pub(in crate::areas) fn update(&mut self, update: &UpdateSeen<'_>) {
        let session = update.known.filter(|session| update.variant == "notice" && session.turn.is_some());
        let Some(session) = session else { return };
        let prompt = session.spoken.iter().rfind(|(variant, _)| variant == "user_message_chunk");
        let title = update.body.member("title").and_then(Value::as_str).filter(|title| !title.is_empty());
        if let (Some((_, prompt)), Some(title)) = (prompt, title)
            && prompt.contains(title)
        {
            let notices = self.0.entry(update.session);
            if notices.len() < MOST {
                notices.insert(title.to_owned());
            }
        }
    }

    pub(in crate::areas) fn forget(&mut self, conversation: &Conversation, memory: Memory) {
        self.0.forget(conversation, memory);
    }
}
