//! Finds the entries of ACP: the requests to an endpoint that some entry identifies, and the WebSockets that carry its
//! messages.

use std::collections::BTreeSet;

use serde_json::Value;

use super::entry::{Entry, header};
use crate::recording::problem::RecordingProblem;
use crate::trace::{CONNECTION_ID, SESSION_ID};
use crate::wire::read_line;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An exchange of ACP over HTTP.
    Http,
    /// ACP over a WebSocket.
    WebSocket,
    /// Anything else, such as a page, a script or the preflight of a browser.
    Other,
}

/// Returns the entries by the time of their requests, with what they are.
pub(super) fn sorted(entries: Vec<Entry<'_>>) -> Result<Vec<(Entry<'_>, Kind)>, RecordingProblem> {
    let mut endpoints: BTreeSet<String> = BTreeSet::new();
    for entry in entries.iter().filter(|entry| !is_socket(entry)) {
        if has_acp_header(entry) || posted(entry)?.is_some_and(|message| is_opening(&message)) {
            endpoints.insert(endpoint(&entry.url).to_owned());
        }
    }
    let mut sorted = Vec::new();
    for entry in entries {
        let kind = if is_socket(&entry) {
            let is_acp = header(&entry.answered, CONNECTION_ID).is_some() || has_acp_frame(&entry)?;
            if is_acp { Kind::WebSocket } else { Kind::Other }
        } else if endpoints.contains(endpoint(&entry.url)) && is_exchange(&entry)? {
            Kind::Http
        } else {
            Kind::Other
        };
        let started = if kind == Kind::Other { 0 } else { entry.started()? };
        sorted.push((started, entry, kind));
    }
    sorted.sort_by_key(|(started, ..)| *started);
    Ok(sorted.into_iter().map(|(_, entry, kind)| (entry, kind)).collect())
}

/// Returns the address without the query.
fn endpoint(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or_default()
}

fn is_socket(entry: &Entry<'_>) -> bool {
    let scheme = entry.url.split(':').next().unwrap_or_default();
    let is_upgrade = header(&entry.asked, "upgrade").is_some_and(|kind| kind.eq_ignore_ascii_case("websocket"));
    is_upgrade || ["ws", "wss"].contains(&scheme) || entry.list("/_webSocketMessages").is_ok_and(|list| list.is_some())
}

fn has_acp_header(entry: &Entry<'_>) -> bool {
    let has = |headers| header(headers, CONNECTION_ID).is_some();
    has(&entry.asked) || has(&entry.answered) || header(&entry.asked, SESSION_ID).is_some()
}

/// Whether a request to an endpoint belongs to ACP. The page of a client may have the same address.
fn is_exchange(entry: &Entry<'_>) -> Result<bool, RecordingProblem> {
    let accepts_events = || header(&entry.asked, "accept").is_some_and(|kinds| kinds.contains("text/event-stream"));
    Ok(match entry.method.as_str() {
        // The preflight of a browser is its own, not the client's.
        "OPTIONS" | "CONNECT" => false,
        "DELETE" => true,
        "POST" => has_acp_header(entry) || posted(entry)?.is_some_and(|body| body.is_object() || body.is_array()),
        "GET" => has_acp_header(entry) || accepts_events(),
        _ => has_acp_header(entry),
    })
}

/// Returns the JSON in the body of a request.
pub(super) fn posted(entry: &Entry<'_>) -> Result<Option<Value>, RecordingProblem> {
    if entry.method != "POST" {
        return Ok(None);
    }
    let body = entry.bytes("/request/postData/text", "/request/postData/encoding")?;
    Ok(body.and_then(|body| read_line(&body).one()))
}

/// Whether a message opens a connection of ACP. The version of the protocol is a number there, and a text in MCP.
fn is_opening(message: &Value) -> bool {
    message.get("method").and_then(Value::as_str) == Some("initialize")
        && message.pointer("/params/protocolVersion").is_some_and(Value::is_u64)
}

/// The most frames of a WebSocket that are searched for a message of ACP.
const SEARCHED: usize = 64;

/// Whether a WebSocket carries messages of ACP.
fn has_acp_frame(entry: &Entry<'_>) -> Result<bool, RecordingProblem> {
    for place in entry.list("/_webSocketMessages")?.into_iter().flatten().take(SEARCHED) {
        let text = entry.text(&format!("{place}/data"))?.unwrap_or_default();
        let Some(message) = read_line(text.as_bytes()).one() else { continue };
        let method = message.get("method").and_then(Value::as_str);
        if is_opening(&message) || method.is_some_and(|method| method.starts_with("session/")) {
            return Ok(true);
        }
    }
    Ok(false)
}
