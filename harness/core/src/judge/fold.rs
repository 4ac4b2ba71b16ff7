//! Reads the trace once: passes each event to the checks, then adds it to the conversation.

mod checks;
mod end;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::by_case::CaseShares;
use super::conditions::Conditions;
use super::dispatch::Dispatch;
use super::fences::Fences;
use super::judgement::{Judgement, NotCovered};
use super::tallies::Tallies;
use super::{script, shapes};
use crate::areas::{self, Areas, Logins, Seen};
use crate::conversation::{
    Answer, CallSeen, Conversation, Introduction, LineSeen, Memory, Outcome, Payload, SUBAGENT, UpdateSeen,
    opens_connection,
};
use crate::finding::{Tally, Unread};
use crate::protocol::{Differences, Edition, Kind, Method, OtherRevision, Update};
use crate::requirement::Party;
use crate::trace::{CALL_MCP_TOOL, CaseMark, Event, Header, HttpEvent, Lack, ProcessEvent, Trace, What};
use crate::verdict::Verdict;
use crate::wire::{Call, Content, Envelope, LONGEST_LINE, LineEnd, Members, RpcId, read_line};

/// Checks a trace: every check gets every event that concerns its party.
///
/// ```
/// use acp_conformance_core::{judge::judge, protocol::Edition, trace::Trace, verdict::Verdict};
///
/// # fn welcomes(edition: &'static Edition) -> Result<(), Box<dyn std::error::Error>> {
/// let file = r#"{"format":"acp-conformance-trace/2","suite":"0","edition":"v1@2026-11-20","subject":"agent"}
/// {"n":0,"us":0,"from":"agent","line":"Welcome!"}"#;
/// let trace = Trace::read(file.as_bytes())?;
/// let judgement = judge(&trace, edition);
/// assert_eq!(judgement.verdict("transport.stdout-only-messages"), Verdict::Fail);
/// # Ok(())
/// # }
/// ```
pub fn judge(trace: &Trace, edition: &'static Edition) -> Judgement {
    let mut judge = Judge::new(&trace.header, edition);
    trace.events.iter().for_each(|event| judge.event(event));
    judge.finish()
}

/// Checks a trace event by event, in memory that does not grow with its length.
pub struct Judge {
    /// The conversation on the current connection.
    conversation: Conversation,
    /// What the areas remember of it.
    areas: Areas,
    /// The conversations on the other connections.
    parked: BTreeMap<usize, (Conversation, Areas)>,
    connection: usize,
    tallies: Tallies,
    logins: Logins,
    /// The findings in each case of a conversation that holds several.
    shares: CaseShares,
    fences: Fences,
    /// Senders whose last line was split and continues in the next event, with the connection.
    cut_up: BTreeSet<(usize, Party)>,
    parties: Vec<Party>,
    checks: Dispatch,
    case_requirements: Vec<String>,
    /// The position and microseconds of the current event.
    now: (usize, u64),
    memory: Memory,
    begins_late: bool,
    /// The event at which history was first forgotten.
    forgot: Option<usize>,
    introductions: BTreeMap<Party, Introduction>,
    /// Whether the current event is the answer to `initialize` by which the parties agree on another version.
    agrees_otherwise: bool,
    not_covered: Vec<NotCovered>,
    /// Whether each requirement with a precondition applies to one of the conversations that are over.
    applies: BTreeMap<&'static str, bool>,
    /// The number of conversations that were checked by this edition.
    covered: usize,
    /// The version that the client requested on a connection that it left when the agent answered with the edition's.
    turned_down: Option<u64>,
}

/// The requests after whose answer a session is open that was replayed before it.
const REOPENING: [&str; 2] = ["session/load", "session/resume"];

/// The most conversations that are remembered in addition to the current one, since a recording may hold many in
/// sequence.
const MOST_PARKED: usize = 64;

impl Judge {
    /// Creates a judge for the trace with this header.
    pub fn new(header: &Header, edition: &'static Edition) -> Self {
        let parties = header.subject.map_or(vec![Party::Agent, Party::Client], |party| vec![party]);
        Self {
            conversation: Conversation::new(edition, header.is_of_cases()).over(header.transports()),
            areas: Areas::default(),
            parked: BTreeMap::new(),
            connection: 0,
            tallies: Tallies::new(header, edition),
            logins: Logins::default(),
            shares: CaseShares::default(),
            fences: Fences::default(),
            cut_up: BTreeSet::new(),
            checks: Dispatch::new(&parties, &header.lacks, header.transports(), edition),
            parties,
            agrees_otherwise: false,
            not_covered: Vec::new(),
            applies: BTreeMap::new(),
            covered: 0,
            turned_down: None,
            case_requirements: header.requirements.clone(),
            now: (0, 0),
            memory: Memory::USUAL,
            begins_late: false,
            forgot: None,
            introductions: BTreeMap::new(),
        }
    }

    /// Sets other limits of memory than usual.
    pub const fn with_memory(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }

    /// Also passes inputs of other subjects to each check, for tests.
    ///
    /// Panics if a check has a finding for such an input.
    pub const fn proving_subjects(mut self) -> Self {
        self.checks.proves_subjects = true;
        self
    }

    /// Processes the next event.
    pub fn event(&mut self, event: &Event) {
        self.now = (event.n, event.us);
        if let What::Process(ProcessEvent::AgentStarted(start)) = &event.what {
            let parked = |number| self.parked.get(&number).map(|(conversation, _)| conversation);
            let own = |number| if number == self.connection { Some(&self.conversation) } else { parked(number) };
            self.logins.started(event, start, own);
        }
        if self.logins.take_in(event) {
            return;
        }
        self.turn_to(event.connection);
        self.conversation.is_redacted = self.tallies.lacks(Lack::Content);
        match &event.what {
            What::Line { from, bytes, end, deliberate } => {
                if *end == LineEnd::Eof && self.tallies.lacks(Lack::Processes) {
                    // The subject may have been killed in the middle of the line, as at the end of the output.
                    self.conversation.shut_down(event.n, event.us);
                }
                self.conversation.heard += bytes.len() as u64;
                if self.is_a_piece(*from, bytes, *end) {
                    self.conversation.unreadable.insert(*from, event.n);
                    return;
                }
                if *from == Party::Agent {
                    self.tallies.streams.line(event.n, event.connection);
                }
                let content = read_line(bytes);
                let line = LineSeen { bytes, is_ascii: bytes.is_ascii(), end: *end, content: &content };
                self.show(*from, Seen::Line(&line));
                if content.is_cut() {
                    self.conversation.cut = Some(event.n);
                }
                self.observe(*from, Seen::Line(&line));
                if let Content::NotUtf8(_) | Content::NotJson { .. } = content {
                    self.broken_line(*from, bytes);
                }
                self.content(*from, &content, *deliberate);
                self.conversation.last_line.insert(*from, self.now);
            }
            What::Unattributed(bytes) => self.unattributed(bytes),
            What::Stderr(bytes) => {
                self.show_both(Seen::Stderr(bytes));
                self.conversation.note_stderr(event.n);
            }
            What::Stdout(_) => {}
            What::Model(model) => {
                self.show(Party::Agent, Seen::Model(model));
                if model.has_called(CALL_MCP_TOOL) {
                    self.conversation.note_tool_report(event.n);
                }
                self.observe(Party::Agent, Seen::Model(model));
                self.conversation.apply_model(event.n, model);
            }
            What::Fence(_) => self.fences.announce(event.connection),
            What::Process(process) => self.process(process),
            What::Mcp(mcp) => self.show_both(Seen::Mcp(mcp)),
            What::Http(http) => {
                self.show_both(Seen::Http(http));
                self.tallies.streams.event(http);
                self.observe(Party::Agent, Seen::Http(http));
                if let Some(id) = self.areas.refused(http) {
                    self.conversation.refuse(id);
                }
                if let HttpEvent::Ended { .. } = http {
                    self.conversation.lose(|session| self.areas.has_left(session));
                }
            }
            What::Visit(visit) => self.show_both(Seen::Visit(visit)),
            What::Case(CaseMark::Begins(case)) => {
                self.show_both(Seen::CaseEnd());
                self.conversation.begin_case(event.n);
                let requirements = case.requirements.clone();
                self.shares.begin(event.n, requirements.clone(), self.tallies.take());
                self.case_requirements = requirements;
            }
            What::Case(CaseMark::Ends) => {}
            What::Step(step) => {
                self.tallies.unread = self.conversation.cut.map(Unread::Before);
                let subject = self.parties.first().copied().unwrap_or(Party::Agent);
                script::judge_step(
                    &self.conversation,
                    subject,
                    step,
                    &self.case_requirements,
                    event.n,
                    &mut self.tallies,
                );
                self.conversation.apply_step(self.now, step);
                if self.conversation.fence == Some(event.n) {
                    self.logins.fenced(self.connection, event.n);
                }
            }
        }
        if self.shares.wants_start() && self.conversation.initialized.is_some() {
            self.shares.started(self.tallies.found());
        }
        // A case is short, and the checks of its own steps need all of it.
        if !self.conversation.whole && event.n.is_multiple_of(self.memory.every) {
            let before = self.conversation.holes;
            self.conversation.forget_old(self.memory);
            self.conversation.holes.sessions |= self.areas.forget(&self.conversation, self.memory);
            self.forgot = self.forgot.or(Some(event.n).filter(|_| self.conversation.holes != before));
        }
    }

    /// Whether this is only a piece of a line that exceeds the longest event. The content of the whole line is unknown.
    fn is_a_piece(&mut self, from: Party, bytes: &[u8], end: LineEnd) -> bool {
        let goes_on = end == LineEnd::Cut && bytes.len() == LONGEST_LINE;
        let key = (self.connection, from);
        let went_on = if goes_on { !self.cut_up.insert(key) } else { self.cut_up.remove(&key) };
        goes_on || went_on
    }

    /// Returns the number of failures so far, and the requirements that failed.
    pub fn failed(&self) -> (usize, impl Iterator<Item = (&str, &Tally)>) {
        (self.tallies.n_failures(), self.tallies.failed())
    }

    /// Returns the requirements that failed in the case before the current one.
    pub fn failed_in_last_case(&self) -> impl Iterator<Item = &str> {
        let found = self.shares.last_ended().into_iter().flatten();
        found.filter(|(_, tally)| tally.verdict() == Verdict::Fail).map(|(requirement, _)| requirement.as_str())
    }

    fn process(&mut self, process: &ProcessEvent) {
        let (n, us) = self.now;
        if *process == ProcessEvent::StdoutEnded && self.tallies.lacks(Lack::Processes) {
            // Its client may have killed it, and then unfinished work is not a failure.
            self.conversation.shut_down(n, us);
        }
        self.show_both(Seen::Process(process));
        match process {
            ProcessEvent::StdoutEnded => self.conversation.stdout_ended = self.conversation.stdout_ended.or(Some(n)),
            ProcessEvent::StdinClosed | ProcessEvent::AgentExited(_) | ProcessEvent::AgentKilled => {
                self.conversation.shut_down(n, us);
            }
            ProcessEvent::Signalled(_) | ProcessEvent::Flooded => {
                self.conversation.shut_down(n, us);
                self.parked.values_mut().for_each(|(conversation, _)| conversation.shut_down(n, us));
            }
            _ => {}
        }
    }

    /// Switches to the conversation of a connection.
    fn turn_to(&mut self, connection: usize) {
        if connection == self.connection {
            return;
        }
        let known = self.parked.remove(&connection);
        let is_agents = self.parties == [Party::Agent];
        let (conversation, areas) = known.unwrap_or_else(|| match self.conversation.on_next_connection(is_agents) {
            conversation if conversation.has_earlier_sessions() => (conversation, self.areas.on_next_connection()),
            conversation => (conversation, Areas::default()),
        });
        let before =
            (std::mem::replace(&mut self.conversation, conversation), std::mem::replace(&mut self.areas, areas));
        self.parked.insert(std::mem::replace(&mut self.connection, connection), before);
        self.evaluate_conditions();
        if self.parked.len() > MOST_PARKED
            && let Some((_, oldest)) = self.parked.pop_first()
        {
            let (conversation, areas) = oldest;
            let at_hand =
                (std::mem::replace(&mut self.conversation, conversation), std::mem::replace(&mut self.areas, areas));
            self.end();
            (self.conversation, self.areas) = at_hand;
        }
    }

    /// Handles an answer whose sender is unknown. It makes the earlier history uncertain, so from now on the recording
    /// counts as if it began in the middle.
    fn unattributed(&mut self, bytes: &[u8]) {
        if self.conversation.other_version().is_some() {
            // The conversation is not covered by this edition, no matter who sent this.
            return;
        }
        let Content::One { value, .. } = read_line(bytes) else { return };
        match Envelope::of(&value) {
            Envelope::Call(Call { id: Some(id), .. }) => self.conversation.note_stray_request(RpcId::new(id)),
            Envelope::Response { id: Some(id), .. } if self.conversation.may_await(&RpcId::new(id)) => {
                self.learn_introductions();
                let Conversation { edition, transports, .. } = self.conversation;
                self.conversation = Conversation::new(edition, false).over(transports);
                self.areas = Areas::default();
                (self.conversation.begun, self.conversation.holes.anywhere) = (true, true);
                self.evaluate_conditions();
            }
            _ => {}
        }
    }

    /// Evaluates the preconditions of the requirements again, after something on which they depend.
    fn evaluate_conditions(&mut self) {
        self.tallies.conditions = Conditions::of(&self.conversation);
    }

    /// The same after a message that changed at most this session.
    fn evaluate_conditions_after(&mut self, session: Option<&str>) {
        let changed = session.and_then(|id| self.conversation.session(id));
        self.tallies.conditions.update(changed, &self.conversation);
    }

    fn content(&mut self, from: Party, content: &Content, deliberate: bool) {
        if deliberate {
            self.conversation.deliberate.insert(self.now.0);
        }
        match content {
            Content::One { value, refused, .. } => {
                if *refused {
                    // The other party may answer it like a line that it cannot read.
                    self.conversation.unreadable.insert(from, self.now.0);
                }
                self.message(from, value, deliberate);
            }
            Content::Several { values, .. } => values.iter().for_each(|value| self.message(from, value, deliberate)),
            Content::Blank => {}
            Content::NotUtf8(_) | Content::NotJson { .. } => {
                self.conversation.unreadable.insert(from, self.now.0);
            }
        }
    }

    fn message(&mut self, from: Party, value: &Value, deliberate: bool) {
        if !value.is_object() {
            self.conversation.unreadable.insert(from, self.now.0);
            return;
        }
        let envelope = Envelope::of(value);
        if self.fences.claim(self.connection, self.now, from, envelope, &mut self.conversation) {
            return;
        }
        self.notice_beginning(from, envelope);
        let failures = self.tallies.n_failures();
        self.show(from, Seen::Message(value, envelope));
        match envelope {
            Envelope::Call(call) => self.call(from, &call, deliberate, failures),
            Envelope::Response { id, result, error } => {
                // With both members the error counts, as JSON-RPC gives it precedence; another check reports the
                // duplicate.
                let outcome = error.filter(|e| !e.is_null()).map(Outcome::Error).or(result.map(Outcome::Result));
                let outcome = outcome.unwrap_or(Outcome::Error(&Value::Null));
                self.response(from, id.map(RpcId::new).as_ref(), outcome, failures);
            }
            Envelope::Unclear => {
                self.conversation.unreadable.insert(from, self.now.0);
            }
        }
    }

    /// Handles the beginning of a conversation, which is `initialize` or its twin for proxies. A recording that begins
    /// with another message began late.
    fn notice_beginning(&mut self, from: Party, envelope: Envelope<'_>) {
        if self.conversation.whole || std::mem::replace(&mut self.conversation.begun, true) {
            return;
        }
        let opening = matches!(envelope, Envelope::Call(call) if opens_connection(call.method) && call.id.is_some());
        let late = !(opening && from == Party::Client);
        self.begins_late |= late && !self.tallies.lacks(Lack::Order);
        // A program that rewrites messages leaves out invalid ones, such as an answer that could not be read.
        let may_lack_some = self.tallies.lacks(Lack::Bytes) || self.tallies.lacks(Lack::Messages);
        self.conversation.holes.anywhere = late || may_lack_some;
        self.conversation.holes.order = self.tallies.lacks(Lack::Order);
    }

    /// Whether the checks found a violation in this message. A recording does not mark deliberate violations, so every
    /// message with a violation counts as one: consequences of it are not failures of the other party.
    fn is_found_wrong(&self, failures: usize) -> bool {
        !self.conversation.whole && self.parties.len() > 1 && self.tallies.n_failures() > failures
    }

    /// Whether the schema forbids a message of this unchecked party in a recording. Only the tester of a case marks
    /// deliberate violations; in a recording, consequences of the message are not failures of the subject either.
    fn is_unmarked_breach(&self, from: Party, definition: &str, method: &str, value: &Value) -> bool {
        let edition = self.conversation.edition;
        !self.conversation.whole
            && !self.parties.contains(&from)
            // Separate requirements cover a null or another version in `initialize`.
            && !opens_connection(method)
            && !edition.differences(definition, value).problems.is_empty()
    }

    /// Returns the version whose schema applies to a payload. A party that requests another version, or agrees to one,
    /// may use the payload of that version.
    fn version_of(&self, method: &str, value: &Value) -> Option<u64> {
        let named = value.member("protocolVersion").and_then(Value::as_u64).filter(|_| opens_connection(method));
        named.filter(|&version| version <= u64::from(u16::MAX)).or(self.conversation.version())
    }

    fn call(&mut self, from: Party, call: &Call<'_>, deliberate: bool, failures: usize) {
        let kind = if call.id.is_some() { Kind::Request } else { Kind::Notification };
        let edition = self.conversation.edition;
        let form = edition.methods.kind_of(from, call.method);
        let seen = CallSeen { kind, id: call.id, method: call.method, params: call.params, known: form.is_some() };
        if let Some(params) = call.params {
            self.tallies.new_duties.call(from, call.method, params);
        }
        self.show(from, Seen::Call(&seen));
        if from == Party::Client {
            self.logins.called(self.connection, self.now.0, call.method);
        }
        let stable = form.and_then(|kind| edition.methods.find(from, kind, call.method));
        if let (Some(method), Some(params)) = (stable, call.params) {
            self.payload(from, &method.params, call.method, false, params);
        }
        let update = call.params.filter(|_| call.method == "session/update").and_then(|it| edition.adapter.update(it));
        if let Some(update) = update {
            self.tallies.streams.update(self.now.0, update.session);
            self.show_update(from, update);
        }
        let breach = |method: &Method| {
            let params = call.params.unwrap_or(&Value::Null);
            self.is_unmarked_breach(from, &method.params, call.method, params)
        };
        let deliberate = deliberate || self.is_found_wrong(failures) || stable.is_some_and(breach);
        if deliberate {
            self.conversation.deliberate.insert(self.now.0);
        } else {
            self.show(from.other(), Seen::ReceivedCall(&seen));
        }
        self.observe(from, Seen::Call(&seen));
        if let Some(update) = update.filter(|_| from == Party::Agent && call.id.is_none()) {
            let known = self.conversation.session(update.session);
            let (seen, (n, us)) = (UpdateSeen { update, known }, self.now);
            let event = areas::Event { conversation: &self.conversation, n, us, from };
            self.areas.observe(&event, Seen::Update(&seen));
        }
        self.conversation.apply_call(self.now, from, call, update.as_ref(), deliberate);
        if from == Party::Agent && call.id.is_some() {
            self.conversation.lose(|session| self.areas.has_left(session));
        }
        let sets = |update: &Update<'_>| matches!(update.variant, "config_option_update" | "current_mode_update");
        if call.id.is_some() && decides_conditions(call.method) || update.as_ref().is_some_and(sets) {
            let changed = update.as_ref().map(|update| update.session);
            self.evaluate_conditions_after(changed);
        }
    }

    fn response(&mut self, from: Party, id: Option<&RpcId>, outcome: Outcome<'_>, failures: usize) {
        let exchange = id.and_then(|id| self.conversation.open.get(&(from.other(), id.clone()))).cloned();
        let answer = Answer { id, exchange: exchange.as_deref(), outcome };
        let unannounced = exchange.as_ref().and_then(|exchange| self.conversation.unannounced_area(&exchange.method));
        let agreed =
            answer.exchange.and_then(|exchange| exchange.other_version(self.conversation.edition, answer.outcome));
        self.agrees_otherwise = agreed.is_some();
        let reopens = exchange.as_ref().filter(|exchange| REOPENING.contains(&exchange.method.as_str()));
        if let Some(session) = reopens.and_then(|exchange| exchange.session()) {
            self.tallies.streams.opened(self.now.0, session);
        }
        self.show_if(from, Seen::Response(&answer), |check| unannounced.is_none_or(|area| check.area() != area));
        let mut breach = false;
        if let (Some(exchange), Outcome::Result(result)) = (&exchange, outcome) {
            let methods = &self.conversation.edition.methods;
            let method = methods.find(from.other(), Kind::Request, &exchange.method);
            if let Some(definition) = method.and_then(|method| method.result.as_deref()) {
                // The checks of the single methods cover a null instead of an empty object; the table knows which
                // results of a client may be empty.
                breach = self.is_unmarked_breach(from, definition, &exchange.method, result);
                let judged =
                    !result.is_null() || from == Party::Client || !self.conversation.edition.adapter.has_null_results();
                if judged && unannounced.is_none() && !self.conversation.is_unoffered(&exchange.method) {
                    self.payload(from, definition, &exchange.method, true, result);
                }
            }
        }
        if breach || self.is_found_wrong(failures) {
            self.conversation.deliberate.insert(self.now.0);
        } else {
            self.show(from.other(), Seen::ReceivedResponse(&answer));
        }
        self.agrees_otherwise = false;
        if let Some(exchange) = &exchange {
            self.conversation.note_trial(self.now, exchange, outcome);
        }
        self.observe(from, Seen::Response(&answer));
        if let Some(id) = id {
            self.conversation.apply_response(self.now, from, id, outcome);
        }
        if let Some(exchange) = exchange.as_ref().filter(|exchange| decides_conditions(&exchange.method)) {
            let opened = match outcome {
                Outcome::Result(result) => result.text("sessionId"),
                Outcome::Error(_) => None,
            };
            self.evaluate_conditions_after(opened.or(exchange.session()));
        }
        if let (Some(exchange), Some(code)) = (exchange, outcome.error_code()) {
            self.conversation.errors.insert(self.now.0, (exchange.method.clone(), code));
        }
    }

    /// Handles an answer in a line that is not JSON in UTF-8, without its checks.
    fn broken_line(&mut self, from: Party, bytes: &[u8]) {
        let Some(value) = self.conversation.broken_line(from, bytes) else { return };
        let Envelope::Response { id: Some(id), result, error } = Envelope::of(&value) else { return };
        let outcome = error.filter(|error| !error.is_null()).map(Outcome::Error).or(result.map(Outcome::Result));
        let id = RpcId::new(id);
        let exchange = self.conversation.open.get(&(from.other(), id.clone())).cloned();
        if let (Some(exchange), Some(outcome)) = (exchange, outcome) {
            self.conversation.deliberate.insert(self.now.0);
            self.observe(from, Seen::Response(&Answer { id: Some(&id), exchange: Some(&exchange), outcome }));
            self.conversation.apply_response(self.now, from, &id, outcome);
        }
    }

    /// Hands an event to the areas, after its checks.
    fn observe(&mut self, from: Party, seen: Seen<'_>) {
        let (n, us) = self.now;
        self.areas.observe(&areas::Event { conversation: &self.conversation, n, us, from }, seen);
    }

    fn payload(&mut self, from: Party, definition: &str, method: &str, is_result: bool, value: &Value) {
        let edition = self.conversation.edition;
        if self.version_of(method, value).is_some_and(|version| version != u64::from(edition.major)) {
            return;
        }
        let parts = edition.stable.parts(definition, value);
        let Differences { problems, drafts, of_other_revision } =
            edition.differences_with_members(definition, value, &parts);
        let variant =
            (method == "session/update").then(|| value.member("update")?.member("sessionUpdate")?.as_str()).flatten();
        let payload = Payload {
            from,
            method,
            variant,
            is_result,
            definition,
            value,
            parts: &parts,
            problems: &problems,
            drafts: &drafts,
            of_other_revision: &of_other_revision,
            revision: edition.other_revision.as_ref().map_or("", OtherRevision::revision),
            // A recording may lack what the client sent.
            may_repeat: (!self.conversation.deliberate.is_empty() || self.conversation.holes.anywhere)
                && variant.is_some_and(|it| it.starts_with("user_")),
        };
        self.show(from, Seen::Payload(&payload));
        if self.parties.contains(&from) {
            shapes::table::judge(&payload, (edition.major, from), self.now.0, &mut self.tallies);
        }
        // `Conversation::children` has the sessions of subagents.
        let may_announce = payload.variant != Some(SUBAGENT) && !(drafts.is_empty() && of_other_revision.is_empty());
        if from == Party::Agent && may_announce {
            self.conversation.learn_announced_sessions(method, value);
        }
    }

    /// Returns the version that the current connection agreed on, if it exists and is not that of the edition.
    pub(super) const fn other_version(&self) -> Option<u64> {
        self.conversation.other_version()
    }
}

/// Whether a request of this method, or its answer, may decide whether requirements apply.
fn decides_conditions(method: &str) -> bool {
    opens_connection(method) || matches!(method, "session/new" | "session/load" | "session/resume")
}
