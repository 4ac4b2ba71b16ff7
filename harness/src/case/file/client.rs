//! What only the case of a client has: its user, and the process that it takes for its agent.

use schemars::{JsonSchema, Schema, json_schema};
use serde::Deserialize;
use serde_json::Value;

use super::words::{DurationText, OneOrMany, present};

/// What the user of the client does at the start, and how the client is set up for it.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct UserFile {
    /// The text of the first prompt.
    #[schemars(length(min = 1))]
    pub prompt: Option<String>,
    /// How the user answers requests for permission; `allow` if not given.
    pub permission: Option<UserPermissionFile>,
    /// MCP servers that the user has configured, as in session/new.
    #[serde(default)]
    pub mcp_servers: Vec<Value>,
    /// Additional directories that the user has configured, such as `<cwd>/more`.
    #[serde(default)]
    pub directories: Vec<String>,
}

/// How the user of a client answers requests for permission; elicitations are accepted, declined or left open alike.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UserPermissionFile {
    /// With the first option that allows.
    Allow,
    /// With the first option that rejects.
    Reject,
    /// Not, unless by the acts `decide` and `answer`.
    Hold,
}

/// An act with its arguments, as in `{act: load, sessionId: <session>}`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ActFile {
    /// What the user does, such as `cancel`.
    pub act: String,
    /// `prompt`: what the user says.
    pub text: Option<String>,
    /// `prompt`: what is sent along.
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
    /// `command`: what stands behind the name.
    pub input: Option<String>,
    /// `authenticate`: the way to log in.
    pub method_id: Option<String>,
    /// `decide`: the option that is chosen.
    pub option_id: Option<String>,
    /// `answer`: what the user says to an elicitation.
    pub action: Option<AnswerFile>,
    /// `list`: the directory whose sessions are looked at; all of them if not given.
    pub dir: Option<String>,
    /// `custom-request`: the method.
    pub method: Option<String>,
}

fn string_or_boolean(_: &mut schemars::SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "boolean"] })
}

/// What the user says to an elicitation.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerFile {
    /// Yes.
    Accept,
    /// No.
    Decline,
    /// Nothing: the question is put away.
    Cancel,
}

/// What is sent along with a prompt.
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

/// A look at a process that wrote its id into a file.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ProcessFile {
    /// The path of the file, such as `<cwd>/pid`.
    pub pid_file: String,
    /// Whether the process has to be running.
    pub running: bool,
    /// The requirements that this decides.
    #[serde(default)]
    pub decides: OneOrMany,
    /// How long the process may take to become so.
    pub within: Option<DurationText>,
}

/// An order to the agent's process has exactly one of these keys, as in `{exit: 3}`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("minProperties" = 1, "maxProperties" = 1))]
pub struct AgentProcessFile {
    /// It writes this text to its standard error.
    pub stderr: Option<String>,
    /// It closes its standard output, and goes on running: `close: stdout`.
    pub close: Option<StdoutFile>,
    /// It exits with this code.
    #[schemars(range(min = 0, max = 255))]
    pub exit: Option<i32>,
    /// `true`: it ends neither with its input nor by SIGTERM.
    #[schemars(extend("const" = true))]
    pub linger: Option<bool>,
    /// `true`: it is ended by SIGKILL.
    #[schemars(extend("const" = true))]
    pub kill: Option<bool>,
    /// A login in a terminal prints this text there.
    pub stdout: Option<String>,
}

/// What the agent's process closes.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StdoutFile {
    /// Its standard output.
    Stdout,
}
