//! Plays one case: walks the transcript, sends the tester's lines, waits for the subject's, and notes how each step went.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::driver::{Asked, Driver, Written};
use super::expect::{self, Found};
use super::intent;
use super::limits::Limits;
use super::look;
use super::record::Recorder;
use super::sandbox::Sandbox;
use super::subject::Subject;
use super::tester::{Policy, Services};
use crate::case::model::{
    Action, Body, Case, Incoming, IncomingBody, NeedRoot, Outgoing, PermissionPolicy, Presence, RawBytes, Step,
};
use crate::case::template::Bindings;
use crate::peer::link::Link;
use crate::peer::process::reap_marked;
use crate::protocol::{Edition, Kind};
use crate::requirement::Party;
use crate::trace::{FORMAT, Header, Outcome, ProcessEvent, StepEvent, StepKind, Trace, What};
use crate::wire::{LineEnd, RpcId};

/// The method of a fence. No agent knows it, and every agent owes an answer to it.
pub const FENCE: &str = "_acp-conformance/fence";

/// How long a subject has for the fence that follows a time limit, to tell a dropped request from a wedged subject.
const FENCE_AFTER_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs one case against a fresh process of the subject, and returns everything that was observed.
///
/// It ends in bounded time whatever the subject does, and leaves no process and no file behind.
///
/// # Panics
///
/// Only if the operating system refuses an event loop.
#[must_use]
pub fn run_case(case: &Case, subject: &Subject) -> Trace {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("an event loop");
    let events = runtime.block_on(play(case, subject));
    // Tasks that still hold a pipe of a process that left its group must not keep the program waiting.
    runtime.shutdown_background();
    let header = Header {
        format: FORMAT.to_owned(),
        suite: env!("CARGO_PKG_VERSION").to_owned(),
        edition: Edition::v1().name.to_owned(),
        case: Some(case.id.clone()),
        subject: Some(case.subject),
        command: subject.command.clone(),
        requirements: case.requirements.clone(),
    };
    Trace { header, events }
}

async fn play(case: &Case, subject: &Subject) -> Vec<crate::trace::Event> {
    let mut recorder = Recorder::start();
    let sandbox = match Sandbox::make(&case.workspace, &subject.home_files) {
        Ok(sandbox) => sandbox,
        Err(error) => {
            recorder.record(What::Step(own_fault(format!("the folders of the case could not be made: {error}"))));
            return recorder.finish();
        }
    };
    let link = match Link::open(&subject.launch(&sandbox)) {
        Ok(link) => link,
        Err(error) => {
            recorder.record(What::Process(ProcessEvent::NotSpawned(error.to_string())));
            return recorder.finish();
        }
    };
    let policy = match case.tester.permission {
        PermissionPolicy::Allow => Policy::Allow,
        PermissionPolicy::Reject => Policy::Reject,
        PermissionPolicy::Hold => Policy::Hold,
        PermissionPolicy::Cancel => Policy::Cancel,
    };
    let services = Services::new(sandbox.workspace().to_owned(), &case.tester.capabilities, policy);
    let mut driver = Driver::new(link, recorder, services, case.tester.clone());
    let mut limits = subject.limits.with(&case.limits);
    if let Some(planted) = &subject.fault {
        driver.injector = Some(planted.injector());
        limits = limits.with(&planted.fault.limits);
    }
    let paths = (sandbox.workspace().display().to_string(), sandbox.home().display().to_string());
    let mut bindings = Bindings::for_case(case, &paths.0, &paths.1);
    let start = subject.cwd.canonicalize().unwrap_or_else(|_| subject.cwd.clone());
    bindings.set("start", Value::from(start.display().to_string()));
    let mut script = Script {
        case,
        subject,
        limits,
        driver,
        bindings,
        cursor: 0,
        met: vec![false; case.needs.len()],
        input_closed: false,
        missed: false,
    };
    script.transcript().await;
    let Script { mut driver, input_closed, .. } = script;
    driver.shut_down(limits.exit, input_closed).await;
    reap_marked(&sandbox.marker());
    driver.recorder.finish()
}

/// Whether the transcript goes on behind a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    GoOn,
    Stop,
}

/// A case while it is played.
pub(super) struct Script<'c> {
    pub(super) case: &'c Case,
    subject: &'c Subject,
    pub(super) limits: Limits,
    pub(super) driver: Driver,
    pub(super) bindings: Bindings,
    /// How many messages of the subject the transcript has passed.
    pub(super) cursor: usize,
    /// Which needs of the case were found to be met.
    met: Vec<bool>,
    input_closed: bool,
    /// Whether something that was hoped for did not come; what follows then has lost its ground, and accuses nobody.
    missed: bool,
}

/// How a step went, before it becomes an event.
pub(super) struct Report {
    pub(super) kind: StepKind,
    pub(super) outcome: Outcome,
    pub(super) events: Vec<usize>,
    pub(super) expected: String,
    pub(super) seen: String,
}

impl Report {
    pub(super) fn new(kind: StepKind, outcome: Outcome) -> Self {
        Self { kind, outcome, events: Vec::new(), expected: String::new(), seen: String::new() }
    }
}

impl Script<'_> {
    async fn transcript(&mut self) {
        let case = self.case;
        for (index, step) in case.steps.iter().enumerate() {
            let report = self.step(index, step).await;
            let next = self.note(step, report);
            if let Some(fault) = self.driver.own_fault.take() {
                self.driver.recorder.record(What::Step(own_fault(fault)));
                return;
            }
            if self.needs_unmet() || next == Next::Stop {
                break;
            }
        }
        self.judge_nevers();
    }

    async fn step(&mut self, index: usize, step: &Step) -> Report {
        match &step.action {
            Action::Send(lines) => self.send(lines),
            Action::Raw(raw) => self.raw(raw),
            Action::Expect { line, presence: Presence::Must } => self.must(line, step.within).await,
            Action::Expect { line, presence: Presence::Hope } => self.hope(index, line, step.within).await,
            Action::Expect { line, presence: Presence::Any } => self.any(line),
            Action::AnyOrder(lines) => self.any_order(lines, step.within).await,
            Action::Never(_) => Report::new(StepKind::Never, Outcome::Done),
            Action::Fence => self.fence(step.within.unwrap_or(self.limits.answer)).await,
            Action::Reply(reply) => look::reply(self, reply),
            Action::File(file) => look::file(self, file),
            Action::CloseStdin => {
                self.driver.close_input();
                self.input_closed = true;
                Report::new(StepKind::Send, Outcome::Done)
            }
            Action::Exit { code } => self.exit(*code, step.within.unwrap_or(self.limits.exit)).await,
        }
    }

    /// Records how a step went. What was sent as written leaves no event behind, since its lines are in the trace, nor does
    /// a look that found everything as it should be and decides nothing.
    fn note(&mut self, step: &Step, report: Report) -> Next {
        let stop = match report.outcome {
            Outcome::Missed if report.kind == StepKind::Send => Next::Stop,
            Outcome::Done | Outcome::Missed => Next::GoOn,
            // A wrong text or file decides its requirement; the conversation itself goes on as written.
            Outcome::Contradicted if matches!(report.kind, StepKind::Reply | StepKind::File) => Next::GoOn,
            _ => Next::Stop,
        };
        let matched = matches!(report.kind, StepKind::Must | StepKind::Hope) && !report.events.is_empty();
        let telling = matched || report.kind == StepKind::Fence || !step.decides.is_empty();
        let silent = report.outcome == Outcome::Done && !telling;
        // A wrong text or file without a requirement of its own is no more than a hope.
        let undecided = report.outcome == Outcome::Contradicted && step.decides.is_empty();
        let missed = report.outcome == Outcome::Missed || undecided;
        if !silent && report.kind != StepKind::Never {
            self.record(step, report);
        }
        self.missed |= missed;
        stop
    }

    fn record(&mut self, step: &Step, report: Report) {
        let Report { kind, outcome, events, expected, seen } = report;
        let event = StepEvent {
            kind,
            line: step.place.line,
            text: step.text.clone(),
            outcome,
            decides: if self.missed { Vec::new() } else { step.decides.clone() },
            events,
            expected,
            seen,
        };
        self.driver.recorder.record(What::Step(event));
    }

    fn send(&mut self, lines: &[Outgoing]) -> Report {
        let mut written = Vec::new();
        let mut asked = Vec::new();
        let mut cancelled = Vec::new();
        if let Some(label) = lines.iter().find_map(|line| self.unasked(line)) {
            // The subject was hoped to ask, and did not; what the transcript says next makes no sense without it.
            let seen = format!("the agent did not make the request `{label}`, which the case would answer now");
            return Report { seen, ..Report::new(StepKind::Send, Outcome::Missed) };
        }
        for line in lines {
            let message = match self.message(written.len(), line, &mut asked, &mut cancelled) {
                Ok(message) => message,
                Err(fault) => {
                    // A request that was hoped for in vain cannot be answered.
                    let outcome = if self.missed { Outcome::Missed } else { Outcome::HarnessError };
                    return Report { seen: fault, ..Report::new(StepKind::Send, outcome) };
                }
            };
            written.push(Written { bytes: message.to_string().into_bytes(), deliberate: line.illegal });
        }
        let from = self.driver.inbox.len();
        let split = lines.iter().find_map(|line| line.split);
        let events = self.driver.write(written, LineEnd::Lf, split);
        for (index, label, id, method, params) in asked {
            if let ("session/prompt", Some(session)) = (method.as_str(), params["sessionId"].as_str()) {
                self.driver.services.begin_turn(session);
            }
            let request = Asked { n: events[index], id: RpcId::new(&id), method, params, from, at: Instant::now() };
            self.driver.asked.insert(label, request);
        }
        for session in cancelled {
            self.driver.cancelled(&session);
        }
        Report { events, ..Report::new(StepKind::Send, Outcome::Done) }
    }

    /// Puts a message together; the tester never breaks the schema unless the case says that it means to.
    fn message(
        &mut self,
        index: usize,
        line: &Outgoing,
        asked: &mut Vec<(usize, String, Value, String, Value)>,
        cancelled: &mut Vec<String>,
    ) -> Result<Value, String> {
        match &line.body {
            Body::Request { label, method, params, wire_id } => {
                let own = wire_id.as_ref().map(|id| self.bindings.interpolate(id));
                let id = own.unwrap_or_else(|| self.driver.fresh_id());
                let params = self.params(method, params.as_ref());
                self.sound(line, Kind::Request, method, params.as_ref())?;
                let mut message = json!({ "jsonrpc": "2.0", "id": id, "method": method });
                asked.push((index, label.clone(), id, method.clone(), params.clone().unwrap_or_default()));
                if let Some(params) = params {
                    message["params"] = params;
                }
                Ok(message)
            }
            Body::Notification { method, params } => {
                let params = self.params(method, params.as_ref());
                self.sound(line, Kind::Notification, method, params.as_ref())?;
                let mut message = json!({ "jsonrpc": "2.0", "method": method });
                if let Some(params) = params {
                    if method == "session/cancel" {
                        cancelled.extend(params.get("sessionId").and_then(Value::as_str).map(str::to_owned));
                    }
                    message["params"] = params;
                }
                Ok(message)
            }
            Body::Result { label, result } => Ok(
                json!({ "jsonrpc": "2.0", "id": self.received_id(label), "result": self.bindings.interpolate(result) }),
            ),
            Body::Error { label, error } => Ok(
                json!({ "jsonrpc": "2.0", "id": self.received_id(label), "error": self.bindings.interpolate(error) }),
            ),
        }
    }

    fn params(&self, method: &str, params: Option<&Value>) -> Option<Value> {
        let params = self.bindings.interpolate(params?);
        Some(if method == "session/prompt" { intent::expand(&params, &self.subject.prompts) } else { params })
    }

    fn sound(&self, line: &Outgoing, kind: Kind, method: &str, params: Option<&Value>) -> Result<(), String> {
        let edition = Edition::v1();
        let Some(known) = edition.methods.find(Party::Client, kind, method).filter(|_| !line.illegal) else {
            return Ok(());
        };
        let empty = json!({});
        let params = params.unwrap_or(&empty);
        match edition.stable.problems(&known.params, params).iter().find(|problem| !problem.is_null_capability(params))
        {
            None => Ok(()),
            Some(problem) => Err(format!(
                "the case sends params of {method} that break the schema at {}: {}; mark the line `illegal: true` if that is meant",
                problem.at, problem.message
            )),
        }
    }

    /// The label of the subject's request that the line answers, or whose id it takes, when that request has not come.
    fn unasked<'l>(&self, line: &'l Outgoing) -> Option<&'l str> {
        let label = match &line.body {
            Body::Result { label, .. } | Body::Error { label, .. } => label,
            Body::Request { wire_id, .. } => wire_id.as_ref()?.as_str()?.strip_prefix('<')?.strip_suffix("-id>")?,
            Body::Notification { .. } => return None,
        };
        self.bindings.get(&expect::request_name(label)).is_none().then_some(label)
    }

    /// The id of a request of the subject that has come.
    fn received_id(&self, label: &str) -> Value {
        self.bindings.get(&expect::request_name(label)).cloned().unwrap_or_default()
    }

    fn raw(&mut self, raw: &RawBytes) -> Report {
        let (bytes, end) = match raw.bytes.strip_suffix(b"\n") {
            Some(bytes) => (bytes, LineEnd::Lf),
            None => (&raw.bytes[..], LineEnd::Cut),
        };
        let bytes = self.bindings.interpolate_bytes(bytes);
        let events = self.driver.write(vec![Written { bytes, deliberate: !raw.legal }], end, raw.split);
        Report { events, ..Report::new(StepKind::Send, Outcome::Done) }
    }

    async fn must(&mut self, line: &Incoming, within: Option<Duration>) -> Report {
        let deadline = self.deadline(line, within);
        loop {
            match expect::look_for(self, line) {
                Found::Matched(report) | Found::Contradicted(report) => return report,
                Found::NotYet => {}
            }
            if self.driver.life.output_ended || !self.driver.step(deadline).await {
                return self.never_came(line, StepKind::Must).await;
            }
        }
    }

    fn deadline(&self, line: &Incoming, within: Option<Duration>) -> Instant {
        let asked = match &line.body {
            IncomingBody::Result { label, .. } | IncomingBody::Error { label, .. } => self.driver.asked.get(label),
            IncomingBody::Call { .. } => None,
        };
        let limit =
            within.unwrap_or_else(|| asked.map_or(self.limits.turn, |asked| self.limits.for_method(&asked.method)));
        asked.map_or_else(Instant::now, |asked| asked.at) + limit
    }

    /// What to say when a line did not come: the stream ended, or the limit was met.
    async fn never_came(&mut self, line: &Incoming, kind: StepKind) -> Report {
        let expected = expect::describe(self, line);
        let events = expect::request_event(self, line).into_iter().collect();
        if self.driver.life.output_ended {
            let exited = |driver: &Driver| driver.life.exit.is_some();
            self.driver.until(Instant::now() + self.limits.exit, exited).await;
            let how =
                self.driver.life.exit.as_ref().map_or("closed its output".to_owned(), |exit| format!("ended ({exit})"));
            let unasked = if self.input_closed { "after its input was closed" } else { "without being asked to" };
            return Report {
                events,
                expected,
                seen: format!("the agent {how} {unasked}"),
                ..Report::new(kind, Outcome::Ended)
            };
        }
        let report = Report {
            events,
            expected,
            seen: "nothing of the kind came before the time limit".to_owned(),
            ..Report::new(kind, Outcome::TimedOut)
        };
        // Before the handshake there is nobody to ask.
        let greeted = self.driver.inbox.iter().any(|seen| seen.value.get("result").is_some());
        if greeted {
            self.fence_after_timeout().await;
        }
        report
    }

    async fn fence_after_timeout(&mut self) {
        let fence = self.fence(FENCE_AFTER_TIMEOUT).await;
        if fence.outcome == Outcome::Done {
            let event = StepEvent {
                kind: StepKind::Fence,
                line: 0,
                text: "a fence after the time limit".to_owned(),
                outcome: Outcome::Done,
                decides: Vec::new(),
                events: fence.events,
                expected: String::new(),
                seen: String::new(),
            };
            self.driver.recorder.record(What::Step(event));
        }
    }

    /// Waits for a line that need not come; gives up when the conversation has passed it.
    async fn hope(&mut self, index: usize, line: &Incoming, within: Option<Duration>) -> Report {
        let deadline = self.deadline(line, within);
        loop {
            match expect::look_for(self, line) {
                Found::Matched(report) => return Report { kind: StepKind::Hope, ..report },
                Found::Contradicted(report) => {
                    let login = report.outcome == Outcome::LoginNeeded;
                    let outcome = if login { Outcome::LoginNeeded } else { Outcome::Missed };
                    return Report { kind: StepKind::Hope, outcome, ..report };
                }
                Found::NotYet => {}
            }
            let passed = expect::passed(self, index);
            if passed || self.driver.life.output_ended || !self.driver.step(deadline).await {
                let why = if passed { "the turn went on without it" } else { "nothing of the kind came" };
                let expected = expect::describe(self, line);
                return Report { expected, seen: why.to_owned(), ..Report::new(StepKind::Hope, Outcome::Missed) };
            }
        }
    }

    fn any(&mut self, line: &Incoming) -> Report {
        while let Found::Matched(_) = expect::look_for(self, line) {}
        Report::new(StepKind::Hope, Outcome::Done)
    }

    async fn any_order(&mut self, lines: &[Incoming], within: Option<Duration>) -> Report {
        let start = self.cursor;
        let mut end = start;
        let mut events = Vec::new();
        for line in lines {
            self.cursor = start;
            let report = self.must(line, within).await;
            if report.outcome != Outcome::Done {
                return report;
            }
            events.extend(report.events);
            end = end.max(self.cursor);
        }
        self.cursor = end;
        Report { events, ..Report::new(StepKind::Must, Outcome::Done) }
    }

    async fn fence(&mut self, limit: Duration) -> Report {
        let id = self.driver.fresh_id();
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": FENCE, "params": {} });
        let from = self.driver.inbox.len();
        let written = Written { bytes: message.to_string().into_bytes(), deliberate: false };
        let events = self.driver.write(vec![written], LineEnd::Lf, None);
        let answered = |driver: &Driver| {
            driver.life.output_ended
                || driver.inbox[from..].iter().any(|seen| expect::answers(&seen.value, &RpcId::new(&id)))
        };
        let came = self.driver.until(Instant::now() + limit, answered).await;
        let (outcome, seen) = match (came, self.driver.life.output_ended) {
            (true, false) => (Outcome::Done, String::new()),
            (_, true) => (Outcome::Ended, self.how_it_ended().await),
            (false, false) => (Outcome::TimedOut, "a request that every agent owes an answer to had none".to_owned()),
        };
        let expected = "an answer, as proof that the agent has read everything before".to_owned();
        Report { events, expected, seen, ..Report::new(StepKind::Fence, outcome) }
    }

    async fn how_it_ended(&mut self) -> String {
        let exited = |driver: &Driver| driver.life.exit.is_some();
        self.driver.until(Instant::now() + self.limits.exit, exited).await;
        let how =
            self.driver.life.exit.as_ref().map_or("closed its output".to_owned(), |exit| format!("ended ({exit})"));
        format!("the agent {how} without being asked to")
    }

    async fn exit(&mut self, code: Option<i32>, limit: Duration) -> Report {
        let gone = self.driver.until(Instant::now() + limit, |driver| driver.life.exit.is_some()).await;
        let expected = code.map_or("the process ends".to_owned(), |code| format!("the process ends with code {code}"));
        let (outcome, seen) = match (&self.driver.life.exit, gone) {
            (Some(crate::peer::process::Exit::Code(found)), _) if code.is_none_or(|code| code == *found) => {
                (Outcome::Done, String::new())
            }
            (Some(exit), _) => (Outcome::Contradicted, format!("it ended with {exit}")),
            (None, _) => (Outcome::TimedOut, "it was still running at the time limit".to_owned()),
        };
        Report { expected, seen, ..Report::new(StepKind::Exit, outcome) }
    }

    /// Looks whether the subject advertises what the case needs, as soon as that can be known.
    fn needs_unmet(&mut self) -> bool {
        for (index, need) in self.case.needs.iter().enumerate() {
            if self.met[index] {
                continue;
            }
            let Some((event, root)) = self.need_root(need.root) else { continue };
            let value = need.path.iter().try_fold(&root, |value, key| value.get(key));
            let there = value.is_some_and(|value| {
                !matches!(value, Value::Null | Value::Bool(false))
                    && value.as_array().is_none_or(|list| !list.is_empty())
            });
            if !there {
                let event = StepEvent {
                    kind: StepKind::Needs,
                    line: 0,
                    text: format!("needs: {}", need.text),
                    outcome: Outcome::NotApplicable,
                    decides: Vec::new(),
                    events: vec![event],
                    expected: String::new(),
                    seen: format!("the agent does not advertise {}", need.text),
                };
                self.driver.recorder.record(What::Step(event));
                return true;
            }
            self.met[index] = true;
        }
        false
    }

    fn need_root(&self, root: NeedRoot) -> Option<(usize, Value)> {
        let method = if root == NeedRoot::Session { "session/new" } else { "initialize" };
        let asked = self.driver.asked.values().find(|asked| asked.method == method)?;
        if root == NeedRoot::Client {
            return Some((asked.n, asked.params.get("clientCapabilities").cloned().unwrap_or_default()));
        }
        let seen = self.driver.inbox[asked.from..].iter().find(|seen| expect::answers(&seen.value, &asked.id))?;
        let result = seen.value.get("result")?;
        let value = if root == NeedRoot::Agent {
            result.get("agentCapabilities").cloned().unwrap_or_default()
        } else {
            result.clone()
        };
        Some((seen.n, value))
    }

    /// Notes for every line that must not come whether it came.
    fn judge_nevers(&mut self) {
        let case = self.case;
        for step in &case.steps {
            let Action::Never(line) = &step.action else { continue };
            let came = expect::came(self, line);
            let outcome = if came.is_empty() { Outcome::Done } else { Outcome::Contradicted };
            let expected = format!("no {}", expect::describe(self, line));
            let seen = if came.is_empty() { String::new() } else { "it came".to_owned() };
            self.record(step, Report { kind: StepKind::Never, outcome, events: came, expected, seen });
        }
    }
}

fn own_fault(seen: String) -> StepEvent {
    StepEvent {
        kind: StepKind::End,
        line: 0,
        text: String::new(),
        outcome: Outcome::HarnessError,
        decides: Vec::new(),
        events: Vec::new(),
        expected: String::new(),
        seen,
    }
}
