//! The pages that users were asked to visit.

use std::{collections::BTreeSet, sync::Mutex};

use super::sync::lock;

/// The visits that are awaited, of all sessions.
#[derive(Debug, Default)]
pub(super) struct Visits {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    n_asked: u64,
    awaited: BTreeSet<String>,
}

impl Visits {
    /// Begins to wait for a visit, and returns its id.
    pub(super) fn begin(&self) -> String {
        let mut state = lock(&self.state);
        state.n_asked += 1;
        let id = format!("visit-{}", state.n_asked);
        state.awaited.insert(id.clone());
        id
    }

    /// Returns whether the visit has not been completed or given up yet.
    pub(super) fn is_awaited(&self, id: &str) -> bool {
        lock(&self.state).awaited.contains(id)
    }

    /// Ends the wait; answers whether the visit was awaited.
    pub(super) fn end(&self, id: &str) -> bool {
        lock(&self.state).awaited.remove(id)
    }
}
