//! A case in the form for the runner: checked, with its includes inserted and its patterns compiled.
//!
//! Everything here is plain data. [`crate::case::load`] creates it; all parts of a [`Case`] are valid, so the runner
//! need not check them again.

mod carried;
mod outgoing;
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

pub use self::wire::{Ids, WireSetup};
use crate::case::pattern::Pattern;
use crate::case::template::{Bindings, Template};
use crate::protocol::Edition;
use crate::requirement::Party;
use crate::results::case_id;
pub use crate::source::{Place, SourceFile};

/// One scripted exchange.
#[derive(Debug, Clone)]
pub struct Case {
    /// The edition of the protocol that the case uses.
    pub edition: &'static Edition,
    /// The path below the directory of cases without extension, such as `v1/agent/cancel/idle`; with `@` and the shape
    /// at its end, if the file has several.
    pub id: String,
    /// The behaviour that the case shows, in a sentence.
    pub title: String,
    /// The context in which the steps of the case run; none for the first use.
    pub context: Option<String>,
    /// The tested party.
    pub subject: Party,
    /// The requirements of the case.
    pub requirements: Vec<String>,
    /// The capabilities that the subject must advertise for the case to apply.
    pub needs: Vec<Need>,
    /// The setup of the tester.
    pub tester: TesterSetup,
    /// The acts and settings of the client's user, if the subject is a client.
    pub user: UserSetup,
    /// Files created below the working directory: relative path and content.
    pub workspace: Vec<(String, WorkspaceFile)>,
    /// The limits that differ from the profile's.
    pub limits: LimitOverrides,
    /// The transcript, in order.
    pub steps: Vec<Step>,
    /// The file it was read from.
    pub source: Arc<SourceFile>,
    /// Whether the file belongs to the user; other files are built into the program.
    pub is_own: bool,
}

/// A file below the working directory before a case begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkspaceFile {
    /// A file with these bytes.
    Bytes(Vec<u8>),
    /// A symbolic link to this file or folder, relative to the working directory.
    Link(String),
}

impl From<&str> for WorkspaceFile {
    fn from(text: &str) -> Self {
        Self::Bytes(text.as_bytes().to_vec())
    }
}

/// The area in the ids of random walks.
pub(crate) const WALK: &str = "walk";

impl Case {
    /// Whether the case is a random walk, which has no file.
    pub fn is_walk(&self) -> bool {
        self.id.split('/').nth(2) == Some(WALK)
    }

    /// Returns the id of the file with this case: without the shape, if it has one.
    pub fn file_of(id: &str) -> &str {
        case_id::file(id)
    }

    /// The id of the same case in its first use; none if this is the first use.
    pub fn first_use(&self) -> Option<&str> {
        let context = self.context.as_deref()?;
        self.id.strip_suffix(context)?.strip_suffix(['@', ','])
    }

    /// The messages that the tester sends, in order.
    pub fn sent(&self) -> impl Iterator<Item = &Outgoing> {
        let sent = self.steps.iter().filter_map(|step| match &step.action {
            Action::Send(lines) => Some(lines),
            _ => None,
        });
        sent.flatten()
    }

    /// Returns the file, if it belongs to the user and is not built in.
    pub fn own_file(&self) -> Option<&str> {
        self.is_own.then(|| self.source.path())
    }

    /// Returns the name of the include with a step; `None` if the step is in the case file itself.
    pub fn include_of<'s>(&self, step: &'s Step) -> Option<&'s str> {
        let path = Some(step.source.path()).filter(|path| *path != self.source.path())?;
        Path::new(path).file_stem()?.to_str()
    }
}

/// A capability that the subject must advertise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The object that contains it.
    pub root: NeedRoot,
    /// The members to follow; the last must be present, and neither null, false nor an empty list.
    pub path: Vec<String>,
    /// Whether the subject must *not* advertise it.
    pub unmet: bool,
    /// The capability as text, such as `agent.loadSession`.
    pub text: String,
}

/// The object that a [`Need`] refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NeedRoot {
    /// `agentCapabilities` of the result of initialize.
    Agent,
    /// `clientCapabilities` of the params of initialize.
    Client,
    /// The result of session/new.
    Session,
    /// The result of initialize.
    Initialize,
}

/// The behaviour of the tester where the transcript has no line.
#[derive(Debug, Clone, PartialEq)]
pub struct TesterSetup {
    /// The capabilities it declares.
    pub capabilities: Value,
    /// The name and version of the tester in `initialize`, if the case sets them.
    pub info: Option<Value>,
    /// The answer to permission requests.
    pub permission: PermissionPolicy,
    /// Fixed answers by method, instead of the tester's own service.
    pub answers: BTreeMap<String, FixedAnswer>,
    /// The names of the tester's MCP servers.
    pub mcp: Vec<String>,
    /// Whether there is a page that the client may be asked to visit.
    pub page: bool,
    /// Methods that the transcript answers itself.
    pub by_hand: BTreeSet<String>,
    /// The login methods that an agent announces.
    pub auth_methods: Vec<Value>,
    /// Additional members of an agent's answers to session/new, session/load and session/resume, such as `modes`.
    pub session: serde_json::Map<String, Value>,
    /// The way in which it writes messages.
    pub wire: WireSetup,
}

impl TesterSetup {
    /// Returns the setup with the names in its values replaced.
    pub fn filled(&self, bindings: &Bindings) -> Self {
        let answer = |answer: &FixedAnswer| match answer {
            FixedAnswer::Result(result) => FixedAnswer::Result(bindings.interpolate(result)),
            FixedAnswer::Error(error) => FixedAnswer::Error(bindings.interpolate(error)),
        };
        Self {
            capabilities: bindings.interpolate(&self.capabilities),
            info: self.info.as_ref().map(|info| bindings.interpolate(info)),
            answers: self.answers.iter().map(|(method, fixed)| (method.clone(), answer(fixed))).collect(),
            auth_methods: self.auth_methods.iter().map(|method| bindings.interpolate(method)).collect(),
            session: self.session.iter().map(|(name, value)| (name.clone(), bindings.interpolate(value))).collect(),
            ..self.clone()
        }
    }
}

/// The user's acts at the start, and the setup of the client for them.
#[derive(Debug, Clone, PartialEq)]
pub struct UserSetup {
    /// The first prompt.
    pub prompt: String,
    /// How the user answers requests for permission.
    pub permission: UserPermission,
    /// MCP servers that the user has configured, as on the wire.
    pub mcp_servers: Vec<Value>,
    /// Additional directories that the user has configured; the texts may contain names.
    pub directories: Vec<Template>,
}

impl Default for UserSetup {
    fn default() -> Self {
        Self {
            prompt: "Hello, please answer in one word.".to_owned(),
            permission: UserPermission::default(),
            mcp_servers: Vec::new(),
            directories: Vec::new(),
        }
    }
}

/// How the user of a client answers requests for permission; elicitations are accepted, declined or left open in the
/// same way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "UserPermissionFile")]
pub enum UserPermission {
    /// With the first option that allows.
    #[default]
    Allow,
    /// With the first option that rejects.
    Reject,
    /// Only by the acts `decide` and `answer`.
    Hold,
}

/// An act of a client's user: one of [`ACTS`](crate::case::ACTS), with its arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Act {
    /// Its name, such as `cancel`.
    pub name: String,
    /// Its arguments; the values may contain names to interpolate.
    pub arguments: serde_json::Map<String, Value>,
}

/// An order to the process that the client takes for its agent.
#[derive(Debug, Clone)]
pub enum AgentProcess {
    /// It writes this to standard error.
    Stderr(Template),
    /// It closes standard output, and keeps running.
    CloseStdout,
    /// It exits with this code.
    Exit(i32),
    /// It ignores the end of its input and SIGTERM.
    Linger,
    /// It is killed with SIGKILL.
    Kill,
    /// A login prints this on its terminal.
    Stdout(Template),
}

/// A check of a process that wrote its id into a file.
#[derive(Debug, Clone)]
pub struct ProcessCheck {
    /// The path of the file.
    pub pid_file: Template,
    /// Whether it must be running.
    pub running: bool,
}

/// An expected message to an MCP server of the tester.
#[derive(Debug, Clone)]
pub struct McpCheck {
    /// The name of the server.
    pub server: String,
    /// The methods, one of which is expected.
    pub methods: Vec<String>,
    /// The parameters, if they matter.
    pub params: Option<Pattern>,
    /// Whether its absence is a failure.
    pub presence: Presence,
}

/// The answer to permission requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "PermissionFile")]
pub enum PermissionPolicy {
    /// Selects the first `allow_once` option, else the first `allow_always` one.
    #[default]
    Allow,
    /// Selects the first `reject_once` option, else the first `reject_always` one.
    Reject,
    /// Leaves the request open until the case answers it, or the turn is cancelled or ends.
    Hold,
    /// Answers with the outcome `cancelled`, as a dismissed dialog would.
    Cancel,
}

/// The same answer to every request of a method.
#[derive(Debug, Clone, PartialEq)]
pub enum FixedAnswer {
    /// A result.
    Result(Value),
    /// An error object.
    Error(Value),
}

/// Limits that a case sets for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LimitOverrides {
    /// For the first answer or message of the subject.
    pub start: Option<Duration>,
    /// For the answer to a request other than a prompt.
    pub answer: Option<Duration>,
    /// For the end of a turn.
    pub turn: Option<Duration>,
    /// For the exit of the subject after its input was closed.
    pub exit: Option<Duration>,
}

impl LimitOverrides {
    /// Returns these limits with those of `other` instead, where it has some.
    pub fn with(self, other: &Self) -> Self {
        Self {
            start: other.start.or(self.start),
            answer: other.answer.or(self.answer),
            turn: other.turn.or(self.turn),
            exit: other.exit.or(self.exit),
        }
    }
}

/// One step of the transcript.
#[derive(Debug, Clone)]
pub struct Step {
    /// The place of its beginning in [`Step::source`].
    pub place: Place,
    /// The lines of the file, for reports.
    pub text: String,
    /// The file with the step: the case's own or an included one.
    pub source: Arc<SourceFile>,
    /// The action or expectation.
    pub action: Action,
    /// The requirements that this step decides; without any, it fails none.
    pub decides: Vec<String>,
    /// How long to wait, instead of the usual limit.
    pub within: Option<Duration>,
}

/// The action or expectation of a step.
#[derive(Debug, Clone)]
pub enum Action {
    /// The tester's messages, in one write.
    Send(Vec<Outgoing>),
    /// One line of the subject.
    Expect {
        /// Its form.
        line: Incoming,
        /// Whether it must come.
        presence: Presence,
    },
    /// Lines of the subject that must all come, in any order.
    AnyOrder(Vec<Incoming>),
    /// A line of the subject that must not come before the transcript ends.
    Never(Incoming),
    /// Exact bytes to the subject.
    Raw(RawBytes),
    /// A request of HTTP next to the messages of the connection.
    Http(HttpRequest),
    /// A binary frame of a WebSocket with this message.
    Binary(Value),
    /// A request that must be answered: a message that has not come before the answer will not come.
    Fence,
    /// A check of the text that the agent streamed in a turn.
    Reply(ReplyText),
    /// A check of a file.
    File(FileCheck),
    /// A check of a process.
    Process(ProcessCheck),
    /// A message to an MCP server of the tester.
    Mcp(McpCheck),
    /// A check whether the page of the case was visited, or was not.
    Page(bool),
    /// The user of the client does something.
    Act(Act),
    /// An order to the process that the client takes for its agent.
    AgentProcess(AgentProcess),
    /// Awaits that the client starts the agent's program for a login in a terminal.
    Login,
    /// Removes the values of names, before steps that bind them again.
    Forget(Vec<String>),
    /// Closes the subject's input.
    CloseStdin,
    /// Ends the agent and starts it again; what follows is on a new connection.
    Restart,
    /// Awaits that the subject ends the connection.
    End,
    /// Awaits the exit of the subject's process.
    Exit {
        /// The exit code that it must have, if that matters.
        code: Option<i32>,
    },
}

/// Whether a message must come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Its absence is a failure.
    Must,
    /// Its absence leaves the case undecided.
    Optional,
    /// It may come any number of times.
    Any,
}

/// A message of the tester.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// Its content.
    pub body: Body,
    /// Whether it violates the protocol on purpose.
    pub illegal: bool,
    /// The size of the pieces in bytes, if it is written in pieces.
    pub split: Option<usize>,
}

/// The content of a tester's message. The values may contain names to interpolate.
#[derive(Debug, Clone)]
pub enum Body {
    /// A request.
    Request {
        /// The name of the request in this case.
        label: String,
        /// The method.
        method: String,
        /// The parameters, if there are any.
        params: Option<Value>,
        /// The id on the wire, if the case sets it.
        wire_id: Option<Value>,
    },
    /// A notification.
    Notification {
        /// The method.
        method: String,
        /// The parameters, if there are any.
        params: Option<Value>,
    },
    /// The result of a request of the subject.
    Result {
        /// The request it answers.
        label: String,
        /// The result.
        result: Value,
    },
    /// The error that answers a request of the subject.
    Error {
        /// The request it answers.
        label: String,
        /// The error object.
        error: Value,
    },
}

/// A request of HTTP next to the messages of the connection. The texts may contain names to interpolate.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    /// The method.
    pub method: String,
    /// The headers that differ from those of the connection; `None` leaves one out.
    pub headers: Vec<(String, Option<Template>)>,
    /// The body.
    pub body: Option<Value>,
}

/// An expected message of the subject.
#[derive(Debug, Clone)]
pub struct Incoming {
    /// Its content.
    pub body: IncomingBody,
    /// Whether objects must match member for member, instead of by subset.
    pub exact: bool,
    /// Whether it is forbidden only from its place on.
    pub from_here: bool,
}

impl IncomingBody {
    /// Returns the tester's request that is answered; `None` for a request or notification.
    pub fn answers(&self) -> Option<&str> {
        match self {
            Self::Call { .. } => None,
            Self::Result { label, .. } | Self::Error { label, .. } | Self::Answer { label } => Some(label),
        }
    }
}

/// The content of an expected message.
#[derive(Debug, Clone)]
pub enum IncomingBody {
    /// A request or a notification.
    Call {
        /// The name for the request. `None` is a notification, except under [`Action::Never`], where it can be both.
        label: Option<String>,
        /// The method.
        method: String,
        /// The parameters, if they matter.
        params: Option<Pattern>,
    },
    /// The result of the tester's request `label`.
    Result {
        /// The request that is answered.
        label: String,
        /// The pattern of the result.
        result: Pattern,
    },
    /// The error that answers the tester's request `label`.
    Error {
        /// The request that is answered.
        label: String,
        /// The pattern of the error object.
        error: Pattern,
    },
    /// Any answer to the tester's request `label`.
    Answer {
        /// The request that is answered.
        label: String,
    },
}

/// Exact bytes, with a line feed if one was requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawBytes {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether this is a valid message in an unusual spelling.
    pub legal: bool,
    /// The size of the pieces in bytes, if they are written in pieces.
    pub split: Option<usize>,
}

/// A check of the text of a turn: the joined `agent_message_chunk` texts.
#[derive(Debug, Clone)]
pub struct ReplyText {
    /// The label of the prompt.
    pub label: String,
    /// Whether its absence is a failure.
    pub presence: Presence,
    /// Text that must be in it.
    pub contains: Option<Template>,
    /// The whole text.
    pub equals: Option<Template>,
    /// Text that must not be in it.
    pub lacks: Option<Template>,
    /// Whether the text must be empty, or must not be.
    pub empty: Option<bool>,
}

/// A check of a file.
#[derive(Debug, Clone)]
pub struct FileCheck {
    /// Its path.
    pub path: Template,
    /// Its expected state.
    pub want: FileWant,
}

/// The expected state of a file.
#[derive(Debug, Clone)]
pub enum FileWant {
    /// It has exactly this text.
    Content(Template),
    /// It contains this text.
    Contains(Template),
    /// It does not exist.
    Absent,
}

impl Bindings {
    /// Returns the names that are bound before a case begins: the directories, and the tester's declarations.
    pub fn for_case(case: &Case, cwd: &str, home: &str) -> Self {
        let mut bindings = Self::new();
        bindings.set("cwd", json!(cwd));
        bindings.set("home", json!(home));
        let own = format!("{}-capabilities", case.subject.other());
        bindings.set(own, case.tester.capabilities.clone());
        bindings
    }
}
