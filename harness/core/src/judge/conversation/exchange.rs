//! A request that waits for its answer.

use serde_json::Value;

use crate::requirement::Party;
use crate::wire::{Members, RpcId};

/// A request, from its sending to its answer.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// The event of the request.
    pub n: usize,
    /// Microseconds since the start of the trace.
    pub us: u64,
    /// The bytes of all lines by then.
    pub heard: u64,
    /// Who sent it.
    pub from: Party,
    /// Its id.
    pub id: RpcId,
    /// Its method.
    pub method: String,
    /// Its params; null when absent.
    pub params: Value,
    /// Whether the tester broke the protocol with it on purpose.
    pub deliberate: bool,
    /// The event at which its sender asked to cancel it with `$/cancel_request`.
    pub cancel_requested: Option<usize>,
    /// The event of the prompt whose turn ran in the session that it names, when it was sent.
    pub turn: Option<usize>,
    /// The event of the `session/cancel` for that turn, whether it came while the request was open or before it.
    pub turn_cancelled: Option<usize>,
}

impl Exchange {
    /// Whether its silence can be held against somebody: it is not broken on purpose, and its id is one that doubles hold.
    /// What becomes of any other id is an open question.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        !self.deliberate && self.id.is_exact()
    }

    /// A string member of the params.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.params.member(name)?.as_str()
    }

    /// The session that the request names.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.text("sessionId")
    }
}
