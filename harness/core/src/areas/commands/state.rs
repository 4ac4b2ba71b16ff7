//! The commands that came before their session.

use std::collections::BTreeMap;

use crate::areas::Event;
use crate::conversation::UpdateSeen;

/// The sessions whose commands came before the client knew the session: the event.
#[derive(Debug, Default)]
pub struct State {
    pub(super) early: BTreeMap<String, usize>,
}

impl State {
    pub(in crate::areas) fn update(&mut self, event: &Event<'_>, update: &UpdateSeen<'_>) {
        const MOST: usize = 256;
        let is_early = update.known.is_none() && update.variant == "available_commands_update";
        if is_early && self.early.len() < MOST {
            self.early.entry(update.session.to_owned()).or_insert(event.n);
        }
    }
}
