//! The log of each turn, for cancels, crossing messages and late output: it is kept until the next turn begins.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::{Conversation, Decision, Exchange};
use crate::conversation::outcome::Outcome;
use crate::conversation::timing::{CANCEL_SWEEP, between};
use crate::protocol::Update;
use crate::requirement::Party;
use crate::wire::{Call, Members, RpcId};

/// The facts about the login; each is an event.
#[derive(Debug, Clone, Default)]
pub struct Login {
    /// A `session/new` was refused with -32000: the event of the answer, and the `cwd` of the request.
    pub wanted: Option<(usize, Option<String>)>,
    /// An `authenticate`, or `auth/login` of version 2, succeeded, and no logout after it.
    pub done: Option<usize>,
    /// A `logout` succeeded, and no `authenticate` after it.
    pub undone: Option<usize>,
    /// The method id of the last `authenticate` that succeeded.
    pub method: Option<String>,
    /// A `session/new` succeeded after that `authenticate`, so the login worked.
    pub unlocked: bool,
}

/// A `$/cancel_request`.
#[derive(Debug, Clone)]
pub struct CancelRequest {
    /// The position of its event in the trace.
    pub n: usize,
    /// The sender.
    pub from: Party,
    /// The id that it names.
    pub id: RpcId,
    /// The time at which it came, in microseconds since the start of the trace.
    pub us: u64,
    /// Whether a request with that id was open.
    pub open: bool,
}

/// A prompt that was answered with an error.
#[derive(Debug, Clone)]
pub struct Refused {
    /// The event of the answer.
    pub n: usize,
    /// The params of the prompt.
    pub params: Value,
    /// The error.
    pub error: Value,
    /// Whether the agent had acted on it before; see [`TurnLog::acted`].
    pub acted: bool,
}

/// The log of one turn.
#[derive(Debug, Clone, Default)]
pub struct TurnLog {
    /// The event of the prompt.
    pub n: usize,
    /// The end of the turn before it, if there was one since the session was opened.
    pub after: Option<After>,
    /// Whether the agent showed before the prompt that it had read the last cancel of the session.
    pub cancel_read: bool,
    /// Event and microseconds of the answer.
    pub ended: Option<(usize, u64)>,
    /// Whether the answer is an error.
    pub failed: bool,
    /// Whether the answer reports that the turn was cancelled.
    pub gave_up: bool,
    /// Whether the client sent `$/cancel_request` for the prompt.
    pub cancel_requested: bool,
    /// The situation when the turn was cancelled.
    pub at_cancel: Option<AtCancel>,
    /// The event of another act of the client on the session, such as a second prompt.
    pub disturbed: Option<usize>,
    /// Whether the agent reported content of the turn, apart from the user's message, or made a request in its
    /// session. Then it accepted the prompt, whatever its answer is.
    pub acted: bool,
    /// The event of another prompt of the session that was unanswered at the same time. Agents may run both, queue or
    /// refuse the second, or stop the first, so events in the session may belong to either.
    pub overlapped: Option<usize>,
    /// The events of its prompts without an answer: its own, and later ones that came while it ran.
    pub unanswered: BTreeSet<usize>,
    /// The effects of the agent on the client's environment.
    pub side_effects: Vec<SideEffect>,
    /// The microseconds of the last update that is content of the turn.
    pub last_output_us: Option<u64>,
    /// A permission request that the client answered as cancelled directly after its cancel of another session: the
    /// events of that cancel and of the answer.
    pub swept: Option<(usize, usize)>,
    /// A permission request that the client answered as cancelled at once, although the client cancelled only the turn
    /// before: the events of that cancel and of the answer. Before that, its user selected an option in the session.
    pub still_cancelled: Option<(usize, usize)>,
}

/// The turn before a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// It was not cancelled, and ended with a result.
    Result,
    /// The client cancelled it.
    Cancel {
        /// Whether it ended as cancelled or with an error. Otherwise it may have ended before the agent read the
        /// cancel.
        had_effect: bool,
    },
    /// It ended with an error.
    Error,
}

/// The situation when a turn was cancelled.
#[derive(Debug, Clone)]
pub struct AtCancel {
    /// The event of the cancel.
    pub n: usize,
    /// Microseconds since the start of the trace.
    pub us: u64,
    /// The bytes of all lines until then.
    pub heard: u64,
    /// The agent's requests in the session that waited for the client: event and method.
    pub waiting: Vec<(usize, String)>,
    /// The terminals whose exit the agent waited for.
    pub awaited: BTreeSet<String>,
}

/// An effect of the agent on the client's environment: a written file or a command.
#[derive(Debug, Clone)]
pub struct SideEffect {
    /// The event of the request.
    pub n: usize,
    /// What it changes.
    pub target: Target,
}

/// What a request of the agent to the client changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The file with this path.
    File(String),
    /// What a command changes, which has this last argument; a command without arguments has itself here.
    Command(String),
}

impl Target {
    /// Returns the target of a request; `None` if it changes nothing, or does not say what.
    pub fn of(method: &str, params: &Value) -> Option<Self> {
        match method {
            "fs/write_text_file" => Some(Self::File(params.text("path")?.to_owned())),
            "terminal/create" => {
                let arguments = params.list("args").iter().filter_map(Value::as_str);
                let mut command = params.text("command").into_iter().chain(arguments);
                Some(Self::Command(command.rfind(|word| !word.is_empty())?.to_owned()))
            }
            _ => None,
        }
    }
}

/// The longest lists of one turn and of one conversation.
const MOST_NOTED: usize = 256;

impl Conversation {
    /// Returns the `$/cancel_request`s of one party.
    pub fn cancel_requests_of(&self, sender: Party) -> impl DoubleEndedIterator<Item = &CancelRequest> {
        self.cancel_requests.iter().filter(move |cancel| cancel.from == sender)
    }

    /// Returns the logs of the last turns, with the ids of their sessions.
    pub fn turn_logs(&self) -> impl Iterator<Item = (&str, &TurnLog)> {
        self.sessions.iter().filter_map(|(id, session)| Some((id.as_str(), session.log.as_ref()?)))
    }

    /// Returns the time between two moments that counts for a party; `heard` is the number of bytes sent until the
    /// first. A busy machine takes up to a second to read a million bytes, and their sender waits for that.
    pub const fn in_between(&self, (us, heard): (u64, u64), until: u64) -> Duration {
        between(us, until).saturating_sub(Duration::from_micros(self.heard.saturating_sub(heard)))
    }

    fn log_of(&mut self, session: Option<&str>) -> Option<&mut TurnLog> {
        self.sessions.get_mut(session?)?.running_log()
    }

    /// Logs a request or a notification; the conversation is still as before it.
    pub(super) fn log_call(&mut self, now: (usize, u64), from: Party, call: &Call<'_>, update: Option<&Update<'_>>) {
        let (n, params) = (now.0, call.params.unwrap_or(&Value::Null));
        if from == Party::Agent {
            self.first_call.get_or_insert(n);
        }
        let session = params.text("sessionId");
        if from == Party::Agent
            && call.id.is_some()
            && let Some(log) = self.log_of(session)
        {
            log.acted = true;
        }
        let asks = from == Party::Client && call.method != "session/prompt" && call.id.is_some();
        if let Some(session) = session.filter(|_| asks).and_then(|id| self.sessions.get_mut(id)) {
            session.asked = Some(n);
        }
        match (from, call.method) {
            (Party::Client, "session/prompt") => self.log_prompt(n, session.unwrap_or_default()),
            (Party::Client, "session/load" | "session/resume") => {
                self.disturb(n, session);
                if let Some(session) = session.and_then(|id| self.sessions.get_mut(id)) {
                    (session.log, session.asked, session.refused) = (None, None, None);
                }
            }
            (Party::Client, "session/delete" | "logout") => self.disturb(n, session),
            // As a request, it violates a requirement on the client, and the agent may obey or refuse it.
            (Party::Client, "session/cancel") if call.id.is_some() => self.disturb(n, session),
            (Party::Client, "session/cancel") => self.log_cancel(now, session.unwrap_or_default()),
            (_, "$/cancel_request") => self.log_cancel_request(now, from, params),
            (Party::Agent, method @ ("fs/write_text_file" | "terminal/create")) => {
                let log = self.log_of(session).filter(|log| log.side_effects.len() < MOST_NOTED);
                if let Some((log, target)) = log.zip(Target::of(method, params)) {
                    log.side_effects.push(SideEffect { n, target });
                }
            }
            (Party::Agent, "session/update") => {
                if let Some(update) = update {
                    self.log_update(now, update);
                }
            }
            _ => {}
        }
    }

    fn log_prompt(&mut self, n: usize, id: &str) {
        self.disturb(n, Some(id));
        let other = self.open_prompt(id);
        let Some(session) = self.session(id) else { return };
        if session.turn.is_some() {
            if let Some(log) = self.log_of(Some(id)) {
                log.overlapped = log.overlapped.or(Some(n));
                log.unanswered.insert(n);
            }
            return;
        }
        let before = session.log.as_ref().filter(|log| log.ended.is_some());
        let last_cancel = before.and_then(|log| log.at_cancel.as_ref());
        let read = |n: usize| self.answered_after(Party::Agent, n);
        let cancel_read = session
            .idle_cancel
            .map_or_else(|| before.is_some_and(|log| log.gave_up) || last_cancel.is_some_and(|at| read(at.n)), read);
        let after = before.map(|log| match log.at_cancel {
            Some(_) => After::Cancel { had_effect: log.gave_up || log.failed },
            // The reason why the agent did not accept the last prompt may still exist.
            None if log.failed => log.after.unwrap_or(After::Error),
            None => After::Result,
        });
        let log = TurnLog {
            n,
            after,
            cancel_read,
            unanswered: BTreeSet::from([n]),
            overlapped: other,
            disturbed: other,
            ..TurnLog::default()
        };
        if let Some(session) = self.sessions.get_mut(id) {
            session.log = Some(log);
        }
    }

    /// Records another act of the client on a session whose turn is running.
    fn disturb(&mut self, n: usize, named: Option<&str>) {
        let sessions = self.sessions.iter_mut().filter(|(id, _)| named.is_none_or(|named| named == id.as_str()));
        for log in sessions.filter_map(|(_, session)| session.running_log()) {
            log.disturbed = log.disturbed.or(Some(n));
        }
    }

    fn log_cancel(&mut self, (n, us): (usize, u64), session: &str) {
        let serves = |open: &&Exchange| self.edition.methods.knows(Party::Agent, &open.method);
        let waiting = self.open_of(Party::Agent).filter(serves).filter(|open| open.session() == Some(session));
        let waiting: Vec<&Exchange> = waiting.collect();
        let awaited = waiting.iter().filter(|open| open.method == "terminal/wait_for_exit");
        let awaited = awaited.filter_map(|open| Some(open.text("terminalId")?.to_owned())).collect();
        let waiting = waiting.iter().map(|open| (open.n, open.method.clone())).collect();
        let at = AtCancel { n, us, heard: self.heard, waiting, awaited };
        if let Some(log) = self.log_of(Some(session)) {
            log.at_cancel.get_or_insert(at);
        }
    }

    fn log_cancel_request(&mut self, (n, us): (usize, u64), from: Party, params: &Value) {
        let Some(id) = params.member("requestId").map(RpcId::new) else { return };
        let exchange = self.open.get(&(from, id.clone())).cloned();
        if let Some(exchange) = exchange.as_ref().filter(|exchange| exchange.method == "session/prompt") {
            let session = exchange.session().and_then(|id| self.sessions.get_mut(id));
            if let Some(log) = session.and_then(|session| session.log.as_mut()).filter(|log| log.n == exchange.n) {
                log.cancel_requested = true;
            }
        }
        if self.cancel_requests.len() < MOST_NOTED {
            self.cancel_requests.push(CancelRequest { n, us, from, id, open: exchange.is_some() });
        }
    }

    fn log_update(&mut self, (n, us): (usize, u64), update: &Update<'_>) {
        let content = self.edition.adapter.is_turn_content(update.variant);
        let Some(session) = self.sessions.get_mut(update.session) else {
            if self.unknown_sessions.len() < MOST_NOTED && !self.children.contains_key(update.session) {
                self.unknown_sessions.entry(update.session.to_owned()).or_insert(n);
            }
            return;
        };
        if let Some(log) = session.running_log() {
            log.last_output_us = if content { Some(us) } else { log.last_output_us };
            log.acted |= content && update.variant != "user_message_chunk" || update.variant == "plan_update";
        }
    }

    /// Logs an answer; `exchange` is the request that it answers.
    pub(super) fn log_response(&mut self, now: (usize, u64), exchange: &Exchange, outcome: Outcome<'_>) {
        let n = now.0;
        match (exchange.method.as_str(), outcome) {
            ("session/new", outcome) if outcome.error_code() == Some(-32000) => {
                self.login.wanted = Some((n, exchange.text("cwd").map(str::to_owned)));
            }
            ("session/new", Outcome::Result(_)) => self.login.unlocked |= self.login.done.is_some(),
            ("authenticate" | "auth/login", Outcome::Result(_)) => {
                let method = exchange.text("methodId").map(str::to_owned);
                self.login = Login { done: Some(n), method, wanted: self.login.wanted.take(), ..Login::default() };
            }
            ("logout" | "auth/logout", Outcome::Result(_)) => (self.login.done, self.login.undone) = (None, Some(n)),
            ("session/prompt", outcome) => {
                if let Some(session) = exchange.session().and_then(|id| self.sessions.get_mut(id)) {
                    session.log_answer(now, exchange, outcome);
                }
            }
            ("session/request_permission", outcome) => self.log_sweep(now, exchange, outcome),
            _ => {}
        }
    }

    /// Records that a permission request was answered as cancelled, too soon for a user after the cancel of another
    /// session, or after the request in a turn that follows a cancelled one.
    fn log_sweep(&mut self, (n, us): (usize, u64), exchange: &Exchange, outcome: Outcome<'_>) {
        let Some(id) = exchange.session() else { return };
        if Decision::of(&exchange.params, outcome) != Decision::Cancelled {
            return;
        }
        let is_at_once = exchange.turn_cancelled.is_none() && between(exchange.us, us) < CANCEL_SWEEP;
        let session = self.session(id).filter(|_| is_at_once);
        let cancel = session.and_then(|session| {
            let cancel = session.ended.as_ref()?.cancelled?;
            session.selected.is_some_and(|selected| selected < cancel).then_some(cancel)
        });
        if let (Some(cancel), Some(log)) = (cancel, self.log_of(Some(id))) {
            log.still_cancelled = log.still_cancelled.or(Some((cancel, n)));
        }
        // The cancel of a session ends the work of its children as well.
        let others = self.turn_logs().filter(|(other, _)| *other != id && !self.is_below(id, other));
        let is_meant = |at: &&AtCancel| at.n > exchange.n && between(at.us, us) < CANCEL_SWEEP;
        let meant = others.filter_map(|(_, log)| log.at_cancel.as_ref()).find(is_meant).map(|at| at.n);
        if let (Some(cancel), Some(log)) = (meant, self.log_of(Some(id))) {
            log.swept = log.swept.or(Some((cancel, n)));
        }
    }
}
