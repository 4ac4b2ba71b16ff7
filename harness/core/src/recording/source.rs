//! The interface of importers: a stream of events without positions.

use super::problem::RecordingProblem;
use crate::trace::What;

/// The importer of one format.
pub(super) trait Source {
    /// Returns the next event, or `None` at the end.
    fn next(&mut self) -> Result<Option<Item>, RecordingProblem>;
}

/// An event without a position.
pub(super) struct Item {
    pub us: u64,
    pub connection: usize,
    pub what: What,
}
