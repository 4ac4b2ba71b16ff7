//! Areas `mcp` and `prompt`, the client's half: the MCP servers of a session, and the ids of messages.

use serde_json::Value;

use crate::fact;
use crate::judge::check::{Check, On};
use crate::judge::checks::session::client::{items, opening};
use crate::judge::moment::Moment;
use crate::judge::ruling::Ruling;
use crate::judge::seen::CallSeen;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::client("mcp.no-sse", On::Call(no_sse)).alone().only(&["session/new", "session/load", "session/resume"]),
    Check::client("prompt.no-own-id", On::Call(no_own_id)).alone().only(&["session/prompt"]),
];

/// Version 2 has no transport `sse`.
fn no_sse(_: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let servers = opening(call).map(|params| items(params, "mcpServers")).unwrap_or_default();
    for (at, server) in servers.iter().enumerate() {
        ruling.decide(server.member("type").and_then(Value::as_str) != Some("sse"), || {
            fact!(
                "sse-server",
                "the client sent {method} with an MCP server of the type `sse`, which version 2 does not have",
                method = call.method; pointer = format!("/params/mcpServers/{at}/type")
            )
        });
    }
}

/// The agent chooses message ids.
fn no_own_id(_: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(params) = call.params.filter(|params| params.is_object() && call.method == "session/prompt") else {
        return;
    };
    ruling.decide(params.member("messageId").is_none(), || {
        fact!(
            "message-id-in-prompt",
            "the client sent {method} with a `messageId`; expected the agent to choose the id",
            method = call.method; pointer = "/params/messageId"
        )
    });
}
