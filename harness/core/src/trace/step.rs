//! The results of the steps of a case, as data.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The result of one step of a transcript.
///
/// `outcome` is the result of the step; `expected` and `observed` hold the facts. Only the judge decides who is
/// responsible, and only [`crate::judge`] renders sentences from the facts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepEvent {
    /// The kind of the step.
    pub kind: StepKind,
    /// The 1-based line in the case file; 0 for a step that the runner added.
    pub line: usize,
    /// The name of the include with the line, if it is not in the case file itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include: Option<String>,
    /// The step as written in the case file.
    pub text: String,
    /// Its result.
    pub outcome: Outcome,
    /// The requirements that this step decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub decides: Vec<String>,
    /// The positions of its events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<usize>,
    /// The expectation; absent if the step expects nothing or went as expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    /// The observation instead; absent if the step went as expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Observed>,
    /// The intent of the last prompt before the step; absent without such a prompt, or if the step went as expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
}

impl StepEvent {
    /// Creates the event of a step in no file, which says only how it went.
    pub const fn new(kind: StepKind, outcome: Outcome) -> Self {
        Self {
            kind,
            line: 0,
            include: None,
            text: String::new(),
            outcome,
            decides: Vec::new(),
            events: Vec::new(),
            expected: None,
            observed: None,
            intent: None,
        }
    }

    /// Returns the place of the step in words; `None` for a step that is in no file.
    pub fn place(&self) -> Option<String> {
        let include = self.include.as_ref().map(|name| format!(" of the include {name}"));
        (self.line > 0).then(|| format!("line {}{}", self.line, include.unwrap_or_default()))
    }
}

/// The kinds of step that are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// A precondition of the case.
    Needs,
    /// A line of the tester.
    Send,
    /// A line that the subject must send.
    Must,
    /// A line that the subject may send.
    #[serde(alias = "hope")] // Earlier versions wrote this name.
    Optional,
    /// A line that the subject must not send.
    Never,
    /// A request that proves that nothing more will come.
    Fence,
    /// A comparison of the text of a turn.
    Reply,
    /// A comparison of a file.
    File,
    /// A check whether a process runs.
    Process,
    /// A check whether the page of the case was visited.
    Page,
    /// A message to an MCP server of the tester.
    Mcp,
    /// An act of the user of a client.
    Act,
    /// A start of the agent's program for a login in a terminal.
    Login,
    /// The exit of the subject's process.
    Exit,
    /// The end of the transcript.
    End,
}

/// The result of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It went as written.
    Done,
    /// A message or fact contradicts it.
    Contradicted,
    /// Nothing came before the time limit.
    TimedOut,
    /// A weak fence: the tester had no request that the subject answers, and only waited. Missing messages may still
    /// come.
    Quiet,
    /// The subject's stream ended first.
    Ended,
    /// The step is optional or impossible, and the transcript continued or stopped without it.
    Missed,
    /// The subject does not advertise what the case needs.
    NotApplicable,
    /// The subject answered that it requires a login.
    LoginNeeded,
    /// The harness failed to do it.
    HarnessError,
}

/// The expectation of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Expected {
    /// A message of the subject.
    Message(ExpectedMessage),
    /// No such message.
    NoMessage(ExpectedMessage),
    /// No request or notification with such parameters.
    NoMessageWith {
        /// The message.
        message: ExpectedMessage,
        /// The pattern for its parameters.
        params: Value,
    },
    /// An answer to a fence.
    FenceAnswer,
    /// A reply text.
    Reply(ExpectedText),
    /// A reply, or none at all.
    AnyReply(bool),
    /// The end of the connection by the subject.
    ConnectionEnd,
    /// The exit of the subject's process, with this code if there is one.
    Exit(Option<i32>),
    /// A start of the agent's program for a login in a terminal.
    TerminalLogin,
    /// The state of a process that the subject started.
    Process {
        /// Its id.
        pid: u32,
        /// Whether it should be running.
        running: bool,
    },
    /// Whether the page of the case was visited.
    PageVisit(bool),
    /// A missing file.
    NoFile(String),
    /// The content of a file.
    File {
        /// Its path.
        path: String,
        /// The expected content.
        content: ExpectedText,
    },
    /// A message to an MCP server of the tester.
    McpMessage {
        /// The name of the server.
        server: String,
        /// The methods, one of which is expected.
        methods: Vec<String>,
    },
}

/// The message of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum ExpectedMessage {
    /// A request with this method.
    Request(String),
    /// A notification with this method.
    Notification(String),
    /// A result.
    Result(ExpectedAnswer),
    /// An error.
    Error(ExpectedAnswer),
    /// A result or an error.
    Answer(ExpectedAnswer),
}

/// The answer of a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExpectedAnswer {
    /// The method of the request; absent if the request was not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The pattern for the result or error; absent if any matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Value>,
}

/// The expected text of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedText {
    /// Exactly this text.
    Equals(Excerpt),
    /// A text that contains this.
    Contains(Excerpt),
    /// A text that does not contain this.
    Lacks(Excerpt),
}

/// Where a message differs from its pattern.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Difference {
    /// The place in the params, the result or the error, as a JSON pointer; empty for the whole.
    pub pointer: String,
    /// The value in the pattern.
    pub expected: String,
    /// The actual value, shortened.
    pub actual: String,
}

/// The observation of the runner instead of the expectation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Observed {
    /// An answer that differs from the pattern at one place.
    Mismatch(Difference),
    /// An error where a result was expected.
    Error(Value),
    /// A result where an error was expected.
    Result(Value),
    /// The forbidden message.
    Message,
    /// The forbidden message did not come, but no request could prove that it will not.
    NoMessageSoFar,
    /// The subject's stream ended.
    Ended(SubjectEnd),
    /// No such message before the time limit.
    TimedOut {
        /// The limit, in milliseconds.
        after_ms: u64,
        /// Whether the subject had opened a connection.
        connected: bool,
        /// Whether a person has to act first.
        by_person: bool,
        /// How the first request of the expected method differs from the pattern.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        differing: Option<Difference>,
    },
    /// Nothing matched before the time limit, or before the subject's stream ended.
    Nothing,
    /// The request was refused by this status of HTTP.
    Refused {
        /// The status.
        status: u16,
    },
    /// An optional message was not sent before the answer that ends the exchange.
    Passed,
    /// No answer to an unknown request, although the subject answers other requests.
    UnknownRequestUnanswered,
    /// No answer to any of the requests of a fence, in the order of sending.
    FenceUnanswered(Vec<String>),
    /// The subject keeps the connection open.
    StillConnected {
        /// Whether it answered a later request.
        answers: bool,
    },
    /// The process exited in another way.
    Exited(Exit),
    /// The process was still running at the time limit.
    StillRunning,
    /// A person started the client, so its process is unknown.
    ProcessNotVisible,
    /// The reply of a turn.
    Reply {
        /// Its text, without a repetition of the prompt.
        text: Excerpt,
        /// Whether it also repeats the prompt.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        repeats_prompt: bool,
    },
    /// No process id in the file that should contain one.
    NoProcessId {
        /// The path of the file.
        path: String,
    },
    /// The state of the process.
    Process {
        /// Whether it is running.
        running: bool,
    },
    /// Whether the page was visited.
    PageVisit(bool),
    /// The content of the file.
    File(Excerpt),
    /// The file could not be read, with the error of the system.
    FileUnreadable(String),
    /// A login that does not run in a terminal.
    LoginOutsideTerminal,
    /// The client called `authenticate` for a login that it has to run itself.
    AuthenticateInstead,
    /// The methods of the messages that the MCP server got before the time limit.
    McpMessages(Vec<String>),
    /// The MCP servers got more messages than fit into the trace.
    McpMessagesLost,
    /// Whether the subject advertises what the case needs.
    Capability {
        /// The need as written in the case.
        need: String,
        /// Whether the subject advertises it.
        advertised: bool,
    },
    /// The run ended before the step: by a signal, a time limit or a failure elsewhere.
    RunEnded,
    /// The subject did not make the request that the case answers now.
    RequestMissing {
        /// The label of the request.
        label: String,
    },
    /// A name of the case has no value, since the message that binds it did not come.
    NameUnbound {
        /// The name.
        name: String,
    },
    /// No option and no profile describes how the user of this client performs an act.
    ActUnknown {
        /// The act; with a placeholder, such as `prompt with {attach}`, if its text lacks that.
        act: String,
    },
    /// No option and no profile describes how this client is started with a setting.
    SettingUnknown {
        /// The setting.
        setting: String,
    },
    /// The client has not started its agent, so the tester cannot send anything.
    NotConnected,
    /// A problem of the harness, its caller or the case, in words.
    Problem(String),
}

/// The end of the subject's stream, and its situation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubjectEnd {
    /// The exit of its process; absent if it is still running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// The meaning of this exit code according to the profile; absent if the profile does not list it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meaning: Option<String>,
    /// The tester stopped the subject because it sent more than a trace can hold.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flooded: bool,
    /// The case had closed the subject's input.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub input_closed: bool,
    /// Whether the subject had opened a connection; an agent always has.
    pub connected: bool,
    /// The methods of the subject's requests on this connection that had no answer. In version 2 `session/prompt` is
    /// among them until the work of a session has ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<String>,
}

/// The exit of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Exit {
    /// It exited by itself with this code.
    Code(i32),
    /// A signal of this name, such as `SIGKILL`, ended it.
    Signal(String),
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(name) => write!(f, "signal {name}"),
        }
    }
}

/// The beginning of a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Excerpt {
    /// The beginning, or the whole text.
    pub text: String,
    /// The length of the whole text in bytes, if `text` is only its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_bytes: Option<usize>,
}

impl Excerpt {
    /// Shortens a text to 300 characters.
    pub fn of(text: &str) -> Self {
        const LONGEST: usize = 300;
        match text.char_indices().nth(LONGEST) {
            Some((cut, _)) => Self { text: text[..cut].to_owned(), of_bytes: Some(text.len()) },
            None => Self { text: text.to_owned(), of_bytes: None },
        }
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of_bytes {
            Some(bytes) => write!(f, "{:?}… ({bytes} bytes)", self.text),
            None => write!(f, "{:?}", self.text),
        }
    }
}
