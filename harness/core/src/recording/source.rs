//! What each importer implements: a stream of events that have no position yet.

use super::problem::RecordingProblem;
use crate::trace::What;

/// The importer of one format.
pub(super) trait Source {
    /// Returns the next event, or `None` at the end.
    fn next(&mut self) -> Result<Option<Item>, RecordingProblem>;
}

/// An event that has no position yet.
pub(super) struct Item {
    pub us: u64,
    pub connection: usize,
    pub what: What,
}
