//! Area `mcp`: the transports of version 2.

use serde_json::Value;

use crate::areas::session::client::{items, opening};
use crate::areas::{Check, CheckContext, On};
use crate::conversation::CallSeen;
use crate::fact;
use crate::finding::Ruling;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] =
    &[Check::client("mcp.no-sse", On::Call(no_sse)).alone().only(&["session/new", "session/load", "session/resume"])];

/// Version 2 has no transport `sse`.
fn no_sse(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
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
