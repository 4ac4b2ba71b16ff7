//! An event that the areas remember.

use crate::conversation::Conversation;
use crate::requirement::Party;

/// An event that the checks have read, and the conversation before it.
pub(crate) struct Event<'e> {
    pub conversation: &'e Conversation,
    /// The position of the event.
    pub n: usize,
    /// Microseconds since the start of the trace.
    pub us: u64,
    pub from: Party,
}
