//! Sessions that the agent opens: those of subagents, and those that only drafts and other revisions know.

use serde_json::Value;

use super::Conversation;
use crate::wire::Members;

/// The most ids that are remembered.
const MOST: usize = 1 << 12;

impl Conversation {
    /// Records the sessions that an update of a subagent or with a part of another revision names, in any member whose
    /// name ends like the usual one.
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
