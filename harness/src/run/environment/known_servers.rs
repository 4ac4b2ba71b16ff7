//! Whether a subject uses the MCP servers that it gets, as observed in this run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Whether the subject uses MCP servers, as observed in this run. This only saves time: a subject that sent no message
/// during one wait gets less time later, unless it tries to call a tool of a server. Without such an attempt, no
/// requirement fails.
#[derive(Debug, Clone, Default)]
pub struct KnownServers(Arc<AtomicU8>);

const SILENT: u8 = 1;
const HEARD: u8 = 2;

impl KnownServers {
    /// Whether a wait passed without a message to a server, and no other case got one.
    pub(in crate::run) fn are_silent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == SILENT
    }

    /// Records the end of a wait, and whether a server got a message in the case.
    pub(in crate::run) fn note(&self, is_heard: bool) {
        self.0.fetch_max(if is_heard { HEARD } else { SILENT }, Ordering::Relaxed);
    }
}
