//! Where and when a check looks.

use super::conversation::Conversation;
use crate::requirement::Party;

/// Where and when a check looks.
#[derive(Clone, Copy)]
pub struct Moment<'m> {
    /// The conversation as it stood before the event.
    pub talk: &'m Conversation,
    /// The position of the event.
    pub n: usize,
    /// Microseconds since the start of the trace.
    pub us: u64,
    /// Who sent what is looked at.
    pub from: Party,
}
