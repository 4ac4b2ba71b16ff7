//! A terminal that the client runs for the agent.

use serde_json::Value;

use super::Exchange;
use crate::conversation::outcome::Outcome;
use crate::wire::Members;

/// A terminal, from its creation to its release.
#[derive(Debug, Clone, Default)]
pub struct Terminal {
    /// The session that it was created in.
    pub session: String,
    /// The event of the client's answer with the id.
    pub created: usize,
    /// Whether a terminal of another session had the id before, so that the id is ambiguous.
    pub shares_id: bool,
    /// The `outputByteLimit` that the agent gave.
    pub limit: Option<u64>,
    /// The event of the `terminal/release`.
    pub released: Option<usize>,
    /// The event that first embedded it in a tool call.
    pub embedded: Option<usize>,
    /// The event of the prompt whose turn was running when it was created.
    pub turn: Option<usize>,
    /// The event that reported the exit of the command to the agent.
    pub exited: Option<usize>,
    /// The first answer with the exit status of the command.
    pub exit: Option<(usize, TerminalExit)>,
    /// The event of the last output that the agent got.
    pub read: Option<usize>,
    /// Whether the client answered a release with an error.
    pub release_refused: bool,
}

/// The exit status of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalExit {
    /// The exit code.
    pub code: Option<i64>,
    /// The signal.
    pub signal: Option<String>,
}

impl TerminalExit {
    /// Reads the members `exitCode` and `signal`; `None` if both are absent or null.
    pub fn of(status: &Value) -> Option<Self> {
        let code = status.member("exitCode").and_then(Value::as_i64);
        let signal = status.text("signal").map(str::to_owned);
        (code.is_some() || signal.is_some()).then_some(Self { code, signal })
    }
}

impl std::fmt::Display for TerminalExit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, &self.signal) {
            (Some(code), None) => write!(f, "code {code}"),
            (None, Some(signal)) => write!(f, "signal {signal}"),
            (Some(code), Some(signal)) => write!(f, "code {code} and signal {signal}"),
            (None, None) => f.write_str("neither code nor signal"),
        }
    }
}

impl Terminal {
    /// Processes the client's answer to a request that names the id of this terminal.
    pub(super) fn learn(&mut self, n: usize, exchange: &Exchange, outcome: Outcome<'_>) {
        if self.is_meant(exchange) {
            self.learn_end(n, exchange, outcome);
        }
        match (exchange.method.as_str(), outcome) {
            ("terminal/wait_for_exit", Outcome::Result(_)) => self.exited = self.exited.or(Some(n)),
            ("terminal/output", Outcome::Result(result)) => {
                let ended = result.member("exitStatus").is_some_and(Value::is_object);
                self.exited = self.exited.or(ended.then_some(n));
                self.read = Some(n);
            }
            ("terminal/release", Outcome::Error(_)) => self.release_refused = true,
            _ => {}
        }
    }

    /// Processes an answer about the exit of the command.
    fn learn_end(&mut self, n: usize, exchange: &Exchange, outcome: Outcome<'_>) {
        let Outcome::Result(result) = outcome else { return };
        let status = match exchange.method.as_str() {
            "terminal/wait_for_exit" => Some(result),
            "terminal/output" => result.member("exitStatus"),
            _ => None,
        };
        let exit = status.and_then(TerminalExit::of).map(|exit| (n, exit));
        self.exit = self.exit.take().or(exit);
    }

    /// Whether a request that names the id is about this terminal, and not about another one that has or had the same
    /// id.
    pub fn is_meant(&self, exchange: &Exchange) -> bool {
        !self.shares_id && exchange.session() == Some(self.session.as_str()) && exchange.n > self.created
    }

    /// Whether the client had reported the exit of the command when this request was sent.
    pub fn ended_before(&self, exchange: &Exchange) -> bool {
        self.exit.as_ref().is_some_and(|(n, _)| *n < exchange.n)
    }
}
