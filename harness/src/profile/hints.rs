//! Hints for the scripted model about one agent.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Hints for the scripted model; without any, it uses common names of tools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// The agent's tool for each purpose, by name.
    pub tools: BTreeMap<Role, String>,
    /// The replacements of intents: objects with an `intent` and its arguments.
    pub intents: BTreeMap<String, Map<String, Value>>,
    /// Texts of the agent's instructions that identify requests of its own, such as those for a title.
    pub auxiliary: Vec<String>,
    /// The way to call tools of MCP servers, if the agent does not offer them as separate tools.
    pub mcp: Option<McpByCode>,
}

/// A tool that runs code, with which an agent's model calls the tools of MCP servers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct McpByCode {
    /// The name of the tool that runs code.
    pub tool: String,
    /// The code, with `{server}`, `{tool}` and `{arguments}`, which is a JSON object.
    pub code: String,
}

/// The purpose of a tool.
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
    /// It gives a task to a subagent.
    Delegate,
}

impl Role {
    /// Returns the name in a profile, which is a verb.
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
            Self::Delegate => "delegate",
        }
    }
}
