//! The events of a trace.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::case::CaseMark;
use super::http::HttpEvent;
use super::model::ModelEvent;
use super::step::StepEvent;
use crate::requirement::Party;
use crate::wire::LineEnd;

/// One observation.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Position in the trace, from 0; findings name it as evidence.
    pub n: usize,
    /// Microseconds since the start of the trace, on a monotonic clock.
    pub us: u64,
    /// The number of its connection, from 0. An agent has one; a client has one for each start of its agent.
    pub connection: usize,
    /// The observation.
    pub what: What,
}

/// The kind of an observation.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// A line on the protocol stream, byte for byte.
    Line {
        /// The sender.
        from: Party,
        /// The bytes before the line end.
        bytes: Vec<u8>,
        /// The line end.
        end: LineEnd,
        /// Whether the tester violated the protocol with it on purpose; consequences of it alone are not failures.
        deliberate: bool,
    },
    /// A line on the protocol stream whose sender is unknown.
    Unattributed(Vec<u8>),
    /// Output of the subject on standard error, one line or a piece of one.
    Stderr(Vec<u8>),
    /// Output of a client on standard output, one line or a piece of one. The standard output of an agent is its
    /// protocol stream.
    Stdout(Vec<u8>),
    /// An event of the subject's process.
    Process(ProcessEvent),
    /// An event of an MCP server of the tester.
    Mcp(McpEvent),
    /// An event of HTTP or of a WebSocket, if one of them carries the messages.
    Http(HttpEvent),
    /// A request to the HTTP endpoint of the case.
    Visit(Visit),
    /// A request to the scripted model of the case.
    Model(ModelEvent),
    /// A mark that the tester's next line on the connection is a fence by a request of the protocol, such as
    /// `session/list`: it only needs an answer, and the judge ignores the two otherwise. A fence by [`FENCE`] needs
    /// no such mark.
    Fence(String),
    /// The result of a step of the case.
    Step(StepEvent),
    /// A case begins or ends, in a conversation that holds several.
    Case(CaseMark),
}

/// The events of the subject's process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ProcessEvent {
    /// It was started.
    Spawned {
        /// Its process id.
        pid: u32,
    },
    /// It could not be started; the reason.
    NotSpawned(String),
    /// The tester ended its protocol stream to the subject: the standard input of an agent, or the stream that a client
    /// reads from its agent.
    StdinClosed,
    /// The subject's protocol stream ended: the standard output of an agent, or the stream that a client writes to its
    /// agent.
    StdoutEnded,
    /// The subject closed its input.
    StdinBroken,
    /// A client started its agent, which opens a connection; or it started the agent's program for a login in a
    /// terminal.
    AgentStarted(AgentStart),
    /// A client sent its agent a signal.
    AgentSignalled(String),
    /// The tester ended the agent's process with this exit code.
    AgentExited(i32),
    /// The tester killed the agent's process with SIGKILL.
    AgentKilled,
    /// A signal was sent to its process group, because it had not exited by itself.
    Signalled(String),
    /// It exited by itself or by a signal.
    Exited {
        /// The exit code, if it exited by itself.
        code: Option<i32>,
        /// The signal that ended it, if one did.
        signal: Option<String>,
    },
    /// These processes, by their command lines, still ran a while after the agent had exited at the end of its input;
    /// then they were killed. Recorded on Linux only.
    Left(Vec<String>),
    /// It sent more than the trace may hold, and was stopped.
    Flooded,
    /// It exceeded the limit of the trace for one kind of event outside the protocol. Later events of that kind are
    /// missing in the trace, without other consequences for the subject.
    Unrecorded(Aside),
}

/// The kinds of events outside the protocol that have separate limits in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Aside {
    /// Output on standard error; of a client also on standard output.
    Output,
    /// Events of the tester's MCP servers.
    Mcp,
    /// Its requests to the HTTP endpoint of the case.
    Visits,
    /// Its requests to the scripted model of the case.
    Model,
}

/// An event of an MCP server of the tester.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct McpEvent {
    /// The name of the server in the case.
    pub server: String,
    /// The transport of MCP.
    pub over: McpTransport,
    /// The number of the server's process, or of its stream of events, from 0; absent for the first.
    #[serde(default, skip_serializing_if = "is_first")]
    pub instance: usize,
    /// The event.
    pub what: McpWhat,
}

/// The transport of an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum McpTransport {
    /// By its standard streams.
    Stdio,
    /// By streamable HTTP.
    Http,
    /// By HTTP, with the answers in a stream of events.
    Sse,
}

impl McpTransport {
    /// Returns the name in the trace.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

/// The events of an MCP server of the tester.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum McpWhat {
    /// Its process was started.
    Started {
        /// The path by which it was started.
        command: String,
        /// Its process id.
        pid: u32,
        /// Its arguments.
        args: Vec<String>,
        /// Its working directory.
        cwd: String,
        /// The environment variables that the client asked for.
        env: BTreeMap<String, String>,
        /// The names of its other environment variables; their values are private.
        environment: Vec<String>,
    },
    /// It received this message.
    FromAgent(String),
    /// It sent this message.
    ToAgent(String),
    /// Its input ended, or it got a signal to stop.
    Ended,
}

/// A request to the HTTP endpoint of the case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Visit {
    /// The method, such as `GET`.
    pub method: String,
    /// The whole URL.
    pub url: String,
    /// The headers in the order of sending, each with its name in lower case and its value.
    pub headers: Vec<(String, String)>,
}

/// Serde requires a reference.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
pub(super) const fn is_first(number: &usize) -> bool {
    *number == 0
}

/// The start of an agent by its client.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentStart {
    /// The process id of the process that the client takes for its agent.
    pub pid: u32,
    /// The process id of its parent.
    pub parent: u32,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its working directory.
    pub cwd: String,
    /// The names of its environment variables; their values are private.
    pub environment: Vec<String>,
    /// The values of the variables that the login methods of the case name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// Whether its standard input and output are a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<bool>,
}

impl AgentStart {
    /// Whether this start is a login that adds these arguments and variables to `base`, the start of a connection. The
    /// arguments identify a login anywhere, the variables only in a terminal, since a later connection may have kept
    /// them.
    pub fn is_login(&self, base: &Self, args: &[String], env: &BTreeMap<String, String>) -> bool {
        let added = |start: &Self| !args.is_empty() && start.args.windows(args.len()).any(|window| window == args);
        let set = |start: &Self| env.iter().any(|(name, value)| start.values.get(name) == Some(value));
        added(self) && !added(base) || self.terminal == Some(true) && set(self) && !set(base)
    }
}

/// The prefix of the folders of a case, before the letters that make each unique.
pub const SCRATCH: &str = "acp-case-";

/// The prefix of the methods that the tester invented; no subject can know them.
pub const INVENTED: &str = "_acp-conformance/";

/// The intent of a prompt that asks for a tool of an MCP server.
pub const CALL_MCP_TOOL: &str = "call-mcp-tool";

/// The method of the request that is tried first as a fence. No program knows it, and JSON-RPC requires an answer to
/// every request. If it gets none, requests of the protocol follow; see [`What::Fence`].
pub const FENCE: &str = "_acp-conformance/fence";
