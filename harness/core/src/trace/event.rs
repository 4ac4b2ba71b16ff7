//! The events of a trace.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::case::CaseMark;
use super::reuse::Reuse;
use super::step::StepEvent;
use crate::requirement::Party;
use crate::wire::LineEnd;

/// One thing that was observed.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Position in the trace, from 0; findings name it as evidence.
    pub n: usize,
    /// Microseconds since the start of the trace, on a monotonic clock.
    pub us: u64,
    /// The connection that it is about, from 0. An agent has one; a client has one for each time that it starts its agent.
    pub connection: usize,
    /// What happened.
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// A line on the protocol stream, byte for byte.
    Line {
        /// Who sent it.
        from: Party,
        /// The bytes before the line end.
        bytes: Vec<u8>,
        /// The line end.
        end: LineEnd,
        /// Whether the tester broke the protocol with it on purpose; nothing that follows from it alone is held against
        /// anybody.
        deliberate: bool,
    },
    /// A line on the protocol stream, when nothing tells who sent it.
    Unattributed(Vec<u8>),
    /// Something the subject wrote to its standard error, one line or a piece of one.
    Stderr(Vec<u8>),
    /// Something that a client printed, one line or a piece of one. The standard output of an agent is its protocol stream.
    Stdout(Vec<u8>),
    /// Something that happened to the subject's process.
    Process(ProcessEvent),
    /// Something that happened to an MCP server that the tester plays.
    Mcp(McpEvent),
    /// A request to the HTTP endpoint of the case.
    Visit(Visit),
    /// A request to the scripted model of the case.
    Model(ModelEvent),
    /// The tester's next line on the connection is a fence by a request of the protocol, such as `session/list`: it was sent
    /// only for its answer to come, and the two are evidence of nothing else. A fence by [`FENCE`] needs no such mark.
    Fence(String),
    /// How a step of the case went.
    Step(StepEvent),
    /// A case begins or ends, in a conversation that holds several.
    Case(CaseMark),
}

/// The life of the subject's process.
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
    /// The tester ended its protocol stream to the subject: the standard input of an agent, or what a client reads from its
    /// agent.
    StdinClosed,
    /// The subject's protocol stream ended: the standard output of an agent, or what a client writes to its agent.
    StdoutEnded,
    /// Nothing could be written to the subject any more.
    StdinBroken,
    /// A client started its agent, which opens a connection; or it started the agent's program for a login in a terminal.
    AgentStarted(AgentStart),
    /// A client sent its agent a signal.
    AgentSignalled(String),
    /// The tester ended the agent's process with this exit code.
    AgentExited(i32),
    /// The tester had SIGKILL end the agent's process.
    AgentKilled,
    /// A signal was sent to its process group, because it had not ended by itself.
    Signalled(String),
    /// It ended by itself or by a signal.
    Exited {
        /// The exit code, if it ended by itself.
        code: Option<i32>,
        /// The signal, if one ended it.
        signal: Option<String>,
    },
    /// It sent more than the trace may hold, and was stopped.
    Flooded,
    /// It did more of this beside the protocol than the trace may hold. What comes after this event is missing in the trace,
    /// and has no other consequence for the subject.
    Unrecorded(Aside),
    /// It had served earlier cases, of which the trace shows only `initialize`. Only early traces have this.
    Reused(Reuse),
    /// The case was over, and its process was to serve further ones. Only early traces have this.
    Parted,
}

/// What a subject does beside the protocol, by the kinds that have limits of their own in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Aside {
    /// What it prints to its standard error; of a client to its standard output as well.
    Output,
    /// What happens to the MCP servers that the tester plays.
    Mcp,
    /// Its requests to the HTTP endpoint of the case.
    Visits,
    /// Its requests to the scripted model of the case.
    Model,
}

/// What happened to an MCP server that the tester plays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct McpEvent {
    /// The name of the server in the case.
    pub server: String,
    /// The transport of MCP.
    pub over: McpTransport,
    /// Which of the server's processes, or of its streams of events, it is about, from 0; absent for the first.
    #[serde(default, skip_serializing_if = "is_first")]
    pub instance: usize,
    /// What happened.
    pub what: McpWhat,
}

/// How an MCP server is reached.
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
    /// As in the trace.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

/// The life of an MCP server that the tester plays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum McpWhat {
    /// Its process was started.
    Started {
        /// The path by which it was started.
        command: String,
        /// Its process id.
        pid: u32,
        /// The arguments that it was given.
        args: Vec<String>,
        /// The directory that it was started in.
        cwd: String,
        /// Those environment variables that the client asked for.
        env: BTreeMap<String, String>,
        /// The names of its other environment variables; their values are nobody's business.
        environment: Vec<String>,
    },
    /// It was told this.
    FromAgent(String),
    /// It said this.
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
    /// The headers in the order of sending, each with its name in small letters and its value.
    pub headers: Vec<(String, String)>,
}

/// A request to the scripted model of the case, of which the trace has no more than what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelEvent {
    /// The API by which it came; absent if it was for no answer of a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api: Option<String>,
    /// What the model did, such as `read-file: called Read`: nothing in it is from the case or from the agent but the names
    /// of the intent and of tools.
    pub did: String,
}

impl ModelEvent {
    /// Whether the model called a tool for this intent.
    #[must_use]
    pub fn has_called(&self, intent: &str) -> bool {
        self.split_tools().0.strip_prefix(intent) == Some(CALLED)
    }

    /// What the model did up to the names of the tools that it called, and these names; nothing up to there if it called none.
    #[must_use]
    pub fn split_tools(&self) -> (&str, &str) {
        self.did.split_at(self.did.find(CALLED).map_or(0, |at| at + CALLED.len()))
    }
}

/// Serde asks for a reference.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
pub(super) const fn is_first(number: &usize) -> bool {
    *number == 0
}

/// How a client started its agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentStart {
    /// The process id of what the client takes for its agent.
    pub pid: u32,
    /// The process id of its parent.
    pub parent: u32,
    /// The arguments that it was given.
    pub args: Vec<String>,
    /// The directory that it was started in.
    pub cwd: String,
    /// The names of its environment variables; their values are nobody's business.
    pub environment: Vec<String>,
    /// The values of those variables that the login methods of the case name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, String>,
    /// Whether its standard input and output are a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal: Option<bool>,
}

impl AgentStart {
    /// Whether this is a login which adds these arguments and variables to `base`, the start of a connection. By the arguments
    /// it is known wherever it runs; by the variables only in a terminal, since a later connection may have kept them.
    #[must_use]
    pub fn is_login(&self, base: &Self, args: &[String], env: &BTreeMap<String, String>) -> bool {
        let added = |start: &Self| !args.is_empty() && start.args.windows(args.len()).any(|window| window == args);
        let set = |start: &Self| env.iter().any(|(name, value)| start.values.get(name) == Some(value));
        added(self) && !added(base) || self.terminal == Some(true) && set(self) && !set(base)
    }
}

/// How the folders of a case are called, before the letters that make them its own.
pub const SCRATCH: &str = "acp-case-";

/// What the methods begin with that the tester invented; no subject can know them.
pub const INVENTED: &str = "_acp-conformance/";

/// What stands in [`ModelEvent::did`] between the intent and the names of the tools that the model called.
pub const CALLED: &str = ": called ";

/// The intent of a prompt that asks for a tool of an MCP server.
pub const CALL_MCP_TOOL: &str = "call-mcp-tool";

/// The method of the request that is tried first as a fence. No program knows it, and JSON-RPC wants an answer to every
/// request. Where it gets none, requests of the protocol follow; see [`What::Fence`].
pub const FENCE: &str = "_acp-conformance/fence";
