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

/// The length to which an error message is cut.
const LONGEST_MESSAGE: usize = 200;

/// Applies the rule to the conversation of that case.
pub(super) fn login_rule(trace: &Trace) -> LoginRule {
    let Some(answer) = answer_to_initialize(trace) else {
        return LoginRule::not_met("the agent did not answer initialize");
    };
    let Some(result) = answer.get("result") else {
        let message = answer.pointer("/error/message").and_then(Value::as_str).unwrap_or_default();
        let message: String = message.chars().take(LONGEST_MESSAGE).collect();
        return LoginRule::not_met(&format!("the agent answered initialize with the error {message:?}"));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Applies the rule to an agent that answers `initialize` with this.
    fn rule(answer: &str) -> LoginRule {
        let line = serde_json::to_string(answer).expect("a text is JSON");
        let file = format!(
            r#"{{"format":"acp-conformance-trace/2","suite":"0","edition":"v1@2026-11-20","subject":"agent"}}
{{"n":0,"us":0,"from":"agent","line":{line}}}"#
        );
        login_rule(&Trace::read(file.as_bytes()).expect("a trace"))
    }

    #[test]
    fn a_login_of_an_agent_or_a_terminal_satisfies_the_rule() {
        let with = |methods: &str| rule(&format!(r#"{{"jsonrpc":"2.0","id":0,"result":{{"authMethods":{methods}}}}}"#));
        for (methods, verdict, types) in [
            (r#"[{"id":"a","name":"A"}]"#, RuleVerdict::Met, vec!["agent"]),
            (r#"[{"id":"a","_meta":{"terminal-auth":{}}}]"#, RuleVerdict::Met, vec!["terminal"]),
            (
                r#"[{"id":"a","type":"env_var"},{"id":"b","type":"terminal"}]"#,
                RuleVerdict::Met,
                vec!["env_var", "terminal"],
            ),
            (r#"[{"id":"a","type":"env_var"}]"#, RuleVerdict::NotMet, vec!["env_var"]),
            ("[]", RuleVerdict::NotMet, Vec::new()),
            ("null", RuleVerdict::NotMet, Vec::new()),
        ] {
            let rule = with(methods);
            assert_eq!((rule.verdict, rule.types.iter().map(String::as_str).collect()), (verdict, types), "{methods}");
            assert_eq!(rule.reason.is_none(), verdict == RuleVerdict::Met);
        }
    }

    #[test]
    fn an_agent_without_a_result_does_not_satisfy_the_rule() {
        let rule = |answer| rule(answer).reason.unwrap_or_default();
        assert!(
            rule(r#"{"jsonrpc":"2.0","id":0,"error":{"code":1,"message":"no"}}"#).ends_with("with the error \"no\"")
        );
        assert_eq!(rule("Welcome!"), "the agent did not answer initialize");
    }
}
