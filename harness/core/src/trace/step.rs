//! The results of the steps of a case, as data.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The result of one step of a transcript.
///
/// `outcome` says how the step went; `expected` and `observed` hold the facts. Only the judge decides who is responsible, and only
/// [`crate::judge`] makes sentences of the facts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepEvent {
    /// The kind of the step.
    pub kind: StepKind,
    /// The 1-based line in the case file; 0 for a step that the runner added.
    pub line: usize,
    /// The name of the include that holds the line, where it is not in the case file itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include: Option<String>,
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
    /// What the step expected; absent where the step expects nothing or went as expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    /// What the runner observed instead; absent where the step went as expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Observed>,
    /// The intent of the last prompt before the step; absent where there was none, or where the step went as expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<String>,
}

impl StepEvent {
    /// The place of the step in words; absent for a step that is in no file.
    #[must_use]
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
    Hope,
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
    /// A message to an MCP server that the tester plays.
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

/// How a step went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// As written.
    Done,
    /// Something contradicts it.
    Contradicted,
    /// Nothing came before the time limit.
    TimedOut,
    /// A weak fence: the tester had no request that the subject answers, and only waited. What did not come by then may still
    /// come.
    Quiet,
    /// The subject's stream ended first.
    Ended,
    /// The step is optional or cannot be done, and the transcript went on or stopped without it.
    Missed,
    /// The subject does not advertise what the case needs.
    NotApplicable,
    /// The subject answered that a login is needed.
    LoginNeeded,
    /// The harness could not do it, for a reason of its own.
    HarnessError,
}

/// What a step expected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Expected {
    /// A message of the subject.
    Message(ExpectedMessage),
    /// That no such message comes.
    NoMessage(ExpectedMessage),
    /// An answer to a fence.
    FenceAnswer,
    /// A reply text.
    Reply(ExpectedText),
    /// A reply, or none at all.
    AnyReply(bool),
    /// That the subject ends the connection.
    ConnectionEnd,
    /// That the process of the subject exits, with this code if there is one.
    Exit(Option<i32>),
    /// A start of the agent's program for a login in a terminal.
    TerminalLogin,
    /// The state of a process that the subject started.
    Process {
        /// Its id.
        pid: u32,
        /// Whether it is to run.
        running: bool,
    },
    /// Whether the page of the case was visited.
    PageVisit(bool),
    /// That a file does not exist.
    NoFile(String),
    /// The content of a file.
    File {
        /// Its path.
        path: String,
        /// What it is to hold.
        content: ExpectedText,
    },
    /// A message to an MCP server that the tester plays.
    McpMessage {
        /// The name of the server.
        server: String,
        /// The methods of which one is expected.
        methods: Vec<String>,
    },
    /// The words of a trace of format 1, which holds no facts here.
    Words(String),
}

/// A message that a step is about.
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

/// An answer that a step is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExpectedAnswer {
    /// The method of the request; absent if the request was not sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// What the result or error must match; absent where anything will do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Value>,
}

/// A text that a step compares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedText {
    /// Exactly this text.
    Equals(Excerpt),
    /// A text with this in it.
    Contains(Excerpt),
    /// A text without this in it.
    Lacks(Excerpt),
}

/// What the runner observed instead of what a step expected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Observed {
    /// An answer that differs from the pattern at one place.
    Mismatch {
        /// The place in the result or error, as a JSON pointer; empty for the whole.
        pointer: String,
        /// What the pattern asks for there.
        expected: String,
        /// What is there, shortened.
        actual: String,
    },
    /// An error where a result was expected.
    Error(Value),
    /// A result where an error was expected.
    Result(Value),
    /// The message that must not come.
    Message,
    /// The message that must not come did not, and no request could prove that it will not.
    NoMessageSoFar,
    /// The subject's stream ended.
    Ended(SubjectEnd),
    /// No such message before the time limit.
    TimedOut {
        /// The limit, in milliseconds.
        after_ms: u64,
        /// Whether the subject had opened a connection.
        connected: bool,
        /// Whether a person has to do something first.
        by_person: bool,
    },
    /// No such thing before the time limit, or before the subject's stream ended.
    Nothing,
    /// An optional message was not sent before the answer that ends the exchange.
    Passed,
    /// No answer to an unknown request, where the subject answers other requests.
    UnknownRequestUnanswered,
    /// No answer to any of the requests of a fence, in the order of sending.
    FenceUnanswered(Vec<String>),
    /// The subject keeps the connection open; and whether it answered a later request.
    StillConnected {
        /// Whether it answered a later request.
        answers: bool,
    },
    /// The process exited otherwise.
    Exited(Exit),
    /// The process was still running at the time limit.
    StillRunning,
    /// A person started the client, so that its process is not known.
    ProcessNotVisible,
    /// The reply of a turn.
    Reply {
        /// Its text, without the prompt where it repeats it.
        text: Excerpt,
        /// Whether it also repeats the prompt.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        repeats_prompt: bool,
    },
    /// No process id in the file that was to hold one.
    NoProcessId {
        /// The path of the file.
        path: String,
    },
    /// The process runs, or is gone.
    Process {
        /// Whether it runs.
        running: bool,
    },
    /// The page was visited, or was not.
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
    /// The MCP servers got more messages than the trace has room for.
    McpMessagesLost,
    /// The subject advertises, or does not advertise, what the case needs.
    Capability {
        /// The need as it stands in the case.
        need: String,
        /// Whether the subject advertises it.
        advertised: bool,
    },
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
    /// No option and no profile describes how the user of this client does an act.
    ActUnknown {
        /// The act.
        act: String,
    },
    /// No option and no profile describes how this client is started with a setting.
    SettingUnknown {
        /// The setting.
        setting: String,
    },
    /// The client has not started its agent, so that the tester can send nothing.
    NotConnected,
    /// A problem of the harness, its caller or the case, in words.
    Problem(String),
    /// The words of a trace of format 1, which holds no facts here.
    Words {
        /// The words.
        text: String,
        /// Whether the runner that wrote them found no reason for the end of the subject.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unexplained: bool,
    },
}

/// How the subject's stream ended, and in which situation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubjectEnd {
    /// How its process exited; absent if it still runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit: Option<Exit>,
    /// The meaning of this exit code according to the profile; absent if the profile does not list it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meaning: Option<String>,
    /// The tester stopped the subject because it sent more than a trace may hold.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flooded: bool,
    /// The case had closed the subject's input.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub input_closed: bool,
    /// The subject had opened a connection; an agent always has.
    pub connected: bool,
    /// The methods of the subject's requests on this connection that had no answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<String>,
}

/// How a process ended.
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
    /// The beginning, or all of it.
    pub text: String,
    /// The length of the whole text in bytes, where `text` is only its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_bytes: Option<usize>,
}

impl Excerpt {
    /// Cuts a text after 300 characters.
    #[must_use]
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
