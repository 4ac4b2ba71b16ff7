//! The events of a trace.

use serde::{Deserialize, Serialize};

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
    /// How a step of the case went.
    Step(StepEvent),
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
    /// A client started its agent, which opens a connection.
    AgentStarted {
        /// The process id of what the client takes for its agent.
        pid: u32,
        /// The process id of its parent.
        parent: u32,
        /// The arguments that it was given.
        args: Vec<String>,
        /// The directory that it was started in.
        cwd: String,
        /// The names of its environment variables; their values are nobody's business.
        environment: Vec<String>,
    },
    /// A client sent its agent a signal.
    AgentSignalled(String),
    /// The tester ended the agent's process with this exit code.
    AgentExited(i32),
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
}

/// How one step of a transcript went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepEvent {
    /// What kind of step it was.
    pub kind: StepKind,
    /// The 1-based line in the case file.
    pub line: usize,
    /// The step as it stands in the case file.
    pub text: String,
    /// How it went.
    pub outcome: Outcome,
    /// The requirements that this step decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decides: Vec<String>,
    /// The events that it is about, by their position.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<usize>,
    /// What was expected, in a sentence fragment; empty where nothing was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub expected: String,
    /// What was seen instead; empty where the step went as expected.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub seen: String,
}

/// The kinds of step that are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// A precondition of the case.
    Needs,
    /// A line of the tester.
    Send,
    /// A line that the subject has to say.
    Must,
    /// A line that the subject was hoped to say.
    Hope,
    /// A line that the subject must not say.
    Never,
    /// A request that proves that nothing more will come.
    Fence,
    /// A look at the text of a turn.
    Reply,
    /// A look at a file.
    File,
    /// A look at a process.
    Process,
    /// Something that the user of a client does.
    Act,
    /// The end of the subject's process.
    Exit,
    /// The end of the transcript.
    End,
}

/// The method of the request that a fence is; nobody knows it, and everybody owes an answer to it.
pub const FENCE: &str = "_acp-conformance/fence";

/// How a step went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// As written.
    Done,
    /// Something came that contradicts it.
    Contradicted,
    /// Nothing came before the time limit.
    TimedOut,
    /// The subject's stream ended first.
    Ended,
    /// Hoped for, and given up when the conversation had passed it.
    Missed,
    /// The subject does not advertise what the case needs.
    NotApplicable,
    /// The subject answered that a login is needed.
    LoginNeeded,
    /// The harness could not do it, for a reason of its own.
    HarnessError,
}
