//! What the scripted model has to know of one agent.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Hints for the scripted model; without any it goes by the usual names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// Which of the agent's tools serves a purpose, by its name.
    pub tools: BTreeMap<Role, String>,
    /// What stands in for an intent: an object with an `intent` and its arguments.
    pub intents: BTreeMap<String, Map<String, Value>>,
    /// Texts of the agent's instructions by which requests are known that are not the user's, such as those for a title.
    pub auxiliary: Vec<String>,
    /// How tools of MCP servers are called, where the agent does not offer them as tools of its own.
    pub mcp: Option<McpByCode>,
}

/// A tool that runs code, from which an agent has its model call the tools of MCP servers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpByCode {
    /// The name of the tool that runs code.
    pub tool: String,
    /// The code, with `{server}`, `{tool}` and `{arguments}`, which is a JSON object.
    pub code: String,
}

/// What a tool is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// It reads a file.
    Read,
    /// It writes a file.
    Write,
    /// It replaces a text in a file.
    Edit,
    /// It runs a command.
    Run,
    /// It searches files for a text.
    Search,
    /// It shows the user a plan.
    Plan,
    /// It asks the user something.
    Ask,
    /// It changes the mode of the agent.
    Mode,
}

impl Role {
    /// The name in a profile, which is a verb.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Edit => "edit",
            Self::Run => "run",
            Self::Search => "search",
            Self::Plan => "plan",
            Self::Ask => "ask",
            Self::Mode => "mode",
        }
    }
}
