//! The time limits of a run.

use std::time::Duration;

use crate::case::model::LimitOverrides;

/// The time limits of a run. Each is the longest wait for one event; a wait ends as soon as the event comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// For the answer to `initialize`, and for opening a session, where some agents load what they need. Agents on node
    /// or Python take up to 22 s on two loaded cores.
    pub start: Duration,
    /// For the answer to any other request except a prompt.
    pub answer: Duration,
    /// For the end of a turn, which includes calls of a model.
    pub turn: Duration,
    /// For the exit of the subject after its input was closed; then its process group is stopped. Many never exit by
    /// themselves, and no verdict depends on such a late event.
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
    /// Returns these limits with the overrides of a case or a profile.
    pub fn with(mut self, own: &LimitOverrides) -> Self {
        self.start = own.start.unwrap_or(self.start);
        self.answer = own.answer.unwrap_or(self.answer);
        self.turn = own.turn.unwrap_or(self.turn);
        self.exit = own.exit.unwrap_or(self.exit);
        self
    }

    /// Returns the limit for the answer to a request of this method.
    pub fn for_method(&self, method: &str) -> Duration {
        match method {
            "initialize" => self.start,
            "session/prompt" => self.turn,
            // A lower limit than usual is a wish of the user or the case.
            "session/new" | "session/load" | "session/resume" if self.answer < Self::default().answer => self.answer,
            "session/new" | "session/load" | "session/resume" => self.answer.max(self.start),
            _ => self.answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opening_a_session_may_take_as_long_as_a_start() {
        let (usual, second) = (Limits::default(), Duration::from_secs(1));
        assert_eq!(usual.for_method("session/new"), usual.start);
        assert_eq!(usual.for_method("session/list"), usual.answer);
        let patient = Limits { answer: 90 * second, ..usual };
        assert_eq!(patient.for_method("session/load"), 90 * second);
        let wished = Limits { answer: second, ..usual };
        assert_eq!(wished.for_method("session/new"), second);
    }
}
