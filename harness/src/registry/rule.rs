//! The registry's own rule: a listed agent offers a login of the type `agent` or `terminal`. It is not a requirement of
//! the protocol, so it decides no verdict.

use serde_json::Value;

use super::results::{LoginRule, RuleVerdict};
use crate::requirement::Party;
use crate::trace::{Trace, What};
use crate::wire::{Content, Envelope, read_line};

/// The id of the case that asks an agent for its logins. It replaces the built-in case with this id.
pub(super) const RULE_CASE: &str = "v1/agent/registry/login-method";

/// That case. Unlike the built-in one, it declares what the registry's own check declares: an agent may offer a login
/// in a terminal only to a client with the older custom member `terminal-auth`.
pub(super) const RULE_YAML: &str = "\
title: The agent offers a login method that the registry asks for
subject: agent
requirements: [registry.login-method]
client:
  capabilities:
    fs: { readTextFile: true, writeTextFile: true }
    terminal: true
    auth: { terminal: true }
    _meta: { terminal-auth: true, terminal_output: true }
transcript:
  - include: initialize
";

/// Applies the rule to the conversation of that case.
pub(super) fn login_rule(trace: &Trace) -> LoginRule {
    let Some(answer) = answer_to_initialize(trace) else {
        return LoginRule::not_met("the agent did not answer initialize");
    };
    let Some(result) = answer.get("result") else {
        return LoginRule::not_met("the agent answered initialize with an error");
    };
    let methods = result.get("authMethods").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let types: Vec<String> = methods.iter().map(login_type).collect();
    if types.is_empty() {
        return LoginRule::not_met("the agent offers no login method");
    }
    let is_met = types.iter().any(|kind| ["agent", "terminal"].contains(&kind.as_str()));
    let reason = (!is_met).then(|| format!("the agent offers only login methods of the type {}", types.join(", ")));
    let verdict = if is_met { RuleVerdict::Met } else { RuleVerdict::NotMet };
    LoginRule { verdict, reason, types }
}

/// Returns the type of a login method, as the registry reads it.
fn login_type(method: &Value) -> String {
    let custom = |name: &str| method.get("_meta").is_some_and(|meta| meta.get(name).is_some());
    let kind = match method.get("type").and_then(Value::as_str) {
        Some(kind) => kind,
        None if custom("terminal-auth") => "terminal",
        None => "agent",
    };
    kind.chars().take(40).collect()
}

/// Returns the first response of the agent.
fn answer_to_initialize(trace: &Trace) -> Option<Value> {
    trace.events.iter().find_map(|event| {
        let What::Line { from: Party::Agent, bytes, .. } = &event.what else { return None };
        match read_line(bytes) {
            Content::One { value, .. } if matches!(Envelope::of(&value), Envelope::Response { .. }) => Some(value),
            _ => None,
        }
    })
}
