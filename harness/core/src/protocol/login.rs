//! A login method that the client runs by itself, in a terminal.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The environment variable that a client's profile configures for the agent, so that a check can recognise the
/// configuration.
pub const CONFIGURED: &str = "ACP_CONFORMANCE_AGENT";

/// The arguments and variables that a method of the type `terminal` adds to the start of the agent's program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminalLogin {
    /// The id of the method, which version 2 calls `methodId`.
    pub id: String,
    /// The additional arguments.
    pub args: Vec<String>,
    /// The additional environment variables; of several entries with one name, the last.
    pub env: BTreeMap<String, String>,
    /// The variables with several entries and different values.
    pub repeated: BTreeSet<String>,
}

impl TerminalLogin {
    /// Reads a method in `authMethods`; `None` if it has another type or is malformed.
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
        let variable = |name: &str, value: &Value| Some((name.to_owned(), text(value)?));
        let variables: Vec<(String, String)> = match member("env") {
            Some(Value::Object(env)) => env.iter().map(|(name, value)| variable(name, value)).collect::<Option<_>>()?,
            // Version 2 lists the variables.
            Some(env) => {
                let variables = env.as_array()?.iter();
                variables.map(|it| variable(it.get("name")?.as_str()?, it.get("value")?)).collect::<Option<_>>()?
            }
            None => Vec::new(),
        };
        let (mut env, mut repeated) = (BTreeMap::new(), BTreeSet::new());
        for (name, value) in variables {
            let before = env.insert(name.clone(), value.clone());
            repeated.extend(before.filter(|before| *before != value).map(|_| name));
        }
        let id = member("id").or_else(|| member("methodId"))?;
        Some(Self { id: text(id)?, args, env, repeated })
    }
}
