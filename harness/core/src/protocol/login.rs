//! A login method that the client runs by itself, in a terminal.

use std::collections::BTreeMap;

use serde_json::Value;

/// The environment variable that the profile of a client configures for the agent, so that the configuration is known again.
pub const CONFIGURED: &str = "ACP_CONFORMANCE_AGENT";

/// What a method of the type `terminal` adds to the way in which the agent's program is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TerminalLogin {
    /// The id of the method.
    pub id: String,
    /// The further arguments.
    pub args: Vec<String>,
    /// The further environment variables.
    pub env: BTreeMap<String, String>,
}

impl TerminalLogin {
    /// Reads a method as it stands in `authMethods`; none if it is of another type, or cannot be read as this one.
    #[must_use]
    pub fn of(method: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let member = |name: &str| method.get(name).filter(|value| !value.is_null());
        if member("type")? != "terminal" {
            return None;
        }
        let args = match member("args") {
            Some(args) => args.as_array()?.iter().map(text).collect::<Option<_>>()?,
            None => Vec::new(),
        };
        let env = match member("env") {
            Some(env) => env.as_object()?.iter().map(|(name, value)| Some((name.clone(), text(value)?))).collect(),
            None => Some(BTreeMap::new()),
        };
        Some(Self { id: text(member("id")?)?, args, env: env? })
    }
}
