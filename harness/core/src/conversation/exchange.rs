//! A request that waits for its answer.

use serde_json::Value;

use crate::conversation::outcome::Outcome;
use crate::protocol::Edition;
use crate::requirement::Party;
use crate::wire::{Members, RpcId};

/// What a conductor sends to a proxy instead of `initialize`, with the same params and the same response.
pub(crate) const PROXY_INITIALIZE: &str = "proxy/initialize";

/// Whether a request of this method opens a connection.
pub(crate) fn opens_connection(method: &str) -> bool {
    method == "initialize" || method == PROXY_INITIALIZE
}

/// A request, from its sending to its answer.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// The event of the request.
    pub n: usize,
    /// Microseconds since the start of the trace.
    pub us: u64,
    /// The bytes of all lines until then.
    pub heard: u64,
    /// The sender.
    pub from: Party,
    /// Its id.
    pub id: RpcId,
    /// Its method.
    pub method: String,
    /// Its params; null if absent.
    pub params: Value,
    /// Whether nothing follows from its answer or its silence: the tester violated the protocol with it on purpose, a
    /// line that could not be read looks like its answer, a server refused it by a status of HTTP, or the client had
    /// left the stream for it.
    pub deliberate: bool,
    /// The event at which its sender asked to cancel it with `$/cancel_request`.
    pub cancel_requested: Option<usize>,
    /// The event of the prompt whose turn ran in its session when it was sent.
    pub turn: Option<usize>,
    /// The event of the `session/cancel` for that turn, before or while the request was open.
    pub turn_cancelled: Option<usize>,
}

impl Exchange {
    /// Whether a missing answer can be a failure: the request is not deliberately wrong, and a double can represent its
    /// id. The specification leaves open how to answer other ids.
    pub fn is_sound(&self) -> bool {
        !self.deliberate && self.id.is_exact()
    }

    /// Whether the request opens a session, new or old.
    pub fn opens_a_session(&self) -> bool {
        matches!(self.method.as_str(), "session/new" | "session/load" | "session/resume" | "session/fork")
    }

    /// Returns the version that this answer to `initialize` agrees on, or to which it refers the client, if it exists
    /// and is not that of the edition.
    pub fn other_version(&self, edition: &Edition, outcome: Outcome<'_>) -> Option<u64> {
        match outcome {
            _ if !opens_connection(&self.method) => None,
            Outcome::Result(result) => edition.other_version(result),
            Outcome::Error(error) => edition.refused_for(&self.params, error),
        }
    }

    /// Returns a string member of the params.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.params.text(name)
    }

    /// Returns the session that the request names.
    pub fn session(&self) -> Option<&str> {
        self.text("sessionId")
    }
}
