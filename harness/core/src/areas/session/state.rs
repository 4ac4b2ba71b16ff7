//! The states of new sessions.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::areas::Event;
use crate::conversation::UpdateSeen;
use crate::wire::Members;

/// The states that came before the answers that open their sessions.
#[derive(Debug, Default)]
pub struct State {
    /// By session: the last one, with its event.
    pub(super) early: BTreeMap<String, (usize, String)>,
}

/// The most sessions that are remembered.
const MOST: usize = 64;

impl State {
    pub(in crate::areas) fn update(&mut self, event: &Event<'_>, update: &UpdateSeen<'_>) {
        let state = update.body.member("state").and_then(Value::as_str).filter(|_| update.variant == "state_update");
        let Some(state) = state.filter(|_| update.known.is_none() && self.early.len() < MOST) else { return };
        self.early.insert(update.session.to_owned(), (event.n, state.to_owned()));
    }
}
