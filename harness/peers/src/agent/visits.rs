//! The pages that users were asked to visit.

use std::{collections::BTreeSet, sync::Mutex};

use super::sync::lock;

/// The awaited visits of all sessions.
#[derive(Debug, Default)]
pub(super) struct Visits {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    requests: u64,
    awaited: BTreeSet<String>,
}

impl Visits {
    /// Begins to wait for a visit, and returns its id.
    pub(super) fn begin(&self) -> String {
        let mut state = lock(&self.state);
        state.requests += 1;
        let id = format!("visit-{}", state.requests);
        state.awaited.insert(id.clone());
        id
    }

    /// Returns whether the visit has not been completed or abandoned yet.
    pub(super) fn is_awaited(&self, id: &str) -> bool {
        lock(&self.state).awaited.contains(id)
    }

    /// Ends the wait; returns whether the visit was awaited.
    pub(super) fn end(&self, id: &str) -> bool {
        lock(&self.state).awaited.remove(id)
    }
}
