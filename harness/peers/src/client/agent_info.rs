//! The agent as it describes itself in its answer to `initialize`.

use std::collections::BTreeMap;

use serde_json::Value;

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
    pub fn read(method: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let args = method["args"].as_array().into_iter().flatten().filter_map(text).collect();
        let env = method["env"].as_object().into_iter().flatten();
        Self { args, env: env.filter_map(|(name, value)| Some((name.clone(), text(value)?))).collect() }
    }
}
