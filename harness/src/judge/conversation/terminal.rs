//! A terminal that the client runs for the agent.

use serde_json::Value;

use super::Exchange;
use crate::judge::moment::Outcome;

/// A terminal, from its creation to its release.
#[derive(Debug, Clone)]
pub struct Terminal {
    /// The session that it was created in.
    pub session: String,
    /// The event of the client's answer with the id.
    pub created: usize,
    /// The `outputByteLimit` that the agent gave.
    pub limit: Option<u64>,
    /// The event of the first `terminal/kill`.
    pub killed: Option<usize>,
    /// The event of the first answer to `terminal/kill` that was no error.
    pub kill_done: Option<usize>,
    /// The event of the `terminal/release`.
    pub released: Option<usize>,
    /// The event of the answer to `terminal/release` that was no error.
    pub release_done: Option<usize>,
    /// The event that first embedded it in a tool call.
    pub embedded: Option<usize>,
    /// The event of the prompt whose turn was running when it was created.
    pub turn: Option<usize>,
    /// The event that told the agent that the command had ended.
    pub exited: Option<usize>,
    /// The first answer that said how the command had ended.
    pub exit: Option<(usize, Exit)>,
    /// The event of the last output that the agent got.
    pub read: Option<usize>,
    /// The event of the first output that was asked for behind the end of the command, and was not empty.
    pub last_words: Option<usize>,
    /// Whether the client answered a release with an error.
    pub release_refused: bool,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// The exit code.
    pub code: Option<i64>,
    /// The signal.
    pub signal: Option<String>,
}

impl Exit {
    /// Reads the members `exitCode` and `signal`; none when both are absent or null.
    #[must_use]
    pub fn of(status: &Value) -> Option<Self> {
        let code = status.get("exitCode").and_then(Value::as_i64);
        let signal = status.get("signal").and_then(Value::as_str).map(str::to_owned);
        (code.is_some() || signal.is_some()).then_some(Self { code, signal })
    }
}

impl std::fmt::Display for Exit {
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
    /// A terminal that was created by the event `created`.
    #[must_use]
    pub fn new(session: &str, created: usize) -> Self {
        Self {
            session: session.to_owned(),
            created,
            limit: None,
            killed: None,
            kill_done: None,
            released: None,
            release_done: None,
            embedded: None,
            turn: None,
            exited: None,
            exit: None,
            read: None,
            last_words: None,
            release_refused: false,
        }
    }

    /// Takes in the client's answer to a request about this terminal.
    pub(super) fn learn(&mut self, n: usize, exchange: &Exchange, outcome: Outcome<'_>) {
        match (exchange.method.as_str(), outcome) {
            ("terminal/wait_for_exit", Outcome::Result(result)) => {
                self.exited = self.exited.or(Some(n));
                self.learn_exit(n, Some(result));
            }
            ("terminal/output", Outcome::Result(result)) => {
                let printed = result.get("output").and_then(Value::as_str).is_some_and(|output| !output.is_empty());
                if printed && self.ended_before(exchange) {
                    self.last_words = self.last_words.or(Some(n));
                }
                let status = result.get("exitStatus").filter(|status| status.is_object());
                self.exited = self.exited.or(status.map(|_| n));
                self.learn_exit(n, status);
                self.read = Some(n);
            }
            ("terminal/kill", Outcome::Result(_)) => self.kill_done = self.kill_done.or(Some(n)),
            ("terminal/release", Outcome::Result(_)) => self.release_done = self.release_done.or(Some(n)),
            ("terminal/release", Outcome::Error(_)) => self.release_refused = true,
            _ => {}
        }
    }

    fn learn_exit(&mut self, n: usize, status: Option<&Value>) {
        let exit = status.and_then(Exit::of).map(|exit| (n, exit));
        self.exit = self.exit.take().or(exit);
    }

    /// Whether the client had said how the command ended when this request was sent.
    #[must_use]
    pub fn ended_before(&self, exchange: &Exchange) -> bool {
        self.exit.as_ref().is_some_and(|(n, _)| *n < exchange.n)
    }
}
