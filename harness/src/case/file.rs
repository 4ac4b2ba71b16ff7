//! The serde types of a case file, from which `schemas/case.schema.json` is generated.
//!
//! A step is one struct with exactly one member set, and a line is one struct for both sides. So a mistake has one
//! plain message, while a union would have one for each variant. The lowering ([`crate::case::load`]) reports members
//! that cannot be combined.

mod client;
mod words;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

pub use self::client::{ActFile, AgentProcessFile, AttachFile, ProcessFile, StdoutFile, UserFile};
use self::words::present;
pub use self::words::{ContentFile, DurationText, Label, OneOrMany, ServerName, parse_duration};
use crate::case::model::{LimitOverrides, PermissionPolicy, WireSetup};
use crate::requirement::Party;

/// Named values of named dimensions, as in `id: { zero: 0, text: a }`; `<matrix.id>` is replaced by the value.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct MatrixFile(pub BTreeMap<String, BTreeMap<String, Value>>);

/// A case is one scripted exchange, with `title`, `subject`, `requirements` and `transcript`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(title = "acp-conformance-case/1")]
pub struct CaseFile {
    /// The behaviour that the case shows, in a sentence.
    #[schemars(length(min = 1))]
    pub title: String,
    /// The tested party: `agent` or `client`.
    pub subject: Party,
    /// The requirements of the case, as a list of ids of the catalogue.
    #[schemars(length(min = 1))]
    pub requirements: Vec<String>,
    /// The shapes in which the case is run: dimensions, each with named values.
    pub matrix: Option<MatrixFile>,
    /// The contexts in which the case also runs: names of the files in `include/context/` of its side.
    #[serde(default)]
    pub contexts: Vec<String>,
    /// The capabilities that the subject must advertise, such as `agent.loadSession`.
    #[serde(default)]
    pub needs: OneOrMany,
    /// The tester's setup as the client, if the subject is an agent.
    pub client: Option<SetupFile>,
    /// The tester's setup as the agent, if the subject is a client.
    pub agent: Option<SetupFile>,
    /// The acts and settings of the client's user, if the subject is a client.
    pub user: Option<UserFile>,
    /// Files that are created below the working directory: relative path and content.
    #[serde(default)]
    pub workspace: BTreeMap<String, ContentFile>,
    /// The time limits that differ from the usual ones.
    pub limits: Option<LimitsFile>,
    /// The steps in order, as a list.
    #[schemars(length(min = 1))]
    pub transcript: Vec<StepFile>,
}

/// Steps that several cases share.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct IncludeFile {
    /// The purpose of the steps, in a sentence.
    #[schemars(length(min = 1))]
    pub title: String,
    /// The steps in order, as a list.
    #[schemars(length(min = 1))]
    pub transcript: Vec<StepFile>,
}

/// A state in which cases run. Its steps establish the state before the steps of the case.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ContextFile {
    /// The state, in words.
    #[schemars(length(min = 1))]
    pub title: String,
    /// What the subject must advertise for the state, besides the needs of the case.
    #[serde(default)]
    pub needs: OneOrMany,
    /// The capabilities that the tester declares instead of those of the case.
    pub capabilities: Option<Map<String, Value>>,
    /// The include whose steps the transcript contains itself, so that it adds nothing.
    pub in_place_of: Option<String>,
    /// The steps in order, with `include: <opening>` for the first step of the case and `include: <case>` for the
    /// others.
    #[schemars(length(min = 1))]
    pub transcript: Vec<StepFile>,
}

impl From<IncludeFile> for ContextFile {
    fn from(file: IncludeFile) -> Self {
        let IncludeFile { title, transcript } = file;
        Self { title, needs: OneOrMany::default(), capabilities: None, in_place_of: None, transcript }
    }
}

/// The behaviour of the tester where the transcript has no line.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SetupFile {
    /// The capabilities that the tester declares, as on the wire.
    #[serde(default, deserialize_with = "present")]
    pub capabilities: Option<Value>,
    /// The name, title and version of the tester in `initialize`.
    #[serde(default, deserialize_with = "present")]
    pub info: Option<Value>,
    /// The answer to permission requests; `allow` if absent.
    pub permission: Option<PermissionPolicy>,
    /// A fixed answer to every request of a method, instead of the tester's own service.
    #[serde(default)]
    pub answers: BTreeMap<String, AnswerFile>,
    /// The names of the tester's MCP servers.
    pub mcp: Option<Vec<ServerName>>,
    /// `true`: there is a page that the client may be asked to visit, at the URL `<page>`.
    #[schemars(extend("const" = true))]
    pub page: Option<bool>,
    /// The login methods that an agent announces, as on the wire.
    pub auth_methods: Option<Vec<Value>>,
    /// Additional members of an agent's answers to session/new, session/load and session/resume, such as `modes`.
    pub session: Option<Map<String, Value>>,
    /// How the tester writes its messages.
    #[serde(default)]
    pub wire: WireSetup,
}

/// A result or an error.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub struct AnswerFile {
    /// The result.
    #[serde(default, deserialize_with = "present")]
    pub result: Option<Value>,
    /// The error object: `{code: …, message: …}`.
    #[serde(default, deserialize_with = "present")]
    pub error: Option<Value>,
}

/// Time limits.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LimitsFile {
    /// For the first message of the subject.
    pub start: Option<DurationText>,
    /// For the answer to a request other than a prompt.
    pub answer: Option<DurationText>,
    /// For the end of a turn.
    pub turn: Option<DurationText>,
    /// For the exit of the subject after its input was closed.
    pub exit: Option<DurationText>,
}

impl LimitsFile {
    /// Returns the limits as durations.
    pub fn overrides(&self) -> LimitOverrides {
        let limit = |text: &Option<DurationText>| text.as_ref().map(DurationText::duration);
        LimitOverrides {
            start: limit(&self.start),
            answer: limit(&self.answer),
            turn: limit(&self.turn),
            exit: limit(&self.exit),
        }
    }
}

/// A step has exactly one of these keys, as in `- include: session` or `- agent: {method: session/update}`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub struct StepFile {
    /// A line of the agent: it must come, or the tester sends it.
    pub agent: Option<LineFile>,
    /// An optional line of the agent: without it the case decides nothing.
    #[serde(rename = "agent?")]
    pub agent_optional: Option<LineFile>,
    /// A line of the agent that may come any number of times.
    #[serde(rename = "agent*")]
    pub agent_any: Option<LineFile>,
    /// A line of the client: it must come, or the tester sends it.
    pub client: Option<LineFile>,
    /// An optional line of the client: without it the case decides nothing.
    #[serde(rename = "client?")]
    pub client_optional: Option<LineFile>,
    /// A line of the client that may come any number of times.
    #[serde(rename = "client*")]
    pub client_any: Option<LineFile>,
    /// A line of the subject that must not come before the transcript ends, wherever this stands.
    pub never: Option<LineFile>,
    /// A line of the subject that must not come from here to the end of the transcript; before, it was allowed.
    pub no_longer: Option<LineFile>,
    /// Lines of the subject that must all come, in any order.
    #[schemars(length(min = 1))]
    pub any_order: Option<Vec<LineFile>>,
    /// Lines of the tester in one write; each as after `client:` or `agent:`.
    #[schemars(length(min = 1))]
    pub together: Option<Vec<LineFile>>,
    /// Exact bytes to the subject.
    pub raw: Option<RawFile>,
    /// A request of HTTP to the subject, next to the messages of its connection.
    pub http: Option<HttpFile>,
    /// A binary frame of a WebSocket to the subject.
    pub binary: Option<BinaryFile>,
    /// A request that must be answered: a message that has not come by then will not come.
    pub fence: Option<FenceFile>,
    /// The text that the agent streamed in the turn of a prompt.
    pub reply: Option<ReplyFile>,
    /// Like `reply`, but another text leaves the case undecided.
    #[serde(rename = "reply?")]
    pub reply_optional: Option<ReplyFile>,
    /// A check of a file.
    pub file: Option<FileCheckFile>,
    /// A check of a process that wrote its id into a file.
    pub process: Option<ProcessFile>,
    /// A message to an MCP server of the tester.
    pub mcp: Option<McpFile>,
    /// Like `mcp`, but without it the case decides nothing.
    #[serde(rename = "mcp?")]
    pub mcp_optional: Option<McpFile>,
    /// A check whether the page of the case was visited.
    pub page: Option<PageFile>,
    /// The user of the client does something.
    pub user: Option<ActFile>,
    /// Awaits that the client starts the agent's program for a login in a terminal.
    pub login: Option<FenceFile>,
    /// An order to the process that the client takes for its agent.
    pub agent_process: Option<AgentProcessFile>,
    /// Closes the subject's input: `close: stdin`.
    pub close: Option<CloseFile>,
    /// Ends the agent and starts it again: `restart: {}`.
    pub restart: Option<RestartFile>,
    /// Awaits that the subject ends the connection, whether its process keeps running or not.
    pub end: Option<FenceFile>,
    /// Awaits the exit of the subject's process.
    pub exit: Option<ExitFile>,
    /// Inserts the steps of `agent/include/<name>.yaml` or `client/include/<name>.yaml`, by the subject.
    pub include: Option<String>,
}

/// A message has exactly one of `method`, `result` and `error`, as in `{method: session/update, params: {…}}`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LineFile {
    /// The name of the request in this case; a message without it is a notification.
    pub id: Option<Label>,
    /// The method of a request or a notification.
    pub method: Option<String>,
    /// The parameters; in a line of the subject, a pattern.
    #[serde(default, deserialize_with = "present")]
    pub params: Option<Value>,
    /// The result of the request `id`; in a line of the subject, a pattern.
    #[serde(default, deserialize_with = "present")]
    pub result: Option<Value>,
    /// The error that answers the request `id`; in a line of the subject, a pattern.
    #[serde(default, deserialize_with = "present")]
    pub error: Option<Value>,
    /// Subject: the requirements that this line decides.
    #[serde(default)]
    pub decides: OneOrMany,
    /// Subject: how long to wait for the line.
    pub within: Option<DurationText>,
    /// Subject: objects must match member for member, not by subset.
    pub exact: Option<bool>,
    /// Tester: the id on the wire, if it matters.
    #[serde(default, deserialize_with = "present")]
    pub wire_id: Option<Value>,
    /// Tester: written in pieces of so many bytes.
    #[schemars(range(min = 1))]
    pub split: Option<usize>,
    /// Tester: violates the protocol on purpose.
    pub illegal: Option<bool>,
}

/// Exact bytes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawFile {
    /// The bytes as text.
    pub text: Option<String>,
    /// The bytes in base64.
    pub base64: Option<String>,
    /// Whether a line feed follows; yes if absent.
    pub newline: Option<bool>,
    /// Whether this is a valid message written in an unusual way.
    pub legal: Option<bool>,
    /// Written in pieces of so many bytes.
    #[schemars(range(min = 1))]
    pub split: Option<usize>,
}

/// A request of HTTP. It has the headers of the connection, unless it changes them. What its response means is decided
/// by the requirements of the transport, and not by the step.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HttpFile {
    /// The method: `POST`, `GET`, `DELETE` or another one.
    pub method: String,
    /// The headers to set, by their names in lower case. `accept` and `acp-session-id` are not set otherwise, and
    /// `content-type` only with a body.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The headers to leave out.
    #[serde(default)]
    pub without: Vec<String>,
    /// The body as JSON.
    #[serde(default, deserialize_with = "present")]
    pub body: Option<Value>,
}

/// A binary frame with a message, which the subject has to ignore.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BinaryFile {
    /// The message.
    pub message: Value,
}

/// A fence is written `fence: {}`, or with the requirements that its answer decides.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FenceFile {
    /// The requirements that the answer decides.
    #[serde(default)]
    pub decides: OneOrMany,
    /// How long to wait for the answer.
    pub within: Option<DurationText>,
}

/// A restart is written `restart: {}`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RestartFile {}

/// The text of a turn.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplyFile {
    /// The label of the prompt.
    pub id: Label,
    /// Text that must be in it.
    pub contains: Option<String>,
    /// The whole text.
    pub equals: Option<String>,
    /// Text that must not be in it.
    pub lacks: Option<String>,
    /// `false`: there must be some text.
    pub empty: Option<bool>,
    /// The requirements that this decides.
    #[serde(default)]
    pub decides: OneOrMany,
}

/// A check of a file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileCheckFile {
    /// The path, such as `<cwd>/new.txt`.
    pub path: String,
    /// The whole text of the file.
    pub content: Option<String>,
    /// Text that must be in the file.
    pub contains: Option<String>,
    /// `true`: there must be no such file.
    pub absent: Option<bool>,
    /// The requirements that this decides.
    #[serde(default)]
    pub decides: OneOrMany,
    /// The time within which the file must match.
    pub within: Option<DurationText>,
}

/// A message to an MCP server of the tester.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpFile {
    /// The name of the server.
    pub server: String,
    /// The method of MCP, such as `initialize`, or a list of alternative methods.
    pub method: OneOrMany,
    /// The parameters, as a pattern.
    #[serde(default, deserialize_with = "present")]
    pub params: Option<Value>,
    /// The requirements that this decides.
    #[serde(default)]
    pub decides: OneOrMany,
    /// How long to wait for the message.
    pub within: Option<DurationText>,
}

/// A check whether the page of the case was visited.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageFile {
    /// Whether a request for it, or for another path of its server, must have come.
    pub visited: bool,
    /// The requirements that this decides.
    #[serde(default)]
    pub decides: OneOrMany,
}

/// The stream that is closed.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CloseFile {
    /// The input of the subject.
    Stdin,
}

/// The exit of the subject's process.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExitFile {
    /// The exit code that it must have; any if absent.
    pub code: Option<i32>,
    /// The requirements that this decides.
    #[serde(default)]
    pub decides: OneOrMany,
    /// How long to wait for the exit.
    pub within: Option<DurationText>,
}
