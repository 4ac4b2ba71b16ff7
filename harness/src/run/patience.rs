//! The first start of a run, which may take longer than its limit on a busy machine.

use tokio::time::Instant;

use super::timing::{BUSY_TICKS, LONGEST_FIRST_START, STILL_STARTING};
use crate::transport::process::used_by_descendants;

/// Lets the first start of a run go on as long as the program uses the processors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    begun: Instant,
    used: u64,
}

impl Patience {
    /// Begins to wait.
    pub(super) fn new() -> Self {
        Self { begun: Instant::now(), used: 0 }
    }

    /// Returns the next deadline, if the program used the processors since the last one.
    pub(super) fn next_deadline(&mut self) -> Option<Instant> {
        let used = used_by_descendants();
        let is_busy = used.saturating_sub(std::mem::replace(&mut self.used, used)) >= BUSY_TICKS;
        let now = Instant::now();
        (is_busy && now.duration_since(self.begun) < LONGEST_FIRST_START).then(|| now + STILL_STARTING)
    }
}
