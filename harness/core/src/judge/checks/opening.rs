//! The client's half of the areas `session`, `mcp` and `dirs`, as far as it is about the requests that open a session: the
//! directories and the MCP servers that they name.

use serde_json::Value;

use super::common::decide_announced;
use super::support::{last_part, same_path};
use crate::judge::check::{Check, On};
use crate::judge::moment::{CallSeen, Moment};
use crate::judge::ruling::Ruling;
use crate::protocol::is_absolute;

pub(super) const CHECKS: &[Check] = &[
    Check::client("session.cwd-absolute", On::Call(cwd_absolute)),
    Check::client("mcp.stdio.command-absolute", On::Call(command_absolute)),
    Check::client("mcp.http.gate", On::Call(http_gate)),
    Check::client("mcp.sse.gate", On::Call(sse_gate)),
    Check::client("mcp.passed-on-reattach", On::Call(passed_on)),
    Check::client("dirs.gate", On::Call(dirs_gate)),
    Check::client("dirs.absolute", On::Call(dirs_absolute)),
    Check::client("dirs.cwd-matches", On::Call(cwd_matches)),
];

const ROOTS: [&str; 2] = ["sessionCapabilities", "additionalDirectories"];

/// The params, when the request opens a session.
fn opening<'m>(call: &CallSeen<'m>) -> Option<&'m Value> {
    call.params.filter(|_| matches!(call.method, "session/new" | "session/load" | "session/resume"))
}

fn reopening<'m>(call: &CallSeen<'m>) -> Option<&'m Value> {
    opening(call).filter(|_| call.method != "session/new")
}

fn items<'m>(params: &'m Value, name: &str) -> &'m [Value] {
    params.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The entries of one transport. An entry for stdio is known by having no type.
fn servers<'m>(params: &'m Value, transport: &str) -> impl Iterator<Item = &'m Value> {
    items(params, "mcpServers").iter().filter(move |entry| match entry.get("type") {
        None | Some(Value::Null) => transport == "stdio",
        Some(kind) => kind.as_str() == Some(transport),
    })
}

/// The working directory "MUST be an absolute path".
///
/// Correct but unusual: the root, a path of Windows or of a network share, or one with `..` in it. All are absolute.
fn cwd_absolute(_: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(cwd) = opening(call).and_then(|params| params.get("cwd")?.as_str()) {
        ruling.decide(is_absolute(cwd), || format!("the cwd of {} is `{cwd}`, which is no absolute path", call.method));
    }
}

/// `command`: "The absolute path to the MCP server executable."
fn command_absolute(_: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(params) = opening(call) else { return };
    for command in servers(params, "stdio").filter_map(|server| server.get("command")?.as_str()) {
        ruling.decide(is_absolute(command), || {
            format!("the command of an MCP server is `{command}`, which is no absolute path")
        });
    }
}

/// "Before using HTTP or SSE transports, Clients MUST verify the Agent's capabilities during initialization."
fn http_gate(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    transport_gate(moment, call, "http", ruling);
}

/// As above.
fn sse_gate(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    transport_gate(moment, call, "sse", ruling);
}

fn transport_gate(moment: &Moment<'_>, call: &CallSeen<'_>, transport: &str, ruling: &mut Ruling<'_>) {
    if opening(call).is_some_and(|params| servers(params, transport).next().is_some()) {
        decide_announced(moment, &["mcpCapabilities", transport], (call.method, "/params/mcpServers"), ruling);
    }
}

/// `session/load` is called with "MCP servers to connect to", and nothing says that the agent remembers those of
/// `session/new`. The list may have changed in between, so one that is empty now proves nothing; the page has the list
/// for `session/resume` as well, which the schema lets go without.
fn passed_on(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(params) = reopening(call) else { return };
    let session = call.text("sessionId").and_then(|id| moment.talk.session(id));
    let before = session.filter(|session| session.mcp_servers > 0);
    match (params.get("mcpServers"), before) {
        (Some(Value::Array(servers)), _) if !servers.is_empty() => ruling.pass(),
        (_, None) => {}
        (None, Some(before)) if call.method == "session/load" => {
            let message = "session/load names no MCP servers, and the session was opened with some";
            ruling.fail(message, &[before.known]);
        }
        (None, Some(_)) => ruling.note("session/resume leaves the MCP servers out that the session was opened with"),
        (Some(_), Some(before)) => {
            let message = format!("{} has no MCP server, and the session was opened with some", call.method);
            ruling.inconclusive(message, &[before.known]);
        }
    }
}

/// "Clients MUST only send `additionalDirectories` when the Agent advertises `sessionCapabilities.additionalDirectories`."
///
/// Correct but unusual: an empty list, or null. Both name no directory, and an empty list is noted.
fn dirs_gate(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(params) = opening(call) else { return };
    if !items(params, "additionalDirectories").is_empty() {
        decide_announced(moment, &ROOTS, (call.method, "/params/additionalDirectories"), ruling);
    } else if params.get("additionalDirectories").is_some() && moment.talk.agent_lacks(&ROOTS) {
        // Omitting the member and an empty list are the same.
        ruling.note("the client sent an empty additionalDirectories, which the agent did not advertise");
    }
}

/// "each `additionalDirectories` entry MUST be an absolute path".
///
/// Correct but unusual: one directory twice, the `cwd` itself, a path of Windows.
fn dirs_absolute(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(params) = opening(call).filter(|_| moment.talk.agent_has(&ROOTS)) else { return };
    for root in items(params, "additionalDirectories").iter().filter_map(Value::as_str) {
        ruling.decide(is_absolute(root), || format!("the additional directory `{root}` is no absolute path"));
    }
}

/// The list of further roots is taken "as long as the request `cwd` matches the session's `cwd`".
///
/// Correct but unusual: the client names the directory by a link, or in another case. So a directory of another name fails
/// only in a case, whose directories are no links.
fn cwd_matches(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(params) = reopening(call).filter(|_| moment.talk.agent_has(&ROOTS)) else { return };
    let (Some(id), Some(cwd)) = (call.text("sessionId"), call.text("cwd")) else { return };
    let given = moment.talk.session(id).filter(|session| session.is_introduced() && !session.cwd.is_empty());
    let listed = moment.talk.listed_cwds.get(id);
    let known: Vec<&str> =
        given.map(|session| session.cwd.as_str()).into_iter().chain(listed.map(String::as_str)).collect();
    let message = || format!("the session's cwd is `{}`, and {} has `{cwd}`", known.join("` or `"), call.method);
    if known.is_empty() {
    } else if items(params, "additionalDirectories").is_empty() {
        if !known.iter().any(|known| same_path(known, cwd)) {
            ruling.note(message());
        }
    } else if known.iter().any(|known| same_path(known, cwd)) {
        ruling.pass();
    } else if let Some(session) = given.filter(|session| moment.talk.whole && last_part(&session.cwd) != last_part(cwd))
    {
        ruling.fail(message(), &[session.known]);
    } else {
        // Links give one directory several names, and agents may list another one than they were given.
        ruling.inconclusive(message(), &[]);
    }
}
