//! What differs between the major versions of the protocol, and the agent as each of them describes it.

use std::{collections::BTreeMap, path::PathBuf};

use agent_client_protocol::v1::schema::McpServer;
use serde_json::Value;

use super::{act::OptionValue, options::Options, session::Settings};

/// A major version of the protocol: translates the client's data to messages, and results to the client's data.
pub(super) trait Major: Send + Sync {
    /// Returns the number of the version.
    fn number(&self) -> u64;

    /// Returns the methods that log in and out.
    fn login_methods(&self) -> (&'static str, &'static str);

    /// Builds the params of `initialize`.
    fn initialize(&self, options: &Options) -> Value;

    /// Reads the result of `initialize`; a member of the wrong type counts as missing.
    fn agent(&self, result: &Value) -> AgentInfo;

    /// Builds the request that opens a session.
    fn open(&self, start: &Start, place: Place) -> (&'static str, Value);

    /// Reads the settings in the result of a request that opens a session or sets an option.
    fn settings(&self, result: &Value) -> Settings;

    /// Returns the type of an option's value in `session/set_config_option`, unless it is left out.
    fn type_of(&self, value: &OptionValue) -> Option<&'static str>;

    /// Returns whether the response to a prompt ends the turn; otherwise an update does.
    fn response_ends_turn(&self) -> bool;
}

/// The way to open a session.
#[derive(Debug, Clone)]
pub(super) enum Start {
    New,
    /// With its history.
    Load(String),
    /// Without its history.
    Resume(String),
}

/// The surroundings of a session.
#[derive(Debug)]
pub(super) struct Place {
    pub cwd: PathBuf,
    pub directories: Vec<PathBuf>,
    /// The MCP servers, as version 1 describes them.
    pub servers: Vec<McpServer>,
}

/// The agent's description of itself.
#[derive(Debug, Default)]
pub(super) struct AgentInfo {
    pub takes: Capabilities,
    pub auth_methods: Vec<AuthMethod>,
}

/// The parts of the protocol that the agent has.
#[derive(Debug, Default)]
pub(super) struct Capabilities {
    pub sessions: bool,
    pub list: bool,
    pub load: bool,
    pub resume: bool,
    pub close: bool,
    pub delete: bool,
    pub logout: bool,
    pub additional_directories: bool,
    pub mcp_stdio: bool,
    pub mcp_http: bool,
    pub mcp_sse: bool,
    pub image: bool,
    pub audio: bool,
    pub embedded_context: bool,
}

/// A login method.
#[derive(Debug)]
pub(super) struct AuthMethod {
    pub id: String,
    pub kind: AuthKind,
}

/// The place of a login.
#[derive(Debug)]
pub(super) enum AuthKind {
    /// In the agent, by a request.
    Agent,
    /// In the agent's program, which the client starts again in a terminal.
    Terminal(TerminalLogin),
    /// A type that this client does not support.
    Unknown,
}

/// The additions of a terminal login to the command line and the environment of the agent.
#[derive(Debug, Clone, Default)]
pub struct TerminalLogin {
    /// Additional arguments.
    pub args: Vec<String>,
    /// Additional variables, which replace others of the same name.
    pub env: BTreeMap<String, String>,
}

impl TerminalLogin {
    /// Reads the members of a method of version 1 that have the right type.
    pub(crate) fn read(method: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let args = method["args"].as_array().into_iter().flatten().filter_map(text).collect();
        let env = method["env"].as_object().into_iter().flatten();
        Self { args, env: env.filter_map(|(name, value)| Some((name.clone(), text(value)?))).collect() }
    }
}
