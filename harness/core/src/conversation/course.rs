//! The detailed history for single checks: cancelled turns, logins, crossing ids.
//!
//! This fold is separate from that in `apply`, which keeps the present state. It reads each event before `apply` changes the
//! conversation, and it keeps a turn until the next one begins, while `apply` drops a turn with its response.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use serde_json::Value;

use super::{Conversation, Decision, Exchange};
use crate::conversation::outcome::Outcome;
use crate::conversation::seen::{Answer, LineSeen};
use crate::conversation::timing::{CANCEL_SWEEP, between};
use crate::protocol::Update;
use crate::requirement::Party;
use crate::wire::{Call, Content, Envelope, LineEnd, Members, RpcId};

/// The history in addition to the sessions and exchanges themselves.
#[derive(Debug, Clone, Default)]
pub struct Course {
    /// The last line of each party: its event and microseconds.
    pub last_line: BTreeMap<Party, (usize, u64)>,
    /// The bytes of all lines so far, of both parties; see [`Course::in_between`].
    pub heard: u64,
    /// By sender: the last line that contains a Unicode line separator other than a line feed as a raw character.
    pub separated: BTreeMap<Party, usize>,
    /// By sender: the latest lines that are not messages, oldest first.
    pub garbled: BTreeMap<Party, VecDeque<Garbled>>,
    /// The agent's first request or notification.
    pub first_call: Option<usize>,
    /// The microseconds at which the subject's input was closed, or the subject stopped.
    pub closed_us: Option<u64>,
    /// The state of the login.
    pub login: Login,
    /// Sessions that an update named before the client knew them, with the event.
    pub strangers: BTreeMap<String, usize>,
    /// Those of them that contained commands, with the event.
    pub early_commands: BTreeMap<String, usize>,
    /// The last `session/cancel` for a session that the client does not know.
    pub stray_cancel: Option<usize>,
    /// The `$/cancel_request`s of both parties.
    pub cancel_requests: Vec<CancelRequest>,
    /// Requests whose id an open request of the other party also had: the events of both.
    pub twins: BTreeMap<usize, usize>,
    /// The history of the single sessions, by id.
    pub sessions: BTreeMap<String, SessionCourse>,
}

/// A line that is not a message.
#[derive(Debug, Clone)]
pub struct Garbled {
    /// The position of its event in the trace.
    pub n: usize,
    /// The reason why it is not a message.
    pub kind: GarbledKind,
    /// The readable id in it.
    pub id: Option<RpcId>,
    /// The event of the answer.
    pub answer: Option<usize>,
}

/// The reason why a line is not a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GarbledKind {
    /// It is not JSON.
    NotJson,
    /// It is JSON, and neither a message nor a list.
    NotMessage,
    /// No requirement determines the code of its answer: a list, bytes that are not UTF-8, or a notification that the tester
    /// broke on purpose.
    Other,
}

impl Garbled {
    fn of(n: usize, content: &Content) -> Option<Self> {
        let (kind, id) = match content {
            Content::NotJson { .. } => (GarbledKind::NotJson, None),
            Content::One { value, .. } if value.is_array() => (GarbledKind::Other, None),
            Content::One { value, .. } if matches!(Envelope::of(value), Envelope::Unclear) => {
                (GarbledKind::NotMessage, value.member("id").map(RpcId::new))
            }
            // A reader that refuses the line answers it like a line that it cannot read.
            Content::One { refused: true, .. } | Content::Several { .. } | Content::NotUtf8(_) => {
                (GarbledKind::Other, None)
            }
            Content::One { .. } | Content::Blank => return None,
        };
        Some(Self { n, kind, id, answer: None })
    }

    /// Whether an answer may belong to this line: it answers no request, and has the line's id, no id or null, or a code for
    /// unreadable lines.
    #[must_use]
    pub fn is_meant(&self, answer: &Answer<'_>) -> bool {
        let id = answer.id.filter(|id| **id != RpcId::Null);
        let telling = matches!(answer.outcome.error_code(), Some(-32700 | -32600));
        answer.exchange.is_none() && (telling || id.is_none_or(|id| self.id.as_ref() == Some(id)))
    }

    fn is_unanswered(&self) -> bool {
        // A list may get one answer for each of its entries.
        self.answer.is_none() || self.kind == GarbledKind::Other
    }

    /// Returns the code that JSON-RPC defines for such a line.
    #[must_use]
    pub const fn code(&self) -> Option<i64> {
        match self.kind {
            GarbledKind::NotJson => Some(-32700),
            GarbledKind::NotMessage => Some(-32600),
            GarbledKind::Other => None,
        }
    }
}

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

/// The detailed history of one session.
#[derive(Debug, Clone, Default)]
pub struct SessionCourse {
    /// The running turn, or the last one since the session was opened.
    pub turn: Option<TurnCourse>,
    /// The variant of the last chunk and whether it had a message id, as long as no other message came after it.
    pub chunk_run: Option<(String, bool)>,
    /// Entries that the last plan left out, if it contained only entries of the one before: text, with the others' texts.
    pub plan_dropped: BTreeSet<String>,
    /// The tool calls that updates mentioned.
    pub reported: BTreeSet<String>,
    /// The kinds of tool calls, if they were given.
    pub kinds: BTreeMap<String, String>,
    /// The client's last request about the session other than a prompt.
    pub asked: Option<usize>,
    /// The last prompt that was refused although no turn came before it.
    pub refused: Option<Refused>,
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
    /// Whether the agent had acted on it before; see [`TurnCourse::acted`].
    pub acted: bool,
}

/// The detailed history of one turn.
#[derive(Debug, Clone, Default)]
pub struct TurnCourse {
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
    /// Whether the agent reported content of the turn, apart from the user's message, or made a request in its session. Then it
    /// accepted the prompt, whatever its answer is.
    pub acted: bool,
    /// The event of another prompt of the session that was unanswered at the same time. Agents may run both, queue or refuse
    /// the second, or stop the first, so events in the session may belong to either.
    pub overlapped: Option<usize>,
    /// The events of its prompts without an answer: its own, and later ones that came while it ran.
    pub unanswered: BTreeSet<usize>,
    /// The effects of the agent on the client's environment.
    pub deeds: Vec<Deed>,
    /// The microseconds of the last update that is content of the turn.
    pub last_output_us: Option<u64>,
    /// A permission request that the client answered as cancelled directly after its cancel of another session: the events of
    /// that cancel and of the answer.
    pub swept: Option<(usize, usize)>,
}

/// The turn before a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// It was not cancelled, and ended with a result.
    Result,
    /// The client cancelled it.
    Cancel {
        /// Whether it ended as cancelled or with an error. Otherwise it may have ended before the agent read the cancel.
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
pub struct Deed {
    /// The event of the request.
    pub n: usize,
    /// The path of the file; `None` for a command.
    pub path: Option<String>,
}

impl SessionCourse {
    fn prompt_answered(&mut self, now: (usize, u64), exchange: &Exchange, outcome: Outcome<'_>) {
        let Some(turn) = self.turn.as_mut() else { return };
        if !turn.unanswered.remove(&exchange.n) || !turn.unanswered.is_empty() {
            return;
        }
        turn.ended = Some(now);
        turn.failed = matches!(outcome, Outcome::Error(_));
        turn.gave_up = matches!(outcome, Outcome::Result(result) if result.member("stopReason").and_then(Value::as_str) == Some("cancelled"));
        match outcome {
            Outcome::Error(error) if turn.after.is_none() && turn.disturbed.is_none() && !exchange.deliberate => {
                let (params, error) = (exchange.params.clone(), error.clone());
                self.refused = Some(Refused { n: now.0, params, error, acted: turn.acted });
            }
            _ => self.refused = None,
        }
    }
}

/// The longest lists of one turn and of one conversation.
const MOST_NOTED: usize = 256;

impl Course {
    /// Returns the `$/cancel_request`s of one party.
    pub fn cancel_requests_of(&self, sender: Party) -> impl DoubleEndedIterator<Item = &CancelRequest> {
        self.cancel_requests.iter().filter(move |cancel| cancel.from == sender)
    }

    /// Returns the history of one session.
    #[must_use]
    pub fn session(&self, id: &str) -> Option<&SessionCourse> {
        self.sessions.get(id)
    }

    /// Returns the time between two moments that counts for a party; `heard` is the number of bytes sent until the first. A
    /// busy machine takes up to a second to read a million bytes, and their sender waits for that.
    #[must_use]
    pub const fn in_between(&self, (us, heard): (u64, u64), until: u64) -> Duration {
        between(us, until).saturating_sub(Duration::from_micros(self.heard.saturating_sub(heard)))
    }

    /// Processes a line before its content.
    pub(crate) fn line(&mut self, n: usize, from: Party, line: &LineSeen<'_>) {
        if let Some(garbled) = Garbled::of(n, line.content).filter(|_| line.end == LineEnd::Lf) {
            self.note_garbled(from, garbled);
        }
        let text = || std::str::from_utf8(line.bytes).unwrap_or_default();
        if !line.is_ascii && text().contains(['\u{2028}', '\u{2029}', '\u{85}']) {
            self.separated.insert(from, n);
        }
    }

    /// Processes a request or a notification; `talk` is the conversation before it.
    pub(crate) fn call(
        &mut self,
        talk: &Conversation,
        (n, us): (usize, u64),
        from: Party,
        call: &Call<'_>,
        update: Option<&Update<'_>>,
    ) {
        let params = call.params.unwrap_or(&Value::Null);
        if from == Party::Agent {
            self.first_call.get_or_insert(n);
        }
        let session = params.member("sessionId").and_then(Value::as_str);
        if from == Party::Agent && call.id.is_some() {
            let turn = session.and_then(|id| self.sessions.get_mut(id)?.turn.as_mut());
            turn.into_iter().filter(|turn| turn.ended.is_none()).for_each(|turn| turn.acted = true);
        }
        if let Some(twin) = call.id.and_then(|id| talk.open.get(&(from.other(), RpcId::new(id)))) {
            self.twins.insert(n, twin.n);
        }
        let asks = from == Party::Client && call.method != "session/prompt" && call.id.is_some();
        if let Some(id) = session.filter(|id| asks && talk.session(id).is_some()) {
            self.sessions.entry(id.to_owned()).or_default().asked = Some(n);
        }
        match (from, call.method) {
            (Party::Client, "session/prompt") => self.prompt(talk, n, session.unwrap_or_default()),
            (Party::Client, "session/load" | "session/resume") => {
                self.disturb(n, session);
                self.sessions.remove(session.unwrap_or_default());
            }
            (Party::Client, "session/delete" | "logout") => self.disturb(n, session),
            // As a request, it violates a requirement on the client, and the agent may obey or refuse it.
            (Party::Client, "session/cancel") if call.id.is_some() => self.disturb(n, session),
            (Party::Client, "session/cancel") => self.cancel(talk, (n, us), session.unwrap_or_default()),
            (_, "$/cancel_request") => self.cancel_request(talk, (n, us), from, params),
            (Party::Agent, "fs/write_text_file" | "terminal/create") => {
                let turn = session.and_then(|id| self.sessions.get_mut(id)?.turn.as_mut());
                if let Some(turn) = turn.filter(|turn| turn.ended.is_none() && turn.deeds.len() < MOST_NOTED) {
                    turn.deeds.push(Deed { n, path: params.member("path").and_then(Value::as_str).map(str::to_owned) });
                }
            }
            (Party::Agent, "session/update") => {
                if let Some(update) = update {
                    self.update(talk, (n, us), update);
                }
            }
            (Party::Agent, "session/request_permission") => {
                if let Some(call) = params.member("toolCall") {
                    self.sessions.entry(session.unwrap_or_default().to_owned()).or_default().learn_kind(call);
                }
            }
            _ => {}
        }
    }

    fn prompt(&mut self, talk: &Conversation, n: usize, session: &str) {
        self.disturb(n, Some(session));
        let other = talk.open_prompt(session);
        let Some(known) = talk.session(session) else { return };
        let course = self.sessions.entry(session.to_owned()).or_default();
        if known.turn.is_some() {
            if let Some(turn) = course.turn.as_mut().filter(|turn| turn.ended.is_none()) {
                turn.overlapped = turn.overlapped.or(Some(n));
                turn.unanswered.insert(n);
            }
        } else {
            let before = course.turn.take().filter(|turn| turn.ended.is_some());
            let last_cancel = before.as_ref().and_then(|turn| turn.at_cancel.as_ref());
            let read = |n: usize| talk.answered_after(Party::Agent, n);
            let cancel_read = known.idle_cancel.map_or_else(
                || before.as_ref().is_some_and(|turn| turn.gave_up) || last_cancel.is_some_and(|at| read(at.n)),
                read,
            );
            let after = before.map(|turn| match turn.at_cancel {
                Some(_) => After::Cancel { had_effect: turn.gave_up || turn.failed },
                // The reason why the agent did not accept the last prompt may still exist.
                None if turn.failed => turn.after.unwrap_or(After::Error),
                None => After::Result,
            });
            course.turn = Some(TurnCourse {
                n,
                after,
                cancel_read,
                unanswered: BTreeSet::from([n]),
                overlapped: other,
                disturbed: other,
                ..TurnCourse::default()
            });
            course.chunk_run = None;
            course.plan_dropped.clear();
        }
    }

    /// Records another act of the client on a session whose turn is running.
    fn disturb(&mut self, n: usize, named: Option<&str>) {
        for (_, course) in self.sessions.iter_mut().filter(|(id, _)| named.is_none_or(|named| named == id.as_str())) {
            if let Some(turn) = course.turn.as_mut().filter(|turn| turn.ended.is_none()) {
                turn.disturbed = turn.disturbed.or(Some(n));
            }
        }
    }

    fn cancel(&mut self, talk: &Conversation, (n, us): (usize, u64), session: &str) {
        if talk.session(session).is_none() {
            self.stray_cancel = Some(n);
        }
        let serves = |open: &&Exchange| talk.edition.methods.knows(Party::Agent, &open.method);
        let waiting = talk.open_of(Party::Agent).filter(serves).filter(|open| open.session() == Some(session));
        let waiting: Vec<&Exchange> = waiting.collect();
        let awaited = waiting.iter().filter(|open| open.method == "terminal/wait_for_exit");
        let awaited = awaited.filter_map(|open| Some(open.text("terminalId")?.to_owned())).collect();
        let waiting = waiting.iter().map(|open| (open.n, open.method.clone())).collect();
        let turn = self.sessions.get_mut(session).and_then(|course| course.turn.as_mut());
        if let Some(turn) = turn.filter(|turn| turn.ended.is_none()) {
            turn.at_cancel.get_or_insert(AtCancel { n, us, heard: self.heard, waiting, awaited });
        }
    }

    fn cancel_request(&mut self, talk: &Conversation, (n, us): (usize, u64), from: Party, params: &Value) {
        let Some(id) = params.member("requestId").map(RpcId::new) else { return };
        let exchange = talk.open.get(&(from, id.clone()));
        if let Some(exchange) = exchange.filter(|exchange| exchange.method == "session/prompt") {
            let course = exchange.session().and_then(|id| self.sessions.get_mut(id));
            if let Some(turn) = course.and_then(|course| course.turn.as_mut()).filter(|turn| turn.n == exchange.n) {
                turn.cancel_requested = true;
            }
        }
        if self.cancel_requests.len() < MOST_NOTED {
            self.cancel_requests.push(CancelRequest { n, us, from, id, open: exchange.is_some() });
        }
    }

    fn update(&mut self, talk: &Conversation, (n, us): (usize, u64), update: &Update<'_>) {
        let Some(session) = talk.session(update.session) else {
            if self.strangers.len() < MOST_NOTED {
                self.strangers.entry(update.session.to_owned()).or_insert(n);
                if update.variant == "available_commands_update" {
                    self.early_commands.entry(update.session.to_owned()).or_insert(n);
                }
            }
            return;
        };
        let content = talk.edition.adapter.is_turn_content(update.variant);
        let course = match self.sessions.get_mut(update.session) {
            Some(course) => course,
            None => self.sessions.entry(update.session.to_owned()).or_default(),
        };
        if let Some(turn) = course.turn.as_mut().filter(|turn| content && turn.ended.is_none()) {
            turn.last_output_us = Some(us);
            turn.acted |= update.variant != "user_message_chunk";
        }
        match update.variant {
            "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk" => {
                let with_id = update.body.member("messageId").is_some_and(Value::is_string);
                let (variant, has_id) = course.chunk_run.get_or_insert_default();
                update.variant.clone_into(variant);
                *has_id = with_id;
            }
            _ => course.chunk_run = None,
        }
        match update.variant {
            "tool_call" | "tool_call_update" => {
                course.learn_kind(update.body);
                // Most updates are about a call that is known.
                if let Some(id) = update.body.member("toolCallId").and_then(Value::as_str)
                    && !course.reported.contains(id)
                {
                    course.reported.insert(id.to_owned());
                }
            }
            "plan" => course.plan_dropped = dropped(&session.plan, update.body),
            _ => {}
        }
    }

    /// Processes a notification that the tester broke on purpose: an error response without an id may answer it.
    pub(crate) fn broken_notification(&mut self, n: usize, from: Party) {
        self.note_garbled(from, Garbled { n, kind: GarbledKind::Other, id: None, answer: None });
    }

    fn note_garbled(&mut self, from: Party, garbled: Garbled) {
        let lines = self.garbled.entry(from).or_default();
        if lines.len() == MOST_NOTED {
            lines.pop_front();
        }
        lines.push_back(garbled);
    }

    /// Returns the unanswered lines of the other party that this answer of `from` may belong to. If one of them has the
    /// answer's id, it is the only one.
    #[must_use]
    pub fn meant_by(&self, from: Party, answer: &Answer<'_>) -> Vec<&Garbled> {
        let lines = self.garbled.get(&from.other()).into_iter().flatten();
        let meant: Vec<&Garbled> = lines.filter(|line| line.is_unanswered() && line.is_meant(answer)).collect();
        let id = answer.id.filter(|id| **id != RpcId::Null);
        match meant.iter().find(|line| id.is_some() && line.id.as_ref() == id) {
            Some(named) => vec![*named],
            None => meant,
        }
    }

    /// Processes an answer of `from` to no request. Of several lines, it answers the first with its code; with another code it
    /// counts only if there is one line.
    pub(crate) fn stray(&mut self, n: usize, from: Party, answer: &Answer<'_>) {
        let meant = self.meant_by(from, answer);
        let code = answer.outcome.error_code();
        let alike = meant.iter().all(|line| Some(line.kind) == meant.first().map(|first| first.kind));
        let found = meant.iter().find(|line| line.code() == code || alike).map(|line| line.n);
        let lines = self.garbled.get_mut(&from.other()).into_iter().flatten();
        if let Some(line) = lines.into_iter().find(|line| Some(line.n) == found && line.answer.is_none()) {
            line.answer = Some(n);
        }
    }

    /// Processes an answer; `exchange` is the request that it answers.
    pub(crate) fn response(&mut self, now: (usize, u64), exchange: &Exchange, outcome: Outcome<'_>) {
        let n = now.0;
        if let Some(course) = exchange.session().and_then(|id| self.sessions.get_mut(id)) {
            course.chunk_run = None;
        }
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
                if let Some(course) = exchange.session().and_then(|id| self.sessions.get_mut(id)) {
                    course.prompt_answered(now, exchange, outcome);
                }
            }
            ("session/request_permission", outcome) => self.sweep(now, exchange, outcome),
            _ => {}
        }
    }

    /// Records that a permission request was answered as cancelled, too soon after the cancel of another session for a user.
    fn sweep(&mut self, (n, us): (usize, u64), exchange: &Exchange, outcome: Outcome<'_>) {
        let Some(id) = exchange.session() else { return };
        let others = self.sessions.iter().filter(|(other, _)| other.as_str() != id);
        let mut cancels = others.filter_map(|(_, course)| course.turn.as_ref()?.at_cancel.as_ref());
        let meant = cancels.find(|at| at.n > exchange.n && between(at.us, us) < CANCEL_SWEEP).map(|at| at.n);
        let turn = self.sessions.get_mut(id).and_then(|course| course.turn.as_mut());
        if let (Some(cancel), Some(turn)) = (meant, turn.filter(|turn| turn.ended.is_none()))
            && Decision::of(&exchange.params, outcome) == Decision::Cancelled
        {
            turn.swept = turn.swept.or(Some((cancel, n)));
        }
    }
}

impl SessionCourse {
    fn learn_kind(&mut self, report: &Value) {
        let text = |name: &str| report.member(name).and_then(Value::as_str);
        let (Some(id), Some(kind)) = (text("toolCallId"), text("kind")) else { return };
        match self.kinds.get_mut(id) {
            Some(known) => kind.clone_into(known),
            None => drop(self.kinds.insert(id.to_owned(), kind.to_owned())),
        }
    }
}

/// Returns the texts of the entries of a plan.
pub(crate) fn plan_texts(entries: &[Value]) -> BTreeSet<String> {
    entries.iter().filter_map(|entry| Some(entry.member("content")?.as_str()?.to_owned())).collect()
}

/// Returns the entries that a plan leaves out, if it contains only entries of the one before.
fn dropped(before: &[Value], plan: &Value) -> BTreeSet<String> {
    let entries = plan.member("entries").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let (before, now) = (plan_texts(before), plan_texts(entries));
    let partial = !now.is_empty() && now.is_subset(&before);
    if partial { before.difference(&now).cloned().collect() } else { BTreeSet::new() }
}
