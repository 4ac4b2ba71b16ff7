//! Logins in a terminal: the start, the exit, and the client's behaviour afterwards.
//!
//! A login is not a conversation. This module collects its events and the related events of the connections.

use serde_json::Value;

use crate::conversation::Conversation;
use crate::protocol::TerminalLogin;
use crate::requirement::Party;
use crate::trace::{AgentStart, Event, ProcessEvent, What};
use crate::wire::{Content, Members, read_line};

/// The most logins that are kept; more of them add no information about a client.
const MOST_LOGINS: usize = 64;

/// A start of the agent's program for a login in a terminal, with its results.
#[derive(Debug, Clone, Default)]
pub struct LoginProcess {
    /// The event of the start.
    pub n: usize,
    /// The start.
    pub start: AgentStart,
    /// The start of the connection on which the login was offered.
    pub base: AgentStart,
    /// The settings that the login adds to that.
    pub adds: TerminalLogin,
    /// The first message of the protocol that the client wrote to it.
    pub addressed: Option<usize>,
    /// Its first line of output.
    pub printed: Option<usize>,
    /// The tester's end of it: the event, and whether the exit code was 0.
    pub ended: Option<(usize, bool)>,
    /// The fence that was answered on the earlier connection while the login ran.
    pub fenced: Option<usize>,
    /// The first `initialize` on a new connection after the end.
    pub reconnected: Option<usize>,
    /// The first session that the process with the earlier connection opened on a new one after the end.
    pub reopened: Option<usize>,
    /// The first session that was opened on the earlier connection after the end.
    pub kept_on: Option<usize>,
    /// Whether another login was started after the end.
    pub repeated: bool,
    /// Whether an earlier login had failed without a message, and the client treated it as failed.
    pub knows_failure: bool,
    /// The number of its process.
    process: usize,
    /// The number of the connection on which it was offered.
    offered_on: usize,
}

impl LoginProcess {
    /// Returns the event of the end, if the login failed.
    pub fn failed(&self) -> Option<usize> {
        self.ended.filter(|(_, success)| !success).map(|(n, _)| n)
    }

    /// Returns the events that show that the client treated a failed login as successful: it could continue on the
    /// earlier connection, and opened a session on a new one.
    pub fn taken_for_done(&self) -> Option<[usize; 3]> {
        Some([self.failed()?, self.fenced?, self.reopened?])
    }

    /// Whether the login failed and the client treated it as failed, as its next login shows.
    pub fn taken_for_failed(&self) -> bool {
        self.failed().is_some() && self.repeated && self.reconnected.is_none()
    }
}

/// All logins of a trace.
#[derive(Debug, Default)]
pub struct Logins {
    all: Vec<LoginProcess>,
    /// The start of each connection: its number, the event and the start.
    starts: Vec<(usize, usize, AgentStart)>,
}

impl Logins {
    /// Returns all logins in the order of their starts.
    pub fn iter(&self) -> impl Iterator<Item = &LoginProcess> {
        self.all.iter()
    }

    /// Processes a start of the agent's program; `offered` returns the logins that a connection offers, by its number.
    pub(crate) fn started<'t>(
        &mut self,
        event: &Event,
        start: &AgentStart,
        offered: impl Fn(usize) -> Option<&'t Conversation>,
    ) {
        let found = self.starts.iter().rev().find_map(|(connection, _, base)| {
            Some((*connection, base.clone(), meant(start, base, terminal_logins(offered(*connection)?))?))
        });
        let Some((offered_on, base, adds)) = found else {
            if self.starts.len() < MOST_LOGINS {
                self.starts.push((event.connection, event.n, start.clone()));
            }
            return;
        };
        if let Some(last) = self.all.last_mut().filter(|last| last.ended.is_some()) {
            last.repeated = true;
        }
        let knows_failure = self.all.iter().any(|login| login.printed.is_none() && login.taken_for_failed());
        if self.all.len() < MOST_LOGINS {
            self.all.push(LoginProcess {
                n: event.n,
                start: start.clone(),
                base,
                adds,
                knows_failure,
                process: event.connection,
                offered_on,
                ..LoginProcess::default()
            });
        }
    }

    /// Processes an event about a login; false if it is about a connection.
    pub(crate) fn take_in(&mut self, event: &Event) -> bool {
        let about = |login: &&mut LoginProcess| login.process == event.connection;
        let Some(login) = self.all.iter_mut().find(about) else { return false };
        match &event.what {
            What::Line { from: Party::Client, bytes, .. } if is_message(bytes) => {
                login.addressed.get_or_insert(event.n);
            }
            What::Line { from: Party::Agent, .. } => {
                login.printed.get_or_insert(event.n);
            }
            What::Process(ProcessEvent::AgentExited(code)) => login.ended = Some((event.n, *code == 0)),
            What::Process(ProcessEvent::AgentKilled) => login.ended = Some((event.n, false)),
            // Events without a process may be recorded in between.
            What::Step(_) | What::Stderr(_) | What::Stdout(_) => return false,
            _ => {}
        }
        true
    }

    /// Processes a call of the client on a connection.
    pub(crate) fn called(&mut self, connection: usize, n: usize, method: &str) {
        let Some(login) = self.all.last_mut() else { return };
        let Some((end, _)) = login.ended else { return };
        let opens = matches!(method, "session/new" | "session/load" | "session/resume");
        if connection == login.offered_on {
            if opens {
                login.kept_on.get_or_insert(n);
            }
            return;
        }
        let start = self.starts.iter().find(|(number, start, _)| *number == connection && *start > end);
        let Some((_, _, start)) = start else { return };
        if method == "initialize" {
            login.reconnected.get_or_insert(n);
        }
        if opens && start.parent == login.base.parent {
            login.reopened.get_or_insert(n);
        }
    }

    /// Records that a fence was answered on a connection.
    pub(crate) fn fenced(&mut self, connection: usize, n: usize) {
        if let Some(login) = self.all.last_mut().filter(|login| login.offered_on == connection && login.ended.is_none())
        {
            login.fenced = Some(n);
        }
    }
}

/// Returns the login that this start is for, if any; if several fit, the best match.
fn meant(start: &AgentStart, base: &AgentStart, offered: impl Iterator<Item = TerminalLogin>) -> Option<TerminalLogin> {
    let follows = |adds: &TerminalLogin| {
        let args = start.args.strip_suffix(adds.args.as_slice()).is_some_and(|before| before == base.args);
        let env = adds.env.iter().all(|(name, value)| start.values.get(name) == Some(value));
        (args, env, adds.args.len())
    };
    offered.filter(|adds| start.is_login(base, &adds.args, &adds.env)).max_by_key(follows)
}

/// Returns the logins in a terminal that an agent offers.
fn terminal_logins(conversation: &Conversation) -> impl Iterator<Item = TerminalLogin> {
    let result = conversation.initialized.as_ref().map(|(_, result)| result);
    let methods = result.and_then(|result| result.member("authMethods")?.as_array());
    methods.into_iter().flatten().filter_map(TerminalLogin::of)
}

/// Whether a line is a message of JSON-RPC.
fn is_message(bytes: &[u8]) -> bool {
    let has = |value: &Value| value.member("jsonrpc").is_some();
    matches!(read_line(bytes), Content::One { value, .. } if has(&value))
}
