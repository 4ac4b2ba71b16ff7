//! Area `cancel`: `session/cancel`, which ends the running turn of its session.

pub(in crate::areas) mod agent;
pub(in crate::areas) mod client;
pub(in crate::areas) mod v2;

use super::{Check, Event};
use crate::conversation::CallSeen;
use crate::requirement::Party;

/// The checks of the area.
pub(super) const CHECKS: &[&[Check]] = &[agent::CHECKS, client::CHECKS, v2::CHECKS];

/// The cancels that no turn shows.
#[derive(Debug, Default)]
pub struct State {
    /// The last `session/cancel` for a session that the client does not know.
    stray: Option<usize>,
}

impl State {
    pub(super) fn call(&mut self, event: &Event<'_>, call: &CallSeen<'_>) {
        if event.from == Party::Client && call.method == "session/cancel" && call.id.is_none() {
            let session = event.conversation.session(call.text("sessionId").unwrap_or_default());
            self.stray = if session.is_none() { Some(event.n) } else { self.stray };
        }
    }
}
