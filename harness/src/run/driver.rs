//! The conversation of a case while it lives: sends, receives and records on every connection.
//!
//! What the subject asks for is answered in [`serve`]; how the subject is ended is in [`end`], how its logins in a
//! terminal are told from connections is in [`login`], and how it goes on to a further case in [`reuse`].

mod end;
mod login;
mod reuse;
mod serve;

use std::collections::{BTreeMap, VecDeque};
use std::future::ready;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Duration, Instant, timeout};

use self::serve::{Answered, Open, Role};
use super::mcp::McpServers;
use super::model::CaseModel;
use super::record::Recorder;
use super::tester::{Agent, Services};
use super::writing::Writing;
use crate::case::model::TesterSetup;
use crate::fault::{Injector, Planted};
use crate::peer::link::{Link, LinkEvent};
use crate::peer::web::{Web, WebRequest};
use crate::protocol::Edition;
use crate::requirement::Party;
use crate::trace::{AgentStart, Aside, Exit, ModelEvent, ProcessEvent, Reuse, Visit, What};
use crate::wire::{Content, Envelope, Frame, Framer, LineEnd, RpcId, read_line};

/// After how many steps the MCP servers, the endpoint and the model have their turn, whatever else the subject does.
const ASIDE_EACH: usize = 4;

/// The longest piece of what a subject prints beside the protocol.
const LONGEST_PRINT: usize = 64 << 10;

/// How long what a client wrote is waited for after its end. All of it is on its way, and comes with the end of the stream,
/// unless a process that the client left behind holds the stream open.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// What a page shows that a client is asked to visit.
const PAGE: &str = "<!doctype html><title>acp-conformance</title><p>You can close this page.";

/// A message of the subject that was read.
pub struct Seen {
    /// Its event.
    pub n: usize,
    /// The connection on which it came.
    pub connection: usize,
    /// The message.
    pub value: Value,
    /// The step of the transcript that took it, by its index.
    pub taken: Option<usize>,
}

/// A request of the tester.
pub struct Asked {
    /// Its event.
    pub n: usize,
    /// The connection on which it was sent.
    pub connection: usize,
    /// Its id on the wire.
    pub id: RpcId,
    /// Its method.
    pub method: String,
    /// Its params.
    pub params: Value,
    /// How many messages of the subject had come before it.
    pub from: usize,
    /// When it was sent.
    pub at: Instant,
}

/// The state of the subject's process.
#[derive(Default)]
pub struct Life {
    /// How it ended.
    pub exit: Option<Exit>,
    /// It sent more than is recorded.
    pub flooded: bool,
}

/// One connection with the subject.
#[derive(Default)]
struct Connection {
    framer: Framer,
    /// The subject will say nothing more.
    ended: bool,
    /// The process that a client takes for its agent stays when it should go.
    lingers: bool,
    /// That process has ended.
    gone: bool,
    /// It is no agent, but a login in a terminal: nothing is said to it by itself, and it stays when its input ends.
    is_login: bool,
    /// The fault that the subject was given, which changes what it says.
    injector: Option<Injector>,
}

/// A start of the agent's program for a login in a terminal.
#[derive(Debug, Clone, Copy)]
pub struct LoginStart {
    /// Its event.
    pub n: usize,
    /// The number under which its process is known, as a connection is.
    pub connection: usize,
    /// Whether it runs on a terminal.
    pub on_terminal: bool,
}

/// A line that is written to the subject.
pub struct Written {
    /// The bytes, without the line feed.
    pub bytes: Vec<u8>,
    /// Whether it breaks the protocol on purpose.
    pub deliberate: bool,
}

/// A subject with everything that has happened so far.
pub struct Driver {
    link: Link,
    subject: Party,
    connections: Vec<Connection>,
    /// How the client started its agent first.
    base: Option<AgentStart>,
    /// The logins in a terminal, in order.
    pub logins: Vec<LoginStart>,
    stdout: Framer,
    stderr: Framer,
    /// The trace.
    pub recorder: Recorder,
    /// The messages of the subject.
    pub inbox: Vec<Seen>,
    /// The requests of the tester, by label.
    pub asked: BTreeMap<String, Asked>,
    /// What is known about the subject's process.
    pub life: Life,
    edition: &'static Edition,
    role: Role,
    setup: TesterSetup,
    /// The requests of the subject that have no answer yet.
    open: Vec<Open>,
    /// How many requests of the subject have no answer yet, whoever is to give it.
    unanswered: usize,
    /// The requests of an agent that are served once nothing else has come: what it said before an answer stands before it.
    waiting: VecDeque<Open>,
    /// The transcript is over, so that nothing is answered by hand any more.
    unscripted: bool,
    answers: (mpsc::UnboundedSender<Answered>, mpsc::UnboundedReceiver<Answered>),
    /// How the tester writes its messages.
    pub writing: Writing,
    /// Something that the tester did wrong by itself.
    pub own_fault: Option<String>,
    /// Until when output is waited for after the subject's end.
    last_output: Option<Instant>,
    fault: Option<Planted>,
    /// The MCP servers that the tester plays.
    pub mcp: McpServers,
    /// The HTTP endpoint of the case.
    web: Option<Web>,
    /// The scripted model of an agent.
    model: Option<CaseModel>,
    /// The events of the requests to the page of the case, without those that the trace has no room for.
    pub visits: Vec<usize>,
    /// The cases that the process has served before.
    earlier: Option<Reuse>,
    /// The ids of the fences that open a session.
    pub session_fences: Vec<RpcId>,
    /// How many things were waited for.
    steps: usize,
}

impl Driver {
    /// Takes over the link to an agent, with the services that it may ask for.
    pub fn of_agent(
        link: Link,
        recorder: Recorder,
        services: Services,
        setup: TesterSetup,
        edition: &'static Edition,
    ) -> Self {
        let mut driver = Self::new(edition, link, Party::Agent, recorder, Role::Client(services), setup).announced();
        driver.connections.push(Connection::default());
        driver
    }

    /// Takes over the link to a client.
    pub fn of_client(link: Link, recorder: Recorder, setup: TesterSetup, edition: &'static Edition) -> Self {
        let role = Role::Agent(Box::new(Agent::new(edition, &setup)));
        Self::new(edition, link, Party::Client, recorder, role, setup).announced()
    }

    /// Notes that the subject was started.
    fn announced(mut self) -> Self {
        if let Some(pid) = self.link.pid {
            self.recorder.record(What::Process(ProcessEvent::Spawned { pid }));
        }
        self
    }

    fn new(
        edition: &'static Edition,
        link: Link,
        subject: Party,
        recorder: Recorder,
        role: Role,
        setup: TesterSetup,
    ) -> Self {
        let writing = Writing::new(edition, subject.other(), setup.wire);
        Self {
            edition,
            link,
            subject,
            connections: Vec::new(),
            base: None,
            logins: Vec::new(),
            stdout: Framer::with_longest(LONGEST_PRINT),
            stderr: Framer::with_longest(LONGEST_PRINT),
            recorder,
            inbox: Vec::new(),
            asked: BTreeMap::new(),
            life: Life::default(),
            role,
            setup,
            open: Vec::new(),
            unanswered: 0,
            waiting: VecDeque::new(),
            unscripted: false,
            answers: mpsc::unbounded_channel(),
            writing,
            own_fault: None,
            last_output: None,
            fault: None,
            mcp: McpServers::default(),
            web: None,
            model: None,
            visits: Vec::new(),
            earlier: None,
            session_fences: Vec::new(),
            steps: 0,
        }
    }

    /// Gives the subject a fault.
    pub fn plant(&mut self, fault: &Planted) {
        self.fault = Some(fault.clone());
        self.connections.iter_mut().for_each(|connection| connection.injector = Some(fault.injector()));
    }

    /// Whether the message is about a session that came of a fence, so that no line of a transcript is about it.
    pub fn is_of_fence(&self, value: &Value) -> bool {
        let session = |value: &Value, at: &str| Some(value.pointer(at)?.as_str()?.to_owned());
        let Some(named) = session(value, "/params/sessionId").filter(|_| !self.session_fences.is_empty()) else {
            return false;
        };
        let is_answer = |seen: &&Seen| self.session_fences.iter().any(|id| super::expect::answers(&seen.value, id));
        self.inbox
            .iter()
            .filter(is_answer)
            .any(|seen| session(&seen.value, "/result/sessionId").as_ref() == Some(&named))
    }

    /// How many connections there were so far.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Whether nothing more will come on the connection.
    pub fn ended(&self, connection: usize) -> bool {
        self.connections.get(connection).map_or_else(|| self.over(), |connection| connection.ended)
    }

    /// Whether nothing more will come at all: a client that runs may still start its agent again.
    pub fn over(&self) -> bool {
        let silent = self.connections.iter().all(|connection| connection.ended || connection.is_login);
        silent && (self.subject == Party::Agent || self.life.flooded || self.has_left())
    }

    /// Writes lines in one go, cut into pieces of `split` bytes if that is asked for, and records them.
    pub fn write(&mut self, to: usize, lines: Vec<Written>, end: LineEnd, split: Option<usize>) -> Vec<usize> {
        let mut all = Vec::new();
        let mut events = Vec::new();
        for Written { bytes, deliberate } in lines {
            let injector = self.connections.get_mut(to).and_then(|connection| connection.injector.as_mut());
            let reaches = injector.map_or_else(|| Some(bytes.clone()), |injector| injector.sent(&bytes));
            if let Some(bytes) = reaches {
                all.extend_from_slice(&bytes);
                all.extend_from_slice(end.bytes());
            }
            let from = self.subject.other();
            events.push(self.recorder.record_on(to, What::Line { from, bytes, end, deliberate }));
        }
        let size = split.unwrap_or(all.len()).max(1);
        self.link.write(to, all.chunks(size).map(<[u8]>::to_vec).collect());
        events
    }

    /// Waits for the next thing to happen and takes it in; false when the deadline came first or nothing can come.
    pub async fn step(&mut self, deadline: Instant) -> bool {
        // A process that left the subject's group may hold its output open for ever; the subject itself says no more.
        let last = self.last_output.filter(|_| !self.over());
        let deadline = last.map_or(deadline, |last| last.min(deadline));
        self.steps = self.steps.wrapping_add(1);
        // The link comes first below, and an agent that prints without a pause always has something there. The visits of a
        // client stay behind its lines, since its answer may be what allows a visit.
        if self.subject == Party::Agent && self.steps.is_multiple_of(ASIDE_EACH) && self.take_in_aside().await {
            return true;
        }
        tokio::select! {
            biased;
            Some(Answered { connection, id, method, answer }) = self.answers.1.recv() => {
                self.answer(connection, &id, &method, answer);
                true
            }
            // Stands before what no limit ends.
            event = self.link.next(deadline) => match event {
                Some(event) => { self.take_in(event); true }
                None if last.is_some_and(|last| Instant::now() >= last) => {
                    self.connections.iter_mut().for_each(|connection| connection.ended = true);
                    true
                }
                None => false,
            },
            () = ready(()), if !self.waiting.is_empty() => { self.serve_next(); true }
            (server, event) = self.mcp.next() => {
                self.mcp.take_in(server, event, &mut self.recorder);
                true
            }
            Some(request) = next_visit(&mut self.web) => { self.visited(request); true }
            Some(asked) = next_of_model(&mut self.model) => { self.model_asked(asked); true }
        }
    }

    /// Takes in one thing that has already happened to an MCP server, the endpoint or the model; false if nothing has.
    async fn take_in_aside(&mut self) -> bool {
        tokio::select! {
            biased;
            (server, event) = self.mcp.next() => self.mcp.take_in(server, event, &mut self.recorder),
            Some(request) = next_visit(&mut self.web) => self.visited(request),
            Some(asked) = next_of_model(&mut self.model) => self.model_asked(asked),
            () = ready(()) => return false,
        }
        true
    }

    /// Gives the case its MCP servers, its HTTP endpoint and its model.
    pub fn host(&mut self, mcp: McpServers, web: Option<Web>, model: Option<CaseModel>) {
        (self.mcp, self.web, self.model) = (mcp, web, model);
    }

    /// Takes in what the model was asked and nobody waited for.
    pub fn take_in_model(&mut self) {
        while let Some(asked) = self.model.as_mut().and_then(CaseModel::left) {
            self.model_asked(asked);
        }
    }

    fn model_asked(&mut self, asked: ModelEvent) {
        self.recorder.record_aside(Aside::Model, asked.did.len(), What::Model(asked));
    }

    fn visited(&mut self, request: WebRequest) {
        let origin = self.web.as_ref().map(Web::origin).unwrap_or_default();
        let (method, url, headers) = (request.method.clone(), origin + &request.path, request.headers.clone());
        let size = headers.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() + url.len();
        let visit = What::Visit(Visit { method, url, headers });
        self.visits.extend(self.recorder.record_aside(Aside::Visits, size, visit));
        match self.subject {
            Party::Agent => self.mcp.visited(request, &mut self.recorder),
            Party::Client => request.reply.send(200, &[("content-type", "text/html")], PAGE),
        }
    }

    /// Takes in the requests to the endpoint that have come.
    pub async fn take_in_visits(&mut self) {
        while let Ok(Some(request)) = timeout(Duration::ZERO, next_visit(&mut self.web)).await {
            self.visited(request);
        }
    }

    /// Takes in whatever comes until `done` or the deadline; true when it is done.
    pub async fn until(&mut self, deadline: Instant, mut done: impl FnMut(&Self) -> bool) -> bool {
        while !done(self) {
            if !self.step(deadline).await {
                return done(self);
            }
        }
        true
    }

    fn take_in(&mut self, event: LinkEvent) {
        match event {
            LinkEvent::Connected { connection, caller, orders } => {
                self.link.accept(orders);
                self.agent_started(connection, *caller);
            }
            LinkEvent::Output { connection, bytes } => self.output(connection, &bytes),
            LinkEvent::OutputEnded { connection } => self.output_ended(connection),
            LinkEvent::Stdout(bytes) => {
                let mut frames = Vec::new();
                self.stdout.feed(&bytes, |frame| frames.push(frame));
                frames.into_iter().for_each(|frame| self.printed(What::Stdout(frame.bytes)));
            }
            LinkEvent::Stderr(bytes) => {
                let mut frames = Vec::new();
                self.stderr.feed(&bytes, |frame| frames.push(frame));
                frames.into_iter().for_each(|frame| self.printed(What::Stderr(frame.bytes)));
            }
            LinkEvent::InputBroken { connection } => {
                self.recorder.record_on(connection, What::Process(ProcessEvent::StdinBroken));
            }
            LinkEvent::AgentSignalled { connection, name } => self.agent_signalled(connection, name),
            LinkEvent::AgentEnded { connection } => {
                // Killed by its client, or ended by us; in either case its stream has ended before.
                self.connections[connection].ended = true;
                self.connections[connection].gone = true;
            }
            LinkEvent::Exited(exit) => self.exited(exit),
        }
    }

    fn output(&mut self, connection: usize, bytes: &[u8]) {
        let mut frames = Vec::new();
        self.connections[connection].framer.feed(bytes, |frame| frames.push(frame));
        frames.into_iter().for_each(|frame| self.arrived(connection, frame));
        self.stop_flood();
    }

    fn output_ended(&mut self, connection: usize) {
        if self.connections[connection].is_login {
            return self.login_input_ended(connection);
        }
        if let Some(frame) = self.connections[connection].framer.finish() {
            self.arrived(connection, frame);
        }
        let injector = self.connections[connection].injector.as_mut();
        let held_back = injector.map_or_else(Vec::new, Injector::finish);
        held_back.into_iter().for_each(|frame| self.line(connection, frame));
        self.connections[connection].ended = true;
        self.recorder.record_on(connection, What::Process(ProcessEvent::StdoutEnded));
        self.leave(connection, 0);
    }

    fn printed(&mut self, what: What) {
        if !self.life.flooded {
            let size = if let What::Stderr(bytes) | What::Stdout(bytes) = &what { bytes.len() } else { 0 };
            self.recorder.record_aside(Aside::Output, size, what);
        }
    }

    /// A line of the process, which is the line of the subject unless that was given a fault.
    fn arrived(&mut self, connection: usize, frame: Frame) {
        match &mut self.connections[connection].injector {
            Some(injector) => injector.received(frame).into_iter().for_each(|frame| self.line(connection, frame)),
            None => self.line(connection, frame),
        }
    }

    fn line(&mut self, connection: usize, frame: Frame) {
        if self.life.flooded {
            return;
        }
        if self.connections[connection].is_login {
            return self.typed(connection, frame);
        }
        let content = read_line(&frame.bytes);
        let line = What::Line { from: self.subject, bytes: frame.bytes, end: frame.end, deliberate: false };
        let n = self.recorder.record_on(connection, line);
        match content {
            Content::One { value, .. } => self.message(connection, n, value),
            Content::Several { values, .. } => values.into_iter().for_each(|value| self.message(connection, n, value)),
            _ => {}
        }
    }

    fn message(&mut self, connection: usize, n: usize, value: Value) {
        if self.earlier.as_ref().is_some_and(|earlier| earlier.is_about(&value)) {
            return self.late(connection, &value);
        }
        if let Envelope::Call(call) = Envelope::of(&value) {
            let params = call.params.unwrap_or(&Value::Null);
            match call.id {
                Some(id) => self.requested(connection, id, call.method, params),
                None => self.told(call.method, params),
            }
        }
        self.learn_session(&value);
        self.recorder.keep(&value);
        self.inbox.push(Seen { n, connection, value, taken: None });
    }
}

/// The next request to a model. Without one there is none for ever.
async fn next_of_model(model: &mut Option<CaseModel>) -> Option<ModelEvent> {
    match model {
        Some(model) => model.next().await,
        None => std::future::pending().await,
    }
}

/// The next request to an endpoint. Without one there is none for ever.
async fn next_visit(web: &mut Option<Web>) -> Option<WebRequest> {
    match web {
        Some(web) => web.next().await,
        None => std::future::pending().await,
    }
}
