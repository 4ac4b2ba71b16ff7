//! What differs between the major versions of the protocol, and the agent as each of them describes it.

use std::{collections::BTreeMap, path::PathBuf};

use agent_client_protocol::{
    Builder, Client as ClientRole, Error, JsonRpcNotification, JsonRpcRequest, NullClose, NullHandler, NullRun,
    Protocol, v1::schema::McpServer,
};
use serde_json::Value;

use super::{options::Options, state::Client};

/// How a major version names things and builds messages.
pub(super) struct Major {
    /// Its number in `initialize`.
    pub number: u64,
    /// The method that logs in.
    pub login: &'static str,
    /// The method that logs out.
    pub logout: &'static str,
    /// The member with the id of a config option.
    pub option_id: &'static str,
    /// The type of a value of a select option in `session/set_config_option`, if one is sent.
    pub choice_type: Option<&'static str>,
    /// Whether the response to a prompt ends the turn; otherwise an update does.
    pub response_ends_turn: bool,
    /// Builds the params of `initialize`.
    pub initialize: fn(&Options) -> Value,
    /// Reads the result of `initialize`; a member of the wrong type counts as missing.
    pub agent: fn(&Value) -> AgentInfo,
    /// Builds the request that opens a session.
    pub open: fn(Start, Place) -> (&'static str, Value),
}

/// A major version in the types of the SDK: translates the messages of the agent to calls of the client.
pub(super) trait Version {
    /// What the client needs to know of the version.
    const MAJOR: Major;

    type Protocol: Protocol;
    type Request: JsonRpcRequest<Response = Value>;
    type Notification: JsonRpcNotification;

    /// Begins the client's side of a connection.
    fn builder() -> Builder<ClientRole, NullHandler, NullRun, NullClose, Self::Protocol>;

    /// Answers a request.
    fn answer(client: &Client, request: Self::Request) -> impl Future<Output = Result<Value, Error>> + Send;

    /// Returns the answer to a request that the agent cancels before there is another one.
    fn withdrawn(_request: &Self::Request) -> Result<Value, Error> {
        Err(Error::request_cancelled())
    }

    /// Handles a notification, which may come at any time; the SDK ignores unknown ones.
    fn note(client: &Client, notification: Self::Notification);
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
    /// The mode of the client's system prompt.
    pub system_prompt: Option<&'static str>,
}

impl Capabilities {
    /// Returns the strongest mode of the agent's capability for system prompts.
    pub(super) fn system_prompt_mode(capability: &Value) -> Option<&'static str> {
        let mode = if capability["mode"]["override"].is_object() { "override" } else { "append" };
        capability.is_object().then_some(mode)
    }
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
    #[must_use]
    pub fn read(method: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let args = method["args"].as_array().into_iter().flatten().filter_map(text).collect();
        let env = method["env"].as_object().into_iter().flatten();
        Self { args, env: env.filter_map(|(name, value)| Some((name.clone(), text(value)?))).collect() }
    }
}
