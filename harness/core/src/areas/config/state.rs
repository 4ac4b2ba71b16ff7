//! The values that the client set although no list has them.

use std::collections::BTreeSet;

use crate::areas::Event;
use crate::conversation::{CallSeen, Session, option_values};
use crate::requirement::Party;

/// The unlisted modes and values of options. The agent should refuse them; one that accepts them reports them from then
/// on, which is no further mistake.
#[derive(Debug, Clone, Default)]
pub struct State {
    unlisted: BTreeSet<String>,
}

/// The most values that are remembered.
const MOST: usize = 256;

impl State {
    /// Whether the client set this mode, or this value of an option, while the agent did not list it.
    #[must_use]
    pub fn was_set_unlisted(&self, value: &str) -> bool {
        self.unlisted.contains(value)
    }

    pub(in crate::areas) fn call(&mut self, event: &Event<'_>, call: &CallSeen<'_>) {
        let member = match call.method {
            "session/set_mode" => "modeId",
            "session/set_config_option" => "value",
            _ => return,
        };
        let Some(value) = call.text(member).filter(|_| event.from == Party::Client) else { return };
        let session = call.text("sessionId").and_then(|id| event.conversation.session(id));
        if self.unlisted.len() < MOST && !session.is_some_and(|session| lists(session, value)) {
            self.unlisted.insert(value.to_owned());
        }
    }
}

fn lists(session: &Session, value: &str) -> bool {
    let options = session.options.iter().flatten();
    session.lists_mode(value) || options.flat_map(option_values).any(|offered| offered == value)
}
