//! Whether a subject uses the MCP servers that it is given, as far as a run has seen.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// Whether the subject uses MCP servers, as far as a run has seen. It only saves time: a subject that sent no message during one wait is
/// given less time later, unless it tries to call a tool of a server. Without such an attempt, nothing fails.
#[derive(Debug, Clone, Default)]
pub struct KnownServers(Arc<AtomicU8>);

const SILENT: u8 = 1;
const HEARD: u8 = 2;

impl KnownServers {
    /// Whether a wait passed without any message to a server, and none came in any other case.
    pub(in crate::run) fn are_silent(&self) -> bool {
        self.0.load(Ordering::Relaxed) == SILENT
    }

    /// Notes the end of a wait: whether a server got any message in the case.
    pub(in crate::run) fn note(&self, is_heard: bool) {
        self.0.fetch_max(if is_heard { HEARD } else { SILENT }, Ordering::Relaxed);
    }
}
