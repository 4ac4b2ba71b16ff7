//! Sessions that the agent opens: those of subagents, and those that only drafts and other revisions know.

use serde_json::Value;

use super::Conversation;
use crate::protocol::Update;
use crate::wire::Members;

/// The most ids that are remembered.
const MOST: usize = 1 << 12;

/// The update by which an agent announces a child session, or changes what it reported about one.
pub(crate) const SUBAGENT: &str = "subagent_update";

/// A session that another one owns: that of a subagent.
#[derive(Debug, Clone)]
pub struct Child {
    /// The session on which the agent announced it: one of the client, or another child.
    pub parent: String,
    /// The event of the first announcement.
    pub n: usize,
}

impl Conversation {
    /// Whether the client knows the session: it opened it, or the agent announced it as a child of a known session.
    pub fn knows_session(&self, id: &str) -> bool {
        self.sessions.contains_key(id) || self.children.contains_key(id)
    }

    /// Whether the session `id` is a child of `parent`, or a child of one.
    pub fn is_below(&self, id: &str, parent: &str) -> bool {
        let mut id = id;
        // The announcements of an agent may form a circle.
        for _ in 0..self.children.len() {
            match self.children.get(id) {
                Some(child) if child.parent == parent => return true,
                Some(child) => id = &child.parent,
                None => return false,
            }
        }
        false
    }

    /// Whether the client waits for the agent to open a session again, so that updates may be history.
    pub fn is_replaying(&self) -> bool {
        self.sessions.values().any(|session| session.loading.is_some() || session.resuming.is_some())
    }

    /// Records the child that an update announces. An announcement on a session that the client cannot know makes no
    /// child, but its id may be used later: that is the same mistake.
    pub(super) fn learn_child(&mut self, n: usize, update: &Update<'_>) {
        let id = update.body.text("sessionId").filter(|_| update.variant == SUBAGENT);
        let Some(id) = id.filter(|id| *id != update.session) else { return };
        if self.knows_session(id) {
            return;
        }
        if self.children.len() + self.announced_sessions.len() >= MOST {
            self.holes.sessions = true;
            return;
        }
        if self.knows_session(update.session) || self.may_know_session(update.session) {
            self.children.insert(id.to_owned(), Child { parent: update.session.to_owned(), n });
        } else {
            self.announced_sessions.insert(id.to_owned());
        }
    }

    /// Records the sessions that an update with a part of another revision names, in any member whose name ends like
    /// the usual one.
    pub(crate) fn learn_announced_sessions(&mut self, method: &str, params: &Value) {
        if let Some(update) = params.member("update").filter(|_| method == "session/update") {
            self.learn_session_ids(update);
        }
    }

    fn learn_session_ids(&mut self, value: &Value) {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    let id = value.as_str().filter(|_| name == "sessionId" || name.ends_with("SessionId"));
                    match id {
                        Some(id) if self.announced_sessions.len() < MOST => {
                            self.announced_sessions.insert(id.to_owned());
                        }
                        _ => self.learn_session_ids(value),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.learn_session_ids(item)),
            _ => {}
        }
    }
}
