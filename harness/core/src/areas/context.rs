//! The place and time of an input of a check.

use super::Areas;
use crate::conversation::Conversation;
use crate::requirement::Party;

/// The place and time of an input of a check.
#[derive(Clone, Copy)]
pub struct CheckContext<'m> {
    /// The conversation before the event.
    pub conversation: &'m Conversation,
    /// What the areas remember, before the event as well.
    pub(crate) areas: &'m Areas,
    /// The position of the event.
    pub n: usize,
    /// Microseconds since the start of the trace.
    pub us: u64,
    /// The sender.
    pub from: Party,
}
