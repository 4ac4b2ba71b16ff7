//! A live conversation: sends, receives and records on every connection with the subject.
//!
//! [`orders`] carries out the orders of a case, [`serve`] answers the requests of the subject, [`login`] distinguishes
//! logins in a terminal from connections, [`next_case`] continues with another case, and [`end`] ends the subject.

mod end;
mod login;
mod next_case;
mod orders;
mod serve;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::ready;
use std::mem::take;

use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::Instant;

use self::next_case::EarlierCases;
use self::serve::{Answered, Role};
use super::channel::{Channel, ConnectionState, Line, Message, OpenRequest, Order, State};
use super::environment::CaseModel;
use super::recorder::Recorder;
use super::tester::{Agent, McpServers, Services, Writing};
use crate::case::model::TesterSetup;
use crate::protocol::Edition;
use crate::requirement::Party;
use crate::trace::{AgentStart, Aside, ModelEvent, ProcessEvent, Visit, What};
use crate::transport::endpoint::Endpoint;
use crate::transport::event::LinkEvent;
use crate::transport::link::Link;
use crate::transport::web::{Web, WebRequest};
use crate::wire::{Content, Envelope, Frame, Framer, LineEnd, RpcId, read_line};

/// The number of steps after which the MCP servers, the endpoint and the model are served, even if the subject keeps
/// sending.
const ASIDE_EACH: usize = 4;

/// The longest recorded piece of the subject's output outside the protocol, in bytes.
const LONGEST_PRINT: usize = 64 << 10;

/// The page that a client is asked to visit.
const PAGE: &str = "<!doctype html><title>acp-conformance</title><p>You can close this page.";

/// One connection with the subject.
#[derive(Default)]
struct Connection {
    framer: Framer,
    /// The process that a client takes for its agent keeps running when it should exit.
    lingers: bool,
    /// That process has exited.
    gone: bool,
}

/// The services that the tester hosts for a case.
pub(super) struct Hosted {
    pub(super) mcp: McpServers,
    pub(super) web: Option<Web>,
    pub(super) model: Option<CaseModel>,
    /// The address at which a client finds its agent, until it is served.
    pub(super) endpoint: Option<Endpoint>,
}

/// A running subject and the record of its conversation.
pub(super) struct Conversation {
    link: Link,
    /// The state that a case reads.
    pub(super) state: State,
    /// The rest of the state of each connection, by its number.
    connections: Vec<Connection>,
    /// The messages that no case has read yet.
    unread: Vec<Message>,
    /// The first start of the agent by the client.
    base: Option<AgentStart>,
    stdout: Framer,
    stderr: Framer,
    edition: &'static Edition,
    role: Role,
    setup: TesterSetup,
    /// The requests of the tester that open a session: their ids and params.
    openings: Vec<(RpcId, Value)>,
    /// The number of requests of the subject that have no answer yet, from the tester or the transcript.
    unanswered: usize,
    /// The requests of an agent to serve once no other message waits, so that everything it sent before is recorded
    /// before the answer.
    waiting: VecDeque<OpenRequest>,
    /// The sessions in which a client prompted, each with its connection.
    prompted: BTreeSet<(usize, Option<String>)>,
    /// The number of prompts that the tester inserted by itself.
    n_inserted: usize,
    /// The messages that were inserted for a client's prompts with a key, by session and key.
    inserted: BTreeMap<(String, String), String>,
    /// The transcript is over, so that the tester answers everything.
    unscripted: bool,
    answers: (mpsc::UnboundedSender<Answered>, mpsc::UnboundedReceiver<Answered>),
    /// The requests of an agent whose answers will come there: their connections and ids.
    pending: Vec<(usize, RpcId)>,
    writing: Writing,
    /// Processes that outlive the agent are looked for before they are killed.
    looks_for_left: bool,
    /// The end of the wait for output after the exit of the subject.
    last_output: Option<Instant>,
    /// The HTTP endpoint of the case.
    web: Option<Web>,
    /// The scripted model of an agent.
    model: Option<CaseModel>,
    /// The cases before the current one.
    earlier: Option<EarlierCases>,
    /// The number of steps so far.
    steps: usize,
}

impl Conversation {
    /// Takes over the link to an agent and the services that the agent may use.
    pub(super) fn with_agent(
        link: Link,
        recorder: Recorder,
        services: Services,
        setup: TesterSetup,
        edition: &'static Edition,
    ) -> Self {
        let state = State::new(Party::Agent, recorder);
        let mut conversation = Self::new(link, state, Role::Client(services), setup, edition).announced();
        conversation.opens(Connection::default(), false);
        conversation
    }

    /// Takes over the link to a client.
    pub(super) fn with_client(link: Link, recorder: Recorder, setup: TesterSetup, edition: &'static Edition) -> Self {
        let role = Role::Agent(Box::new(Agent::new(edition, &setup)));
        Self::new(link, State::new(Party::Client, recorder), role, setup, edition).announced()
    }

    /// Records that the subject was started.
    fn announced(mut self) -> Self {
        if let Some(pid) = self.link.pid {
            self.state.recorder.record(What::Process(ProcessEvent::Spawned { pid }));
        }
        self
    }

    fn new(link: Link, state: State, role: Role, setup: TesterSetup, edition: &'static Edition) -> Self {
        let writing = Writing::new(edition, state.subject.other(), setup.wire);
        Self {
            link,
            state,
            connections: Vec::new(),
            unread: Vec::new(),
            base: None,
            stdout: Framer::with_longest(LONGEST_PRINT),
            stderr: Framer::with_longest(LONGEST_PRINT),
            edition,
            role,
            setup,
            openings: Vec::new(),
            unanswered: 0,
            waiting: VecDeque::new(),
            prompted: BTreeSet::new(),
            n_inserted: 0,
            inserted: BTreeMap::new(),
            unscripted: false,
            answers: mpsc::unbounded_channel(),
            pending: Vec::new(),
            writing,
            looks_for_left: false,
            last_output: None,
            web: None,
            model: None,
            earlier: None,
            steps: 0,
        }
    }

    /// Whether nothing more can come.
    fn over(&self) -> bool {
        let silent = self.state.connections.iter().all(|connection| connection.ended || connection.is_login);
        silent && (self.state.subject == Party::Agent || self.state.flooded || self.has_left())
    }

    /// Updates the parts of the state that depend on the link, the services or the time.
    fn refresh(&mut self) {
        self.state.over = self.over();
        self.state.holds_terminals = matches!(&self.role, Role::Client(services) if services.has_terminals());
    }

    fn opens(&mut self, connection: Connection, is_login: bool) {
        self.connections.push(connection);
        self.state.connections.push(ConnectionState { ended: false, is_login });
    }

    /// Writes lines in a single write, or in pieces of `split` bytes, and records them.
    pub(super) fn write(&mut self, to: usize, lines: &[Line], end: LineEnd, split: Option<usize>) -> Vec<usize> {
        let mut all = Vec::new();
        let mut events = Vec::new();
        for Line { bytes, deliberate, .. } in lines {
            if let Some(earlier) = &mut self.earlier {
                earlier.reuse(bytes);
            }
            if let (Role::Agent(agent), false) = (&mut self.role, *deliberate) {
                agent.shown(to, bytes);
            }
            all.extend_from_slice(bytes);
            all.extend_from_slice(end.bytes());
            let (from, bytes, deliberate) = (self.state.subject.other(), bytes.clone(), *deliberate);
            events.push(self.state.recorder.record_on(to, What::Line { from, bytes, end, deliberate }));
        }
        let size = split.unwrap_or(all.len()).max(1);
        self.link.write(to, all.chunks(size).map(<[u8]>::to_vec).collect());
        events
    }

    /// Waits for the next event and processes it; false if the deadline came first or nothing more can come.
    pub(super) async fn step(&mut self, deadline: Instant) -> bool {
        // A process that left the subject's group may hold its output open forever, but the subject itself has ended.
        let last = self.last_output.filter(|_| !self.over());
        let deadline = last.map_or(deadline, |last| last.min(deadline));
        self.steps = self.steps.wrapping_add(1);
        // The link comes first below, so an agent that prints without a pause would block the others. The visits of a
        // client come after its lines, since the tester's answer may be what allows a visit.
        if self.state.subject == Party::Agent && self.steps.is_multiple_of(ASIDE_EACH) && self.take_in_aside().await {
            return true;
        }
        tokio::select! {
            biased;
            Some(answered) = self.answers.1.recv() => { self.answered(answered); true }
            // This comes before the branches that have no limit.
            event = self.link.next(deadline) => match event {
                Some(event) => { self.take_in(event); true }
                None if last.is_some_and(|last| Instant::now() >= last) => {
                    self.state.connections.iter_mut().for_each(|connection| connection.ended = true);
                    true
                }
                None => false,
            },
            () = ready(()), if !self.waiting.is_empty() => { self.serve_next(); true }
            (server, event) = self.state.mcp.next() => {
                self.state.mcp.take_in(server, event, &mut self.state.recorder);
                true
            }
            // Without an endpoint or a model, these branches are disabled.
            Some(request) = async { self.web.as_mut()?.next().await } => { self.visited(request); true }
            Some(asked) = async { self.model.as_mut()?.next().await } => { self.model_asked(asked); true }
        }
    }

    /// Processes one waiting event of an MCP server, the endpoint or the model; returns whether one was waiting.
    async fn take_in_aside(&mut self) -> bool {
        tokio::select! {
            biased;
            (server, event) = self.state.mcp.next() => self.state.mcp.take_in(server, event, &mut self.state.recorder),
            Some(request) = async { self.web.as_mut()?.next().await } => self.visited(request),
            Some(asked) = async { self.model.as_mut()?.next().await } => self.model_asked(asked),
            () = ready(()) => return false,
        }
        true
    }

    /// Gives the case the services that the tester hosts for it.
    pub(super) fn host(&mut self, hosted: Hosted) {
        (self.state.mcp, self.web, self.model) = (hosted.mcp, hosted.web, hosted.model);
    }

    /// Records the requests to the model that no step has waited for.
    pub(super) fn take_in_model(&mut self) {
        while let Some(asked) = self.model.as_mut().and_then(CaseModel::left) {
            self.model_asked(asked);
        }
    }

    fn model_asked(&mut self, asked: ModelEvent) {
        self.state.recorder.record_aside(Aside::Model, asked.size(), What::Model(asked));
    }

    fn visited(&mut self, request: WebRequest) {
        let origin = self.web.as_ref().map(Web::origin).unwrap_or_default();
        let (method, url, headers) = (request.method.clone(), origin + &request.path, request.headers.clone());
        let size = headers.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>() + url.len();
        let visit = What::Visit(Visit { method, url, headers });
        self.state.visits.extend(self.state.recorder.record_aside(Aside::Visits, size, visit));
        match self.state.subject {
            Party::Agent => self.state.mcp.visited(request, &mut self.state.recorder),
            Party::Client => request.reply.send(200, &[("content-type", "text/html")], PAGE),
        }
    }

    /// Processes the requests to the endpoint that have already come.
    fn take_in_visits(&mut self) {
        while let Some(request) = self.web.as_mut().and_then(Web::try_next) {
            self.visited(request);
        }
    }

    /// Processes events until `done` or the deadline; true if `done`.
    pub(super) async fn until(&mut self, deadline: Instant, mut done: impl FnMut(&Self) -> bool) -> bool {
        while !done(self) {
            if !self.step(deadline).await {
                return done(self);
            }
        }
        true
    }

    fn take_in(&mut self, event: LinkEvent) {
        match event {
            LinkEvent::Connected { connection, caller, input } => {
                self.link.accept(input);
                match caller {
                    Some(caller) => self.agent_started(connection, *caller),
                    None => self.opens(Connection::default(), false),
                }
            }
            LinkEvent::Output { connection, bytes } => self.output(connection, &bytes),
            LinkEvent::OutputEnded { connection } => self.output_ended(connection),
            LinkEvent::Http { connection, event } => {
                let n = self.state.recorder.record_on(connection, What::Http(event.clone()));
                self.state.note_http(connection, n, &event);
            }
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
                self.state.recorder.record_on(connection, What::Process(ProcessEvent::StdinBroken));
            }
            LinkEvent::AgentSignalled { connection, name } => self.agent_signalled(connection, name),
            LinkEvent::AgentEnded { connection } => {
                // The client killed it, or we ended it; in both cases its stream has ended before.
                self.state.connections[connection].ended = true;
                self.connections[connection].gone = true;
            }
            LinkEvent::Exited(exit) => self.exited(exit),
        }
    }

    fn output(&mut self, connection: usize, bytes: &[u8]) {
        let mut frames = Vec::new();
        self.connections[connection].framer.feed(bytes, |frame| frames.push(frame));
        frames.into_iter().for_each(|frame| self.line(connection, frame));
        self.stop_flood();
    }

    fn output_ended(&mut self, connection: usize) {
        if self.state.connections[connection].is_login {
            return self.login_input_ended(connection);
        }
        if let Some(frame) = self.connections[connection].framer.finish() {
            self.line(connection, frame);
        }
        self.state.connections[connection].ended = true;
        self.state.recorder.record_on(connection, What::Process(ProcessEvent::StdoutEnded));
        self.leave(connection, 0);
    }

    fn printed(&mut self, what: What) {
        if !self.state.flooded {
            let size = if let What::Stderr(bytes) | What::Stdout(bytes) = &what { bytes.len() } else { 0 };
            self.state.recorder.record_aside(Aside::Output, size, what);
        }
    }

    fn line(&mut self, connection: usize, frame: Frame) {
        if self.state.flooded {
            return;
        }
        if self.state.connections[connection].is_login {
            return self.typed(connection, frame);
        }
        // The agent asks its model before it reports what the model wrote, so that stands first in the trace as well.
        self.take_in_model();
        let content = read_line(&frame.bytes);
        let line = What::Line { from: self.state.subject, bytes: frame.bytes, end: frame.end, deliberate: false };
        let n = self.state.recorder.record_on(connection, line);
        match content {
            Content::One { value, .. } => self.message(connection, n, value),
            Content::Several { values, .. } => values.into_iter().for_each(|value| self.message(connection, n, value)),
            _ => {}
        }
    }

    fn message(&mut self, connection: usize, n: usize, value: Value) {
        if self.earlier.as_ref().is_some_and(|earlier| earlier.is_about(connection, &value)) {
            return self.late(connection, &value);
        }
        if let Envelope::Call(call) = Envelope::of(&value) {
            let params = call.params.unwrap_or(&Value::Null);
            match call.id {
                Some(id) => self.requested(connection, id, call.method, params),
                None => self.notified(connection, call.method, params),
            }
        }
        self.learn_session(&value);
        self.state.recorder.keep(&value);
        self.unread.push(Message { n, connection, value });
    }
}

impl Channel for Conversation {
    fn send(&mut self, order: Order) -> Option<Vec<usize>> {
        let events = self.carry_out(order);
        self.refresh();
        events
    }

    async fn next(&mut self, deadline: Instant) -> Option<Vec<Message>> {
        let happened = !self.unread.is_empty() || self.step(deadline).await;
        self.refresh();
        happened.then(|| take(&mut self.unread))
    }

    fn record(&mut self, what: What) -> usize {
        self.state.recorder.record(what)
    }

    fn state(&self) -> &State {
        &self.state
    }

    fn writing(&mut self) -> &mut Writing {
        &mut self.writing
    }
}
