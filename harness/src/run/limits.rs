//! How long anything is waited for.

use std::time::Duration;

use crate::case::model::LimitOverrides;

/// The time limits of a run. Each ends one kind of wait; none is ever slept through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Until `initialize` is answered. Agents on node or Python take up to 22 s on two loaded cores.
    pub start: Duration,
    /// Until any other request than a prompt is answered; `session/new` may start MCP servers.
    pub answer: Duration,
    /// Until a turn is over; a model is asked in it.
    pub turn: Duration,
    /// Until the subject has ended after its input was closed; then its process group is stopped. Many never end by
    /// themselves, and nothing that comes so late decides anything.
    pub exit: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(30),
            answer: Duration::from_secs(20),
            turn: Duration::from_secs(60),
            exit: Duration::from_millis(500),
        }
    }
}

impl Limits {
    /// These limits, with those that a case or a profile sets for itself.
    #[must_use]
    pub fn with(mut self, own: &LimitOverrides) -> Self {
        self.start = own.start.unwrap_or(self.start);
        self.answer = own.answer.unwrap_or(self.answer);
        self.turn = own.turn.unwrap_or(self.turn);
        self.exit = own.exit.unwrap_or(self.exit);
        self
    }

    /// The limit for the answer to a request of this method.
    #[must_use]
    pub fn for_method(&self, method: &str) -> Duration {
        match method {
            "initialize" => self.start,
            "session/prompt" => self.turn,
            _ => self.answer,
        }
    }
}
