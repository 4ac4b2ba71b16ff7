//! The agent's description of itself in the answer to `initialize`.

use std::collections::BTreeMap;

use agent_client_protocol::v1::schema::AgentCapabilities;
use serde::Deserialize as _;
use serde_json::Value;

/// The agent's description of itself.
#[derive(Debug, Default)]
pub(super) struct AgentInfo {
    pub capabilities: AgentCapabilities,
    pub auth_methods: Vec<AuthMethod>,
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
    /// In the agent, by `authenticate`.
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

impl AgentInfo {
    /// Reads the answer to `initialize`; a member of the wrong type counts as missing.
    pub(super) fn read(answer: &Value) -> Self {
        let methods = answer["authMethods"].as_array().into_iter().flatten();
        Self {
            capabilities: AgentCapabilities::deserialize(&answer["agentCapabilities"]).unwrap_or_default(),
            auth_methods: methods.filter_map(AuthMethod::read).collect(),
        }
    }
}

impl AuthMethod {
    /// Reads a method. The type is parsed by hand, since the SDK treats an unknown type as `agent`.
    fn read(method: &Value) -> Option<Self> {
        let kind = match &method["type"] {
            Value::Null => AuthKind::Agent,
            kind if kind == "agent" => AuthKind::Agent,
            kind if kind == "terminal" => AuthKind::Terminal(TerminalLogin::read(method)),
            _ => AuthKind::Unknown,
        };
        Some(Self { id: method["id"].as_str()?.to_owned(), kind })
    }
}

impl TerminalLogin {
    /// Reads the members with the right type.
    #[must_use]
    pub fn read(method: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let args = method["args"].as_array().into_iter().flatten().filter_map(text).collect();
        let env = method["env"].as_object().into_iter().flatten();
        Self { args, env: env.filter_map(|(name, value)| Some((name.clone(), text(value)?))).collect() }
    }
}
