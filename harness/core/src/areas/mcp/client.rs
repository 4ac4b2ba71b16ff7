//! The client's half of the area `mcp`: the MCP servers in requests that open a session.

use serde_json::Value;

use crate::areas::common::OPENING;
use crate::areas::session::client::{opening, reopening};
use crate::areas::{Check, CheckContext, On};
use crate::conversation::CallSeen;
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::is_absolute;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::client("mcp.stdio.command-absolute", On::Call(command_absolute)).alone().only(OPENING),
    Check::client("mcp.passed-on-reattach", On::Call(passed_on)).only(&["session/load", "session/resume"]),
];

/// Returns the entries of one transport. An entry for stdio has no type.
fn servers<'m>(params: &'m Value, transport: &str) -> impl Iterator<Item = &'m Value> {
    params.list("mcpServers").iter().filter(move |entry| match entry.member("type") {
        None | Some(Value::Null) => transport == "stdio",
        Some(kind) => kind.as_str() == Some(transport),
    })
}

/// `command`: "The absolute path to the MCP server executable."
fn command_absolute(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(params) = opening(call) else { return };
    for command in servers(params, "stdio").filter_map(|server| server.text("command")) {
        ruling.decide(is_absolute(command), || {
            fact!(
                "relative-path",
                "the client sent {method} with the MCP server command `{path}`; expected an absolute path",
                method = call.method, path = command;
                pointer = "/params/mcpServers"
            )
        });
    }
}

/// `session/load` is called with "MCP servers to connect to", and the specification does not require the agent to
/// remember those of `session/new`. The list may have changed in between, so an empty one proves nothing. The page also
/// requires the list for `session/resume`, where the schema has it optional.
fn passed_on(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(params) = reopening(call) else { return };
    let session = call.text("sessionId").and_then(|id| ctx.conversation.session(id));
    let before = session.filter(|session| session.mcp_servers > 0);
    match (params.member("mcpServers"), before) {
        (Some(Value::Array(servers)), _) if !servers.is_empty() => ruling.pass(),
        (_, None) => {}
        (None, Some(before)) if call.method == "session/load" => ruling.proved_by(&[before.known]).fail(fact!(
            "servers-not-passed",
            "the client sent session/load without MCP servers, and had opened the session with some"
        )),
        (None, Some(_)) => ruling.note(fact!(
            "servers-omitted",
            "the client sent session/resume without the MCP servers with which it had opened the session"
        )),
        (Some(_), Some(before)) => ruling.proved_by(&[before.known]).inconclusive(fact!(
            "servers-empty",
            "the client sent {method} with an empty list of MCP servers, and had opened the session with some",
            method = call.method
        )),
    }
}
