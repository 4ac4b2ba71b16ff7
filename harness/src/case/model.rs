//! A case as the runner takes it: checked, with its includes put in and its patterns compiled.
//!
//! Everything here is plain data. [`crate::case::load`] makes it; whatever stands in a [`Case`] has been found to be
//! sound, so the runner need not look again.

mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

pub use self::wire::{Ids, WireSetup};
use crate::case::pattern::Pattern;
use crate::case::template::{Bindings, Template};
use crate::protocol::Edition;
use crate::requirement::Party;
pub use crate::source::{Place, SourceFile};

/// One scripted exchange.
#[derive(Debug, Clone)]
pub struct Case {
    /// The edition of the protocol that the case speaks.
    pub edition: &'static Edition,
    /// The path below the directory of cases without extension, such as `v1/agent/cancel/idle`; the shape behind `@`,
    /// where the file has several.
    pub id: String,
    /// What the case shows, in a sentence.
    pub title: String,
    /// The side that is judged.
    pub subject: Party,
    /// The requirements for which the case was written.
    pub requirements: Vec<String>,
    /// What the subject must advertise for the case to apply.
    pub needs: Vec<Need>,
    /// How the tester plays its side.
    pub tester: TesterSetup,
    /// What the user of the client does and wants, where the subject is a client.
    pub user: UserSetup,
    /// Files created below the working directory: relative path and text.
    pub workspace: Vec<(String, String)>,
    /// The limits that differ from the profile's.
    pub limits: LimitOverrides,
    /// The transcript, in order.
    pub steps: Vec<Step>,
    /// The file it was read from.
    pub source: Arc<SourceFile>,
    /// Whether the file is one of the user's own; others are built into the program.
    pub is_own: bool,
}

impl Case {
    /// The id of the file in which the case with this id stands: without the shape, if it has one.
    #[must_use]
    pub fn file_of(id: &str) -> &str {
        id.split_once('@').map_or(id, |(file, _)| file)
    }

    /// The file, where it is one of the user's own and not built into the program.
    #[must_use]
    pub fn own_file(&self) -> Option<&str> {
        self.is_own.then(|| self.source.path())
    }

    /// The name of the include in which a step stands; none where it stands in the case file itself.
    #[must_use]
    pub fn include_of<'s>(&self, step: &'s Step) -> Option<&'s str> {
        let path = Some(step.source.path()).filter(|path| *path != self.source.path())?;
        Path::new(path).file_stem()?.to_str()
    }
}

/// Something that the subject must advertise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The object in which to look.
    pub root: NeedRoot,
    /// The members to follow; the last must be there, and be neither null, false nor an empty list.
    pub path: Vec<String>,
    /// Whether the subject must *not* advertise it.
    pub unmet: bool,
    /// What is to be advertised, such as `agent.loadSession`.
    pub text: String,
}

/// The object in which a [`Need`] looks.
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

/// How the tester plays its side where the transcript does not say.
#[derive(Debug, Clone)]
pub struct TesterSetup {
    /// The capabilities it declares.
    pub capabilities: Value,
    /// The name and version by which the tester introduces itself, where the case says so.
    pub info: Option<Value>,
    /// How it answers a request for permission.
    pub permission: PermissionPolicy,
    /// Fixed answers by method, instead of the tester's own service.
    pub answers: BTreeMap<String, FixedAnswer>,
    /// The names of the MCP servers that the tester plays.
    pub mcp: Vec<String>,
    /// Whether there is a page that the client may be asked to visit.
    pub page: bool,
    /// Methods that the transcript answers itself.
    pub by_hand: BTreeSet<String>,
    /// The ways to log in that an agent announces.
    pub auth_methods: Vec<Value>,
    /// Further members of what an agent answers to session/new, session/load and session/resume, such as `modes`.
    pub session: serde_json::Map<String, Value>,
    /// How it writes its messages.
    pub wire: WireSetup,
}

impl TesterSetup {
    /// The setup with the names in its values replaced.
    #[must_use]
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

/// What the user of a client does at the start, and how the client is to be set up for it.
#[derive(Debug, Clone, PartialEq)]
pub struct UserSetup {
    /// The first prompt.
    pub prompt: String,
    /// How the user answers requests for permission.
    pub permission: UserPermission,
    /// MCP servers that the user has configured, as they go on the wire.
    pub mcp_servers: Vec<Value>,
    /// Additional directories that the user has configured; the texts may hold names.
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

/// How the user of a client answers requests for permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UserPermission {
    /// With the first option that allows.
    #[default]
    Allow,
    /// With the first option that rejects.
    Reject,
    /// Not, unless by an act.
    Hold,
}

/// Something that the user of a client does: one of [`ACTS`](crate::case::ACTS), with its arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct Act {
    /// Its name, such as `cancel`.
    pub name: String,
    /// Its arguments; the values may hold names to interpolate.
    pub arguments: serde_json::Map<String, Value>,
}

/// An order to the process that the client takes for its agent.
#[derive(Debug, Clone)]
pub enum AgentProcess {
    /// It writes this to its standard error.
    Stderr(Template),
    /// It closes its standard output, and goes on running.
    CloseStdout,
    /// It exits with this code.
    Exit(i32),
    /// It does not end when its input ends, nor by SIGTERM.
    Linger,
    /// It is ended by SIGKILL.
    Kill,
    /// A login prints this on its terminal.
    Stdout(Template),
}

/// A look at a process that wrote its id into a file.
#[derive(Debug, Clone)]
pub struct ProcessLook {
    /// The path of the file.
    pub pid_file: Template,
    /// Whether it has to be running.
    pub running: bool,
}

/// A message that an MCP server of the tester is to be told.
#[derive(Debug, Clone)]
pub struct McpLook {
    /// The name of the server.
    pub server: String,
    /// The methods, one of which will do.
    pub methods: Vec<String>,
    /// The parameters, if they matter.
    pub params: Option<Pattern>,
    /// Whether its absence is a failure.
    pub presence: Presence,
}

/// How the tester answers a request for permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PermissionPolicy {
    /// Chooses the first option that allows.
    #[default]
    Allow,
    /// Chooses the first option that rejects.
    Reject,
    /// Does not answer until the turn is cancelled or ends.
    Hold,
    /// Answers with the outcome `cancelled`.
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
    /// Until the subject answers or speaks first.
    pub start: Option<Duration>,
    /// Until a request other than a prompt is answered.
    pub answer: Option<Duration>,
    /// Until a turn ends.
    pub turn: Option<Duration>,
    /// Until the subject is gone after its input was closed.
    pub exit: Option<Duration>,
}

impl LimitOverrides {
    /// Returns these limits with those of `other` in place of them.
    #[must_use]
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
    /// Where it begins in [`Step::source`].
    pub place: Place,
    /// The lines of the file, for reports.
    pub text: String,
    /// The file in which the step stands: the case's own or an included one.
    pub source: Arc<SourceFile>,
    /// What is done or awaited.
    pub action: Action,
    /// The requirements that this step decides; without any it never accuses.
    pub decides: Vec<String>,
    /// How long to wait, instead of the usual limit.
    pub within: Option<Duration>,
}

/// What a step does or awaits.
#[derive(Debug, Clone)]
pub enum Action {
    /// The tester's messages, in one write.
    Send(Vec<Outgoing>),
    /// One line of the subject.
    Expect {
        /// What it looks like.
        line: Incoming,
        /// Whether it has to come.
        presence: Presence,
    },
    /// Lines of the subject that must all come, in any order.
    AnyOrder(Vec<Incoming>),
    /// A line of the subject that must not come before the transcript ends.
    Never(Incoming),
    /// Exact bytes to the subject.
    Raw(RawBytes),
    /// A request that must be answered: what has not come before the answer will not come.
    Fence,
    /// A look at the text that the agent streamed in a turn.
    Reply(ReplyText),
    /// A look at a file.
    File(FileLook),
    /// A look at a process.
    Process(ProcessLook),
    /// A message to an MCP server of the tester.
    Mcp(McpLook),
    /// A look at whether the page of the case was visited, and whether it has to have been.
    Page(bool),
    /// The user of the client does something.
    Act(Act),
    /// An order to the process that the client takes for its agent.
    AgentProcess(AgentProcess),
    /// Awaits that the client starts the agent's program for a login in a terminal.
    Login,
    /// Closes the subject's input.
    CloseStdin,
    /// Awaits that the subject ends the connection.
    End,
    /// Awaits the end of the subject's process.
    Exit {
        /// The status it must end with, if that matters.
        code: Option<i32>,
    },
}

/// Whether something has to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// Its absence is a failure.
    Must,
    /// Its absence leaves the case undecided.
    Hope,
    /// It may come any number of times.
    Any,
}

/// A message of the tester.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// What it says.
    pub body: Body,
    /// Whether it breaks the protocol on purpose.
    pub illegal: bool,
    /// Writes it in pieces of so many bytes.
    pub split: Option<usize>,
}

impl Outgoing {
    /// Returns the intent of the prompt, if the message is one.
    #[must_use]
    pub fn intent(&self) -> Option<&str> {
        let Body::Request { params: Some(params), .. } = &self.body else { return None };
        let prompt = params.get("prompt")?;
        let mut blocks = prompt.as_array().map_or(std::slice::from_ref(prompt), Vec::as_slice).iter();
        blocks.find_map(|block| block.get("intent")?.as_str())
    }
}

/// What a message of the tester says. The values may hold names to interpolate.
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
        /// The id on the wire, where the case chooses it.
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

/// A message of the subject, as it is expected.
#[derive(Debug, Clone)]
pub struct Incoming {
    /// What it says.
    pub body: IncomingBody,
    /// Whether objects must match member for member, instead of by subset.
    pub exact: bool,
}

impl IncomingBody {
    /// The tester's request that is answered; none where the subject asks or tells something.
    #[must_use]
    pub fn answers(&self) -> Option<&str> {
        match self {
            Self::Call { .. } => None,
            Self::Result { label, .. } | Self::Error { label, .. } | Self::Answer { label } => Some(label),
        }
    }
}

/// What an expected message says.
#[derive(Debug, Clone)]
pub enum IncomingBody {
    /// A request or a notification.
    Call {
        /// The name that the request gets. `None` is a notification, except under [`Action::Never`], where it is
        /// either.
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
        /// What the result looks like.
        result: Pattern,
    },
    /// The error that answers the tester's request `label`.
    Error {
        /// The request that is answered.
        label: String,
        /// What the error object looks like.
        error: Pattern,
    },
    /// An answer to the tester's request `label`, whatever it says.
    Answer {
        /// The request that is answered.
        label: String,
    },
}

/// Exact bytes, with the line feed where one was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawBytes {
    /// What is written.
    pub bytes: Vec<u8>,
    /// Whether this is a valid message in an unusual spelling.
    pub legal: bool,
    /// Writes it in pieces of so many bytes.
    pub split: Option<usize>,
}

/// A look at the text of a turn: the `agent_message_chunk` texts, put together.
#[derive(Debug, Clone)]
pub struct ReplyText {
    /// The prompt whose turn it is.
    pub label: String,
    /// Whether its absence is a failure.
    pub presence: Presence,
    /// Text that must be in it.
    pub contains: Option<Template>,
    /// The whole text.
    pub equals: Option<Template>,
    /// Text that must not be in it.
    pub lacks: Option<Template>,
    /// Whether there must be none at all, or some.
    pub empty: Option<bool>,
}

/// A look at a file.
#[derive(Debug, Clone)]
pub struct FileLook {
    /// Its path.
    pub path: Template,
    /// How it must be.
    pub want: FileWant,
}

/// How a file must be.
#[derive(Debug, Clone)]
pub enum FileWant {
    /// It has exactly this text.
    Content(Template),
    /// It has this text somewhere.
    Contains(Template),
    /// It is not there.
    Absent,
}

impl Bindings {
    /// The names that are bound before a case begins: the directories, and what the tester declares.
    #[must_use]
    pub fn for_case(case: &Case, cwd: &str, home: &str) -> Self {
        let mut bindings = Self::new();
        bindings.set("cwd", json!(cwd));
        bindings.set("home", json!(home));
        let own = match case.subject {
            Party::Agent => "client-capabilities",
            Party::Client => "agent-capabilities",
        };
        bindings.set(own, case.tester.capabilities.clone());
        bindings
    }
}
