//! The tool calls and terminals that the client may cancel one by one.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use tokio::sync::Notify;

use crate::agent::sync::lock;

/// The running tool calls or terminals, by their ids.
#[derive(Debug, Default)]
pub(super) struct Controls {
    running: Mutex<HashMap<String, Arc<Notify>>>,
}

impl Controls {
    /// Offers to cancel a tool call or terminal; its runner waits for the notice.
    pub(super) fn offer(&self, id: &str) -> Arc<Notify> {
        let stop = Arc::new(Notify::new());
        lock(&self.running).insert(id.to_owned(), Arc::clone(&stop));
        stop
    }

    /// Withdraws the offer, since it has ended; returns whether the agent had made it.
    pub(super) fn withdraw(&self, id: &str) -> bool {
        lock(&self.running).remove(id).is_some()
    }

    /// Cancels a tool call or terminal; false if it is unknown, has ended or cannot be cancelled.
    pub(super) fn cancel(&self, id: &str) -> bool {
        let running = lock(&self.running);
        let stop = running.get(id);
        stop.inspect(|stop| stop.notify_one()).is_some()
    }
}
