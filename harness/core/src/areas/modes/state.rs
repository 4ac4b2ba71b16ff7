//! The values that the client set although no list has them.

use std::collections::BTreeSet;

use crate::areas::{CheckContext, Event};
use crate::conversation::{CallSeen, Session, option_values};
use crate::requirement::Party;

/// The unlisted modes and values of options. The agent should refuse them; one that accepts them reports them from then
/// on, and that is not a second mistake.
#[derive(Debug, Clone, Default)]
pub struct State {
    unlisted: BTreeSet<String>,
}

/// The most values that are remembered.
const MOST: usize = 256;

impl State {
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

/// Whether the client may have set this mode or value while it was not listed; a recording may lack its request.
pub(in crate::areas) fn may_be_set_unlisted(ctx: &CheckContext<'_>, value: &str) -> bool {
    ctx.conversation.holes.anywhere || ctx.areas.modes.unlisted.contains(value)
}

fn lists(session: &Session, value: &str) -> bool {
    let options = session.options.iter().flatten();
    session.lists_mode(value) || options.flat_map(option_values).any(|offered| offered == value)
}
