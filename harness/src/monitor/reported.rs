//! Whether the reports are written.

use std::sync::{Condvar, Mutex};
use std::time::Duration;

use crate::sync::lock;

/// The longest time for which the end of the agent's output is held back. The judge needs a few milliseconds, and
/// longer on a busy machine or after a flood.
const LONGEST: Duration = Duration::from_secs(10);

/// Holds back the end of the agent's output until the reports are written, so that a client which waits for this end
/// finds them.
#[derive(Default)]
pub(super) struct Reported {
    written: Mutex<bool>,
    news: Condvar,
}

impl Reported {
    /// Says that the reports are written, or that there will be none.
    pub(super) fn set(&self) {
        *lock(&self.written) = true;
        self.news.notify_all();
    }

    /// Waits for the reports, within a limit.
    pub(super) fn wait(&self) {
        let written = lock(&self.written);
        drop(self.news.wait_timeout_while(written, LONGEST, |written| !*written));
    }
}
