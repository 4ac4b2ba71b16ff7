//! The parts that only the case of a client can have: its user, and the process that it takes for its agent.

use schemars::{JsonSchema, Schema, json_schema};
use serde::Deserialize;
use serde_json::Value;

use super::words::{DurationText, OneOrMany, present};
use crate::case::model::UserPermission;

/// The user's acts at the start, and the setup of the client for them.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct UserFile {
    /// The text of the first prompt.
    #[schemars(length(min = 1))]
    pub prompt: Option<String>,
    /// How the user answers requests for permission; `allow` if absent.
    pub permission: Option<UserPermission>,
    /// MCP servers that the user has configured, as in session/new.
    #[serde(default)]
    pub mcp_servers: Vec<Value>,
    /// Additional directories that the user has configured, such as `<cwd>/more`.
    #[serde(default)]
    pub directories: Vec<String>,
}

/// An act with its arguments, as in `{act: load, sessionId: <session>}`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ActFile {
    /// The act, such as `cancel`.
    pub act: String,
    /// `prompt`: the text.
    pub text: Option<String>,
    /// `prompt`: the attachments.
    pub attach: Option<Vec<AttachFile>>,
    /// `load`, `resume`, `close`, `delete`, `switch`: the session.
    pub session_id: Option<String>,
    /// `set-mode`: the mode.
    pub mode_id: Option<String>,
    /// `set-option`: the config option.
    pub config_id: Option<String>,
    /// `set-option`: its value, a string or a boolean.
    #[serde(default, deserialize_with = "present")]
    #[schemars(schema_with = "string_or_boolean")]
    pub value: Option<Value>,
    /// `command`: the name of the slash command.
    pub name: Option<String>,
    /// `command`: the text after the name.
    pub input: Option<String>,
    /// `authenticate`: the login method.
    pub method_id: Option<String>,
    /// `decide`: the chosen option.
    pub option_id: Option<String>,
    /// `answer`: the user's answer to an elicitation.
    pub action: Option<AnswerFile>,
    /// `list`: the directory whose sessions are listed; all if absent.
    pub dir: Option<String>,
    /// `custom-request`: the method.
    pub method: Option<String>,
}

fn string_or_boolean(_: &mut schemars::SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "boolean"] })
}

/// The user's answer to an elicitation.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerFile {
    /// Yes.
    Accept,
    /// No.
    Decline,
    /// Neither: the user dismisses the question.
    Cancel,
}

/// An attachment of a prompt.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AttachFile {
    /// A picture.
    Image,
    /// A sound.
    Audio,
    /// The content of a file.
    File,
    /// A link to a file.
    Mention,
}

/// A check of a process that wrote its id into a file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ProcessFile {
    /// The path of the file, such as `<cwd>/pid`.
    pub pid_file: String,
    /// Whether the process must be running.
    pub running: bool,
    /// The requirements that this decides.
    #[serde(default)]
    pub decides: OneOrMany,
    /// The time within which that must be the case.
    pub within: Option<DurationText>,
}

/// An order to the agent's process has exactly one of these keys, as in `{exit: 3}`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub struct AgentProcessFile {
    /// It writes this text to standard error.
    pub stderr: Option<String>,
    /// It closes standard output, and keeps running: `close: stdout`.
    pub close: Option<StdoutFile>,
    /// It exits with this code.
    #[schemars(range(min = 0, max = 255))]
    pub exit: Option<i32>,
    /// `true`: it ignores the end of its input and SIGTERM.
    #[schemars(extend("const" = true))]
    pub linger: Option<bool>,
    /// `true`: it is killed with SIGKILL.
    #[schemars(extend("const" = true))]
    pub kill: Option<bool>,
    /// A login in a terminal prints this text there.
    pub stdout: Option<String>,
}

/// The stream that the agent's process closes.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StdoutFile {
    /// Its standard output.
    Stdout,
}
