//! Child processes in groups of their own, so that a subject ends together with everything it started.
//!
//! [`Launch`] describes a program to start; [`Process`] and [`MergedProcess`] are running programs. Dropping a
//! [`ProcessGroup`] kills the group on every path, including early returns and panics. [`Orphans`] does the same for a
//! whole run and processes that left their group. Signals and the search for escaped descendants are in the platform's
//! sibling module.

mod children;
mod group;
mod launch;
mod stream;
#[cfg(test)]
mod tests;

pub(crate) use crate::transport::unix::read_available;
pub use crate::transport::unix::{
    ProcessorTimes, TreeUse, give_way, is_memory_scarce, is_running, used_by_descendants,
};
pub(in crate::transport) use children::exclusively;
pub use children::{Orphans, end_entry, kill_all, left_behind, reap_marked};
pub use group::{Leader, ProcessGroup};
pub use launch::{Environment, Launch, MergedProcess, Process, SpawnError, TerminalProcess};
pub use stream::{Drained, drain, read_all};

/// The environment variable whose value names the case that a process belongs to; see [`reap_marked`].
pub const CASE_MARKER: &str = "ACP_CONFORMANCE_CASE";

/// The environment variable whose value names the entry of a registry that a process belongs to; see [`end_entry`].
pub const ENTRY_MARKER: &str = "ACP_CONFORMANCE_ENTRY";

/// Asks a process to stop, as Ctrl-C does. It may have exited.
pub fn interrupt(id: u32) {
    crate::transport::unix::signal_process(id, "SIGINT");
}
