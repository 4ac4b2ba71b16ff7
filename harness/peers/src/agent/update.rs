//! What the agent shows its client, in the terms of no version of the protocol. The history of a session consists of it
//! too.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::settings::Settings;

/// A content block as JSON: all versions write blocks alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Block(pub Value);

impl Block {
    pub(super) fn text(text: &str) -> Self {
        Self(json!({"type": "text", "text": text}))
    }

    pub(super) fn kind(&self) -> &str {
        self.0["type"].as_str().unwrap_or_default()
    }

    /// Returns the text of a text block.
    pub(super) fn as_text(&self) -> Option<&str> {
        if self.kind() == "text" { self.0["text"].as_str() } else { None }
    }
}

/// Something that the client gets to see.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Update {
    /// The id and content of a message of the user.
    UserMessage(String, Vec<Block>),
    /// The id and content of a message of the agent.
    AgentMessage(String, Vec<Block>),
    /// One more block of the agent's message with this id.
    AgentMessageChunk(String, Block),
    /// The id and text of a thought.
    Thought(String, String),
    ToolCall(ToolCall),
    ToolBegins(ToolBegins),
    ToolEnds(ToolEnds),
    /// The id, command line and working directory of a new terminal.
    TerminalOpens(String, String, PathBuf),
    /// Output of the terminal with this id, in Base64.
    TerminalOutput(String, String),
    /// The whole output of the terminal with this id, in Base64, and the exit code or signal of its command.
    TerminalEnds(String, String, Option<i64>, Option<String>),
    /// The id and entries of a plan; all versions write entries alike.
    Plan(String, Value),
    State(State, Option<Stop>),
    Mode(String),
    ConfigOptions(Settings),
    Commands,
    /// An update that all versions write alike.
    Alike(Value),
    /// The same with members that the SDK does not know, and would remove.
    Newer(Value),
}

/// A new tool call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ToolCall {
    pub id: String,
    pub name: String,
    pub title: String,
    /// One of the kinds that all versions have.
    pub kind: String,
    pub locations: Vec<Location>,
    pub input: Option<Value>,
    pub diff: Option<Diff>,
}

impl ToolCall {
    /// Describes a tool call that has no details and no id yet.
    pub(super) fn new(name: &str, title: &str, kind: &str) -> Self {
        let (name, title, kind) = (name.to_owned(), title.to_owned(), kind.to_owned());
        Self { id: String::new(), name, title, kind, locations: Vec::new(), input: None, diff: None }
    }
}

/// The beginning of a tool call's execution.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct ToolBegins {
    pub id: String,
    pub locations: Option<Vec<Location>>,
    /// The id of a terminal that shows the execution.
    pub terminal: Option<String>,
    /// Whether the client may cancel the tool call by itself.
    pub can_cancel: bool,
}

/// The end of a tool call.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ToolEnds {
    pub id: String,
    pub status: Status,
    pub text: Option<String>,
    pub output: Option<Value>,
    /// Whether the client could cancel the tool call by itself.
    pub could_cancel: bool,
}

/// The status of a tool call or a step of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    Pending,
    InProgress,
    Completed,
    Failed,
    Cancelled,
}

/// A file that a tool call works with, and a 1-based line in it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Location {
    pub path: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// The change of a file; without an old text the file is new.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Diff {
    pub path: PathBuf,
    /// The earlier path, if the file moves.
    pub from: Option<PathBuf>,
    pub old: Option<String>,
    pub new: String,
}

/// The state of a session's work.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct State {
    pub foreground: Foreground,
    /// The number of questions of the foreground work that wait for the user.
    pub n_questions: usize,
    /// The work that goes on independently of the foreground.
    pub background: Vec<Work>,
}

/// Background work, by its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Work {
    Terminal(String),
    Subagent(String),
}

/// The state of the foreground work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Foreground {
    #[default]
    Idle,
    Running,
    RequiresAction,
    /// Says hello, a state of the extension.
    Greeting,
}

/// The reason for the end of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stop {
    EndTurn,
    MaxTokens,
    MaxTurnRequests,
    Refusal,
    Cancelled,
    /// The model failed.
    Error,
}
