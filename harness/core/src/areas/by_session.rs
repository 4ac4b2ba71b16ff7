//! What an area remembers of each session.

use std::collections::BTreeMap;

use crate::conversation::{Conversation, Memory};

/// What an area remembers of each session, by id.
#[derive(Debug, Clone)]
pub(super) struct BySession<T>(BTreeMap<String, T>);

impl<T> Default for BySession<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Default> BySession<T> {
    pub fn get(&self, session: &str) -> Option<&T> {
        self.0.get(session)
    }

    pub fn get_mut(&mut self, session: Option<&str>) -> Option<&mut T> {
        self.0.get_mut(session?)
    }

    /// Returns each entry with its session.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().map(|(session, entry)| (session.as_str(), entry))
    }

    /// Returns the entry of a session, a new one if there is none.
    pub fn entry(&mut self, session: &str) -> &mut T {
        self.0.entry(session.to_owned()).or_default()
    }

    pub fn remove(&mut self, session: Option<&str>) {
        session.map(|session| self.0.remove(session));
    }

    /// Forgets the sessions that the conversation has forgotten.
    pub fn forget(&mut self, conversation: &Conversation, memory: Memory) {
        if self.0.len() > memory.sessions {
            self.0.retain(|id, _| conversation.sessions.contains_key(id));
        }
    }
}
