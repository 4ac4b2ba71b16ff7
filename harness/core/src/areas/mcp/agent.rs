//! The agent's half of the area `mcp`: its starts and calls of the tester's MCP servers.
//!
//! The steps of a case report servers that an agent ignored, since only they know when it should have called the
//! server.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::areas::common::{LOGIN, NO_METHOD};
use crate::areas::{Check, CheckContext, On};
use crate::conversation::Trial;
use crate::fact;
use crate::finding::{Fact, Ruling};
use crate::protocol::Feature;
use crate::trace::{McpEvent, McpTransport, McpWhat, Visit};
use crate::wire::{Content, Envelope, Members, read_line};

pub(super) const CHECKS: &[Check] = &[
    Check::agent("mcp.stdio.supported", On::Mcp(|_, event, ruling| connected(McpTransport::Stdio, event, ruling))),
    Check::agent(
        "mcp.stdio.supported",
        On::End(|ctx, ruling| {
            servers_refused(ctx, |server| matches!(server.text("type"), None | Some("stdio")), ruling);
        }),
    ),
    Check::agent("mcp.stdio.args-env", On::Mcp(args_env)),
    Check::agent("mcp.http.honest", On::Mcp(|_, event, ruling| connected(McpTransport::Http, event, ruling))),
    Check::agent("mcp.http.honest", On::End(|ctx, ruling| offered_refused(ctx, &["http"], ruling))),
    Check::agent("mcp.http.headers", On::Visit(headers)),
    Check::agent("mcp.sse.honest", On::Mcp(|_, event, ruling| connected(McpTransport::Sse, event, ruling))),
    Check::agent("mcp.sse.honest", On::End(|ctx, ruling| offered_refused(ctx, &["sse"], ruling))),
];

/// Passes an agent that connects to a server over this transport, and never fails: the step of a case fails if the
/// trace shows the tool call.
///
/// "All Agents MUST support connecting to MCP servers via stdio." "When the Agent supports `mcpCapabilities.http`,
/// Clients can specify MCP servers configurations using the HTTP transport", and so with sse.
///
/// Correct but unusual: an agent that connects to a server only when it calls a tool of it, or tries streamable HTTP
/// before sse.
fn connected(over: McpTransport, event: &McpEvent, ruling: &mut Ruling<'_>) {
    if event.over == over && called(event).as_deref() == Some("initialize") {
        ruling.pass();
    }
}

/// Returns the method that the agent calls at a server.
pub(super) fn called(event: &McpEvent) -> Option<String> {
    let McpWhat::FromAgent(text) = &event.what else { return None };
    let Content::One { value, .. } = read_line(text.as_bytes()) else { return None };
    match Envelope::of(&value) {
        Envelope::Call(call) => Some(call.method.to_owned()),
        _ => None,
    }
}

/// As [`connected`]: the servers are the reason if the agent refuses each session with servers of this transport, and
/// accepts each without servers.
///
/// Correct but unusual: an agent that refuses a server which does not start, or two of one name. It accepts the other
/// servers, so not each is refused.
fn servers_refused(ctx: &CheckContext<'_>, is_meant: impl Fn(&Value) -> bool, ruling: &mut Ruling<'_>) {
    const SERVERS: &str = "mcpServers";
    let has = |trial: &Trial| {
        let servers = trial.exchange.params.list(SERVERS);
        !servers.is_empty() && servers.iter().all(&is_meant)
    };
    let is_refused = |trial: &Trial| {
        trial.exchange.method == "session/new" && trial.error.is_some_and(|code| !matches!(code, LOGIN | NO_METHOD))
    };
    let alike = |one: &Trial, other: &Trial| {
        (has(other) || other.exchange.params.list(SERVERS).is_empty()) && one.is_like(other, SERVERS)
    };
    if let Some((trial, events)) = ctx.conversation.trials.contrast(has, is_refused, alike) {
        ruling.proved_by(&events).fail(fact!(
            "servers-refused",
            "the agent refused each session/new with such MCP servers, and none without; expected it to connect to them";
            code = trial.error, pointer = "/params/mcpServers"
        ));
    }
}

/// As [`servers_refused`], for servers of the transports that the agent offers.
pub(super) fn offered_refused(ctx: &CheckContext<'_>, transports: &[&'static str], ruling: &mut Ruling<'_>) {
    for transport in transports.iter().filter(|name| ctx.conversation.agent_has(Feature::McpServer(name))) {
        servers_refused(ctx, |server| server.text("type") == Some(transport), ruling);
    }
}

/// `args`: "Command-line arguments to pass to the server." `env`: "Environment variables to set when launching the
/// server."
///
/// Correct but unusual: an agent that adds variables of its own, starts the server several times, or serves several
/// sessions that name it in different ways. Each start passes if it fits one of the entries.
fn args_env(ctx: &CheckContext<'_>, event: &McpEvent, ruling: &mut Ruling<'_>) {
    let McpWhat::Started { command, args, env, .. } = &event.what else { return };
    let named = ctx.conversation.mcp_servers.iter().filter(|entry| entry.text("command") == Some(command));
    let entries: Vec<&Value> = named.collect();
    // Several sessions may name one server in different ways.
    let departures: Vec<Fact> = entries.iter().filter_map(|entry| departure(entry, &event.server, args, env)).collect();
    if departures.len() < entries.len() {
        ruling.pass();
    } else if let Some(departure) = departures.into_iter().next_back() {
        ruling.fail(departure);
    }
}

/// Returns the first difference between an entry of the client and the agent's start of its server.
fn departure(entry: &Value, server: &str, args: &[String], env: &BTreeMap<String, String>) -> Option<Fact> {
    let wanted: Vec<&str> = entry.list("args").iter().filter_map(Value::as_str).collect();
    if wanted != *args {
        let (actual, expected) = (format!("{args:?}"), format!("{wanted:?}"));
        return Some(fact!(
            "wrong-args",
            "the agent started the MCP server `{server}` with the arguments {actual}; expected {expected}",
            server,
            actual,
            expected;
            args = args
        ));
    }
    let departs = |(name, value): &(&str, &str)| env.get(*name).map(String::as_str) != Some(*value);
    let (name, expected) = pairs(entry, "env").into_iter().find(departs)?;
    Some(match env.get(name) {
        None => fact!(
            "env-missing",
            "the agent started the MCP server `{server}` without the variable {name}; expected the configured value",
            server,
            name;
            expected = expected
        ),
        Some(actual) => fact!(
            "wrong-env",
            "the agent started the MCP server `{server}` with {name} set to \"{actual}\"; expected \"{expected}\"",
            server,
            name,
            actual,
            expected
        ),
    })
}

/// http: "HTTP headers to include in requests to the server." sse: "HTTP headers to include when establishing the SSE
/// connection."
///
/// Correct but unusual: an agent that requests other URLs of the host, for example to discover a login, sends
/// additional headers, or has one session with headers and one without for the same URL. These do not fail.
fn headers(ctx: &CheckContext<'_>, visit: &Visit, ruling: &mut Ruling<'_>) {
    let named = ctx.conversation.mcp_servers.iter().filter(|entry| entry.text("url") == Some(&visit.url));
    let lists: Vec<_> = named.map(|entry| pairs(entry, "headers")).collect();
    // The request may belong to the session without headers.
    if lists.iter().any(Vec::is_empty) {
        return;
    }
    let missing = |headers: &Vec<(&str, &str)>| {
        let sent = |name: &str, value: &str| {
            visit.headers.iter().any(|(sent, found)| sent.eq_ignore_ascii_case(name) && found.trim() == value.trim())
        };
        headers.iter().find(|(name, value)| !sent(name, value)).map(|(name, _)| (*name).to_owned())
    };
    let departures: Vec<String> = lists.iter().filter_map(missing).collect();
    if departures.len() < lists.len() {
        ruling.pass();
    } else if let Some(name) = departures.last() {
        ruling.fail(fact!(
            "header-missing",
            "the agent sent {method} to an MCP server without the header `{header}`; expected the configured header",
            method = visit.method, header = name;
            url = visit.url
        ));
    }
}

/// Returns the names and values of a list, without duplicate names.
fn pairs<'v>(entry: &'v Value, member: &str) -> Vec<(&'v str, &'v str)> {
    let all: Vec<_> =
        entry.list(member).iter().filter_map(|item| Some((item.text("name")?, item.text("value")?))).collect();
    let once = |name: &str| all.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name)).count() == 1;
    all.iter().copied().filter(|(name, _)| once(name)).collect()
}
