//! Protocol version 2, the draft of November 2026.

use std::borrow::Cow;

use serde_json::Value;

use super::{Adapter, Update, update_in};
use crate::requirement::Party;
use crate::wire::Members;

/// Protocol version 2.
pub struct V2;

impl Adapter for V2 {
    fn capabilities_member(&self, _party: Party) -> &'static str {
        "capabilities"
    }

    fn permission_member(&self) -> &'static str {
        "title"
    }

    fn advertises(&self, capabilities: Option<&Value>, path: &[&str]) -> bool {
        let found = capabilities.and_then(|all| path.iter().try_fold(all, |value, key| value.member(key)));
        matches!(found, Some(Value::Object(_)))
    }

    fn info_member(&self, _party: Party) -> &'static str {
        "info"
    }

    fn has_null_results(&self) -> bool {
        false
    }

    fn agent_path<'p>(&self, path: &'p [&'p str]) -> Cow<'p, [&'p str]> {
        match path {
            // Every agent with sessions has these methods.
            ["sessionCapabilities", "list" | "resume" | "close", ..] | ["loadSession"] => Cow::Borrowed(&["session"]),
            ["sessionCapabilities", rest @ ..] => [&["session"], rest].concat().into(),
            ["promptCapabilities", rest @ ..] => [&["session", "prompt"], rest].concat().into(),
            ["mcpCapabilities", rest @ ..] => [&["session", "mcp"], rest].concat().into(),
            _ => path.into(),
        }
    }

    fn reserves_values(&self) -> bool {
        true
    }

    fn capability_of(&self, method: &str) -> Option<&'static [&'static str]> {
        match method {
            "session/delete" => Some(&["session", "delete"]),
            // The baseline of agents that support sessions.
            _ if method.starts_with("session/") => Some(&["session"]),
            _ => None,
        }
    }

    fn client_capability_of(&self, method: &str) -> Option<&'static [&'static str]> {
        (method == "elicitation/create").then_some(&["elicitation"])
    }

    fn turn_end<'v>(&self, _method: &str, _result: &'v Value) -> Option<&'v str> {
        // The response to a prompt is a receipt; a state update ends the work.
        None
    }

    fn response_ends_turn(&self) -> bool {
        false
    }

    fn update<'v>(&self, params: &'v Value) -> Option<Update<'v>> {
        update_in(params)
    }

    fn is_turn_content(&self, _variant: &str) -> bool {
        // Work may begin without a prompt, and background work may continue after it.
        false
    }
}
