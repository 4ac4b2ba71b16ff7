//! The agent's half of the area `mcp`: how it starts and calls the MCP servers that the tester plays.
//!
//! That a server is left out is told by the steps of a case, since only they know when it should have been called.

use serde_json::Value;

use crate::judge::check::{Check, On};
use crate::judge::moment::Moment;
use crate::judge::ruling::Ruling;
use crate::trace::{McpEvent, McpTransport, McpWhat, Visit};
use crate::wire::{Content, Envelope, read_line};

pub(super) const CHECKS: &[Check] = &[
    Check::agent("mcp.stdio.supported", On::Mcp(stdio_supported)),
    Check::agent("mcp.stdio.args-env", On::Mcp(args_env)),
    Check::agent("mcp.http.honest", On::Mcp(http_honest)),
    Check::agent("mcp.http.headers", On::Visit(headers)),
    Check::agent("mcp.sse.honest", On::Mcp(sse_honest)),
];

/// "All Agents MUST support connecting to MCP servers via stdio."
///
/// Correct but unusual: an agent that starts a server only when a tool of it is called. This function never fails; the step of a
/// case does, if the trace shows the call.
fn stdio_supported(_: &Moment<'_>, event: &McpEvent, ruling: &mut Ruling<'_>) {
    connected(McpTransport::Stdio, event, ruling);
}

/// "When the Agent supports `mcpCapabilities.http`, Clients can specify MCP servers configurations using the HTTP transport."
///
/// Correct but unusual: as with stdio, an agent that connects late. This function never fails.
fn http_honest(_: &Moment<'_>, event: &McpEvent, ruling: &mut Ruling<'_>) {
    connected(McpTransport::Http, event, ruling);
}

/// As with http.
///
/// Correct but unusual: an agent that tries streamable HTTP first. This function never fails.
fn sse_honest(_: &Moment<'_>, event: &McpEvent, ruling: &mut Ruling<'_>) {
    connected(McpTransport::Sse, event, ruling);
}

fn connected(over: McpTransport, event: &McpEvent, ruling: &mut Ruling<'_>) {
    if let McpWhat::FromAgent(text) = &event.what
        && event.over == over
        && let Content::One { value, .. } = read_line(text.as_bytes())
        && matches!(Envelope::of(&value), Envelope::Call(call) if call.method == "initialize")
    {
        ruling.pass();
    }
}

/// `args`: "Command-line arguments to pass to the server." `env`: "Environment variables to set when launching the server."
///
/// Correct but unusual: an agent that adds variables of its own, starts the server several times, or serves several sessions
/// that name it in different ways. Each start passes if it fits one of the entries.
fn args_env(moment: &Moment<'_>, event: &McpEvent, ruling: &mut Ruling<'_>) {
    let McpWhat::Started { command, args, env, .. } = &event.what else { return };
    let named = moment.talk.mcp_servers.iter().filter(|entry| text(entry, "command") == Some(command));
    let entries: Vec<&Value> = named.collect();
    // Several sessions may name one server in several ways.
    let departures: Vec<String> = entries
        .iter()
        .filter_map(|entry| {
            let wanted: Vec<&str> = items(entry, "args").iter().filter_map(Value::as_str).collect();
            if wanted != *args {
                return Some(format!("with the arguments {args:?} instead of {wanted:?}"));
            }
            let departs = |(name, value): &(&str, &str)| env.get(*name).map(String::as_str) != Some(*value);
            let (name, value) = pairs(entry, "env").into_iter().find(departs)?;
            Some(match env.get(name) {
                None => format!("without the environment variable `{name}`"),
                Some(found) => format!("with {found:?} instead of {value:?} in the environment variable `{name}`"),
            })
        })
        .collect();
    if departures.len() < entries.len() {
        ruling.pass();
    } else if let Some(departure) = departures.last() {
        ruling.fail(format!("the MCP server `{}` was started {departure}", event.server), &[]);
    }
}

/// http: "HTTP headers to include in requests to the server." sse: "HTTP headers to include when establishing the SSE
/// connection."
///
/// Correct but unusual: an agent that asks other URLs of the host, as to find out about a login, sends headers of its own as
/// well, or has one session with headers and one without for the same URL. None of these fails.
fn headers(moment: &Moment<'_>, visit: &Visit, ruling: &mut Ruling<'_>) {
    let named = moment.talk.mcp_servers.iter().filter(|entry| text(entry, "url") == Some(&visit.url));
    let lists: Vec<_> = named.map(|entry| pairs(entry, "headers")).collect();
    // Any request may be for the session that gave none.
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
        let message = format!("a {} to an MCP server lacks the header `{name}` that was given for it", visit.method);
        ruling.fail(message, &[]);
    }
}

fn text<'v>(entry: &'v Value, member: &str) -> Option<&'v str> {
    entry.get(member)?.as_str()
}

fn items<'v>(entry: &'v Value, member: &str) -> &'v [Value] {
    entry.get(member).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The names and values of a list, without those names that stand in it twice.
fn pairs<'v>(entry: &'v Value, member: &str) -> Vec<(&'v str, &'v str)> {
    let all: Vec<_> =
        items(entry, member).iter().filter_map(|item| Some((text(item, "name")?, text(item, "value")?))).collect();
    let once = |name: &str| all.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name)).count() == 1;
    all.iter().copied().filter(|(name, _)| once(name)).collect()
}
