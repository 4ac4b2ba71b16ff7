//! Area `mcp`: the transports of version 2, and the names of servers.

use std::collections::BTreeSet;

use super::agent::{called, offered_refused};
use crate::areas::common::OPENING;
use crate::areas::session::client::opening;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::CallSeen;
use crate::fact;
use crate::finding::Ruling;
use crate::requirement::Party;
use crate::trace::McpEvent;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("mcp.connect-all", On::End(connect_all)),
    Check::agent("mcp.not-restored", On::Mcp(restored)),
    Check::client("mcp.no-sse", On::Call(no_sse)).alone().only(OPENING),
    Check::client("mcp.name-unique", On::Call(name_unique)).alone().only(&["session/new", "session/resume"]),
];

/// "The Agent SHOULD connect to all MCP servers specified by the Client", of the transports that it offers. Version 1
/// has a requirement of its own for each transport.
fn connect_all(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    if ctx.conversation.edition.major == 2 {
        offered_refused(ctx, &["stdio", "http"], ruling);
    }
}

/// `mcpServers` is "the complete set of Client-provided servers", and agents "SHOULD NOT restore servers from earlier
/// requests".
///
/// Correct but unusual: an agent that keeps the processes of servers, or starts them and does not use them. So only a
/// call of a tool fails, in a case whose only session was resumed without servers.
fn restored(ctx: &CheckContext<'_>, event: &McpEvent, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    if called(event).as_deref() != Some("tools/call") {
        return;
    }
    let openings = conversation.trials.of(Party::Client).filter(|trial| {
        conversation.is_of_case(trial.exchange.n)
            && OPENING.contains(&trial.exchange.method.as_str())
            && trial.error.is_none()
    });
    let openings: Vec<_> = openings.map(|trial| (trial.n, trial.exchange.params.list("mcpServers").len())).collect();
    let n_sessions = conversation.sessions.values().filter(|session| conversation.is_of_case(session.known)).count();
    if let [(_, 1..), .., (resumed, 0)] = openings[..]
        && n_sessions == 1
    {
        ruling.proved_by(&[resumed]).fail_in_case(fact!(
            "server-restored",
            "the agent called a tool of the MCP server `{server}` after the session was resumed without it; expected \
            only the servers of the last request",
            server = event.server
        ));
    }
}

/// Version 2 has no transport `sse`.
fn no_sse(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let servers = opening(call).map(|params| params.list("mcpServers")).unwrap_or_default();
    for (at, server) in servers.iter().enumerate() {
        ruling.decide(server.text("type") != Some("sse"), || {
            fact!(
                "sse-server",
                "the client sent {method} with an MCP server of the type `sse`, which version 2 does not have",
                method = call.method; pointer = format!("/params/mcpServers/{at}/type")
            )
        });
    }
}

/// The name of a server "MUST be unique within `mcpServers`".
///
/// Correct but unusual: names that differ in case, and the same name in two requests. Only the types that the schema
/// defines have a name with this rule; that of another type is noted.
fn name_unique(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let servers = opening(call).map(|params| params.list("mcpServers")).unwrap_or_default();
    let mut seen = BTreeSet::new();
    for (at, server) in servers.iter().enumerate() {
        let Some(name) = server.text("name") else { continue };
        let is_defined = matches!(server.text("type"), Some("stdio" | "http"));
        if seen.insert(name) {
            continue;
        }
        let fact = fact!(
            "duplicate-server-name",
            "the client sent {method} with two MCP servers of the name `{name}`; expected unique names",
            method = call.method, name; pointer = format!("/params/mcpServers/{at}/name")
        );
        return if is_defined { ruling.fail(fact) } else { ruling.note(fact) };
    }
    if seen.len() > 1 {
        ruling.pass();
    }
}
