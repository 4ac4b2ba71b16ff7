//! How a case uses its conversation: it sends, waits for the next messages, and records. It reads everything else from
//! the state.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tokio::time::Instant;

use super::environment::Start;
use super::recorder::Recorder;
use super::tester::{McpServers, Writing};
use crate::requirement::Party;
use crate::trace::{Exit, HttpEvent, Posted, What};
use crate::transport::event::ScriptedRequest;
use crate::wire::{LineEnd, RpcId};

/// A conversation as a case uses it. [`super::conversation::Conversation`] is the live one; tests use a list of
/// messages.
pub(super) trait Channel {
    /// Carries out an order and returns the events of the lines that it wrote; `None` if the order cannot be carried
    /// out.
    fn send(&mut self, order: Order) -> Option<Vec<usize>>;

    /// Waits for the next event and returns the messages of the subject that came with it; `None` if the deadline came
    /// first or nothing more can come.
    async fn next(&mut self, deadline: Instant) -> Option<Vec<Message>>;

    /// Appends an event to the trace and returns its position.
    fn record(&mut self, what: What) -> usize;

    /// Returns the state of the conversation.
    fn state(&self) -> &State;

    /// Returns how the tester writes messages; request ids are unique in a conversation.
    fn writing(&mut self) -> &mut Writing;
}

/// An action that a case orders from its conversation.
pub(super) enum Order {
    /// Write lines in a single write.
    Lines {
        connection: usize,
        lines: Vec<Line>,
        end: LineEnd,
        /// The length of the pieces in bytes, if the lines are written in pieces.
        split: Option<usize>,
    },
    /// Write a fence and mark it in the trace, if it is a request of the protocol; an unknown request needs no mark.
    Fence {
        connection: usize,
        /// The method to mark; absent for the unknown request.
        marked: Option<&'static str>,
        /// The request.
        line: Line,
    },
    /// Send a request of HTTP next to the messages of a connection.
    Http(usize, ScriptedRequest),
    /// Send a binary frame on a WebSocket.
    Binary(usize, Vec<u8>),
    /// End the protocol stream to the subject.
    CloseInput(usize),
    /// Type something into a client.
    Type(Vec<u8>),
    /// End the standard input of a client.
    EndTyping,
    /// Send the subject a signal of this name.
    Signal(String),
    /// Start an agent again, whose process has ended.
    Restart(Box<Start>),
    /// Have the process that a client takes for its agent act.
    AgentProcess(usize, AgentOrder),
    /// Print something in a login in a terminal.
    LoginPrint(usize, Vec<u8>),
    /// End a login in a terminal with an exit code, or by SIGKILL.
    LoginEnd(usize, Option<i32>),
    /// Answer a request of the subject by default, although it was kept for the transcript.
    AnswerUnscripted(usize, Value),
    /// Record the visits to the page that have already come.
    RecordVisits,
}

/// An action of the process that a client takes for its agent.
pub(super) enum AgentOrder {
    /// Write to standard error.
    Stderr(Vec<u8>),
    /// Keep running when the input ends or a signal comes.
    Linger,
    /// Exit with this code.
    Exit(i32),
    /// Die by SIGKILL.
    Kill,
}

/// A line to the subject.
pub(super) struct Line {
    /// The bytes, without the line feed.
    pub bytes: Vec<u8>,
    /// Whether it breaks the protocol on purpose.
    pub deliberate: bool,
    /// The message, if the services need it: answers, prompts, cancels and opened sessions.
    pub message: Option<Value>,
}

/// A message of the subject.
#[derive(Debug, Clone)]
pub(super) struct Message {
    /// The position of its event in the trace.
    pub n: usize,
    /// The connection on which it came.
    pub connection: usize,
    /// The message.
    pub value: Value,
}

/// A request of the subject that has no answer yet.
#[derive(Debug)]
pub(super) struct OpenRequest {
    /// The connection on which it came.
    pub connection: usize,
    /// Its id.
    pub id: Value,
    /// Its method.
    pub method: String,
    /// Its params.
    pub params: Value,
    /// Whether it is a prompt whose turn the client cancelled.
    pub cancelled: bool,
}

impl OpenRequest {
    /// Whether it is the request with this id on this connection.
    pub fn is(&self, connection: usize, id: &RpcId) -> bool {
        self.connection == connection && RpcId::new(&self.id) == *id
    }
}

/// A start of the agent's program for a login in a terminal.
#[derive(Debug, Clone, Copy)]
pub(super) struct LoginStart {
    /// The position of its event in the trace.
    pub n: usize,
    /// The number of its process, counted like a connection.
    pub connection: usize,
    /// Whether it runs on a terminal.
    pub on_terminal: bool,
}

/// One connection with the subject.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ConnectionState {
    /// The subject cannot send anything more on it.
    pub ended: bool,
    /// It is a login in a terminal, not a connection of the protocol.
    pub is_login: bool,
}

/// The state of a conversation that a case can read.
pub(super) struct State {
    /// The tested party.
    pub subject: Party,
    /// The trace so far.
    pub recorder: Recorder,
    /// The connections, in the order of their opening.
    pub connections: Vec<ConnectionState>,
    /// The logins in a terminal, in the order of their starts.
    pub logins: Vec<LoginStart>,
    /// Nothing more can come. A client that runs may still start its agent again.
    pub over: bool,
    /// How the process of the subject exited.
    pub exit: Option<Exit>,
    /// The subject sent more than the trace can hold and was stopped.
    pub flooded: bool,
    /// The requests of the subject that the transcript answers.
    pub open: Vec<OpenRequest>,
    /// In version 2: the sessions in which a client saw the tester begin to work, each with its connection, until it
    /// is idle.
    pub at_work: BTreeSet<(usize, String)>,
    /// An agent holds a terminal of the tester that it has not released.
    pub holds_terminals: bool,
    /// The MCP servers that the tester plays.
    pub mcp: McpServers,
    /// The events of the requests to the page of the case, except those that did not fit into the trace.
    pub visits: Vec<usize>,
    /// The exchange of the last scripted request that has no response yet, and the events of the responses to those
    /// before it.
    pub scripted: (Option<usize>, Vec<usize>),
    /// The ids of requests, by connection and exchange of HTTP, and the status by which a server refused each.
    pub posted: BTreeMap<(usize, usize), (RpcId, Option<u16>)>,
    /// An error of the tester itself.
    pub own_fault: Option<String>,
    /// The conversation continues from an earlier case, so `initialize` was sent and answered.
    pub goes_on: bool,
}

impl State {
    /// Creates the state before the first event.
    pub fn new(subject: Party, recorder: Recorder) -> Self {
        Self {
            subject,
            recorder,
            connections: Vec::new(),
            logins: Vec::new(),
            over: false,
            exit: None,
            flooded: false,
            open: Vec::new(),
            at_work: BTreeSet::new(),
            holds_terminals: false,
            mcp: McpServers::default(),
            visits: Vec::new(),
            scripted: (None, Vec::new()),
            posted: BTreeMap::new(),
            own_fault: None,
            goes_on: false,
        }
    }

    /// Records an update that the tester sends to a client, for the state of its work.
    pub fn note_update(&mut self, connection: usize, params: &Value) {
        let text = |at: &str| params.pointer(at).and_then(Value::as_str);
        if let (Some("state_update"), Some(state), Some(session)) =
            (text("/update/sessionUpdate"), text("/update/state"), text("/sessionId"))
        {
            let work = (connection, session.to_owned());
            if state == "idle" {
                self.at_work.remove(&work)
            } else {
                self.at_work.insert(work)
            };
        }
    }

    /// Reads an event of HTTP, with its connection and its position.
    pub fn note_http(&mut self, connection: usize, n: usize, event: &HttpEvent) {
        match event {
            HttpEvent::Frame { by_server: false, .. } => self.scripted.1.push(n),
            HttpEvent::Request { exchange, scripted: true, .. } => self.scripted.0 = Some(*exchange),
            HttpEvent::Request { exchange, message: Some(Posted { method: Some(_), id: Some(id), .. }), .. } => {
                self.posted.insert((connection, *exchange), (RpcId::new(id), None));
            }
            HttpEvent::Response { exchange, .. } | HttpEvent::Failed { exchange, .. }
                if self.scripted.0 == Some(*exchange) =>
            {
                self.scripted.0 = None;
                self.scripted.1.push(n);
            }
            HttpEvent::Response { exchange, status: status @ 400.., .. } => {
                if let Some((_, refused)) = self.posted.get_mut(&(connection, *exchange)) {
                    *refused = Some(*status);
                }
            }
            HttpEvent::Response { exchange, .. } => drop(self.posted.remove(&(connection, *exchange))),
            _ => {}
        }
    }

    /// Returns the status of HTTP by which a server refused this request.
    pub fn refused(&self, connection: usize, id: &RpcId) -> Option<u16> {
        let of_connection = self.posted.range((connection, 0)..=(connection, usize::MAX));
        of_connection.filter(|(_, (posted, _))| posted == id).find_map(|(_, (_, status))| *status)
    }

    /// Whether nothing more can come on the connection.
    pub fn ended(&self, connection: usize) -> bool {
        self.connections.get(connection).map_or(self.over, |connection| connection.ended)
    }

    /// Returns the method of a request of the subject that has no answer yet.
    pub fn open_method(&self, connection: usize, id: &Value) -> Option<&str> {
        let id = RpcId::new(id);
        self.open.iter().find(|open| open.is(connection, &id)).map(|open| open.method.as_str())
    }

    /// Whether a client waits for the end of a turn on this connection.
    pub fn in_turn(&self, connection: usize) -> bool {
        self.unanswered(connection).any(|method| method == "session/prompt")
    }

    /// Returns the methods of the requests on this connection that have no answer yet.
    pub fn unanswered(&self, connection: usize) -> impl Iterator<Item = &str> {
        self.open.iter().filter(move |open| open.connection == connection).map(|open| open.method.as_str())
    }
}
