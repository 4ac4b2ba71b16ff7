//! Areas `session` and `mcp`: session methods only for agents with sessions, and the MCP servers of a session.

use serde_json::Value;

use crate::areas::common::fail_unannounced;
use crate::areas::session::client::{items, opening};
use crate::areas::{Check, Moment, On};
use crate::conversation::CallSeen;
use crate::fact;
use crate::finding::Ruling;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::client("session.gate", On::Call(gate)).alone(),
    Check::client("mcp.gate", On::Call(transport_gate)).alone().only(&[
        "session/new",
        "session/load",
        "session/resume",
    ]),
    Check::client("mcp.no-sse", On::Call(no_sse)).alone().only(&["session/new", "session/load", "session/resume"]),
    Check::client("prompt.no-own-id", On::Call(no_own_id)).alone().only(&["session/prompt"]),
];

/// "Omitted and `null` are equivalent and mean the agent does not support the `session/*` methods."
///
/// Correct but unusual: an agent that advertises `{}`, which stands for all baseline methods. `session/delete` has a
/// separate requirement.
fn gate(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let methods = &moment.talk.edition.methods;
    let known = call.method.starts_with("session/") && methods.knows(moment.from, call.method);
    if known && call.method != "session/delete" && !moment.talk.is_foreign() {
        fail_unannounced(moment, &["session"], (call.method, "/method"), ruling);
    }
}

/// The client sends only the MCP transports that the agent advertises under `session.mcp`.
///
/// Correct but unusual: an empty list, and custom transports, whose names begin with an underscore.
fn transport_gate(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(params) = opening(call) else { return };
    for kind in items(params, "mcpServers").iter().filter_map(|server| server.member("type")?.as_str()) {
        if matches!(kind, "stdio" | "http") {
            fail_unannounced(moment, &["session", "mcp", kind], (call.method, "/params/mcpServers"), ruling);
        }
    }
}

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
