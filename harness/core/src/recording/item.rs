//! What an importer hands on.

use crate::trace::What;

/// An event without a position.
pub(super) struct Item {
    pub us: u64,
    pub connection: usize,
    pub what: What,
}
