//! HAR files (HTTP Archive 1.2) of ACP over HTTP or WebSocket, as developer tools of browsers and proxies export them.
//!
//! A HAR shows the time of each request, but not that of the events in a stream. So the order of messages on different
//! streams is unknown, apart from what answers what. The frames of a WebSocket have an order.

mod acp;
mod entry;
mod exchange;
mod left_out;
mod order;
mod socket;

use std::io::BufRead;
use std::vec::IntoIter;

use serde_json::Value;

use self::acp::Kind;
use self::entry::{EXPORT_AGAIN, Entry};
use self::left_out::LeftOut;
use super::item::Item;
use super::problem::RecordingProblem;
use crate::requirement::Transport;
use crate::trace::Lack;

/// A HAR file that was read.
pub(super) struct Har {
    pub items: IntoIter<Item>,
    pub transport: Transport,
    pub lacks: Vec<Lack>,
    /// What was left out.
    pub remarks: Vec<String>,
}

/// The gaps of a recording over HTTP. Streams and bodies may be missing, and nothing shows which.
pub(super) const GAPS_OF_HTTP: [Lack; 5] = [Lack::Encoding, Lack::Times, Lack::Processes, Lack::Order, Lack::Messages];

/// Whether the beginning of a file is that of a HAR: an object whose first member is `log`.
pub(super) fn is_har(beginning: &str) -> bool {
    let rest = |text: &str, token: &str| text.trim_start().strip_prefix(token).map(str::to_owned);
    let log = rest(beginning, "{").and_then(|text| rest(&text, "\"log\"")).and_then(|text| rest(&text, ":"));
    log.is_some_and(|text| text.trim_start().starts_with('{'))
}

/// Reads a HAR file.
pub(super) fn har(from: impl BufRead) -> Result<Har, RecordingProblem> {
    let document: Value = serde_json::from_reader(from).map_err(|error| {
        let what = if error.is_eof() {
            "the HAR is cut off here".to_owned()
        } else {
            format!("this is not a HAR, since it is not JSON: {error}")
        };
        RecordingProblem::at(error.line(), what, EXPORT_AGAIN)
    })?;
    let entries = document
        .pointer("/log/entries")
        .and_then(Value::as_array)
        .ok_or_else(|| RecordingProblem::of_all("this is not a HAR: it has no list at /log/entries", EXPORT_AGAIN))?;
    let entries = entries.iter().enumerate().map(|(index, value)| Entry::new(index + 1, value));
    let entries = acp::sorted(entries.collect::<Result<_, _>>()?)?;
    let mut left_out = LeftOut::default();
    let (mut exchanges, mut sockets) = (Vec::new(), Vec::new());
    for (entry, kind) in entries {
        match kind {
            Kind::Http => exchanges.extend(exchange::read(&entry, &mut left_out)?),
            Kind::WebSocket => sockets.push(entry),
            Kind::Other => left_out.other += 1,
        }
    }
    if exchanges.is_empty() && sockets.is_empty() {
        return Err(without_acp(&left_out));
    }
    if exchanges.is_empty() {
        let socket::Sockets { items, has_times } = socket::read(&sockets, &mut left_out)?;
        let mut lacks = vec![Lack::Encoding, Lack::Processes];
        lacks.extend((!has_times).then_some(Lack::Times));
        // Any later message may be about one that is missing.
        lacks.extend([Lack::Order, Lack::Messages].into_iter().filter(|_| left_out.frames > 0));
        let (items, remarks) = (items.into_iter(), left_out.remarks());
        return Ok(Har { items, transport: Transport::WebSocket, lacks, remarks });
    }
    left_out.sockets = sockets.len();
    let lacks = GAPS_OF_HTTP.to_vec();
    let (items, remarks) = (order::items(exchanges).into_iter(), left_out.remarks());
    Ok(Har { items, transport: Transport::Http, lacks, remarks })
}

/// Explains why a HAR has nothing to check.
fn without_acp(left_out: &LeftOut) -> RecordingProblem {
    if left_out.requests > 0 {
        let what = format!(
            "the HAR has ACP, but its {} requests were saved without their headers or bodies",
            left_out.requests
        );
        return RecordingProblem::of_all(what, "Export it with content, for example “Save all as HAR with content”.");
    }
    let what = format!("the HAR has {} entries and no ACP over HTTP or WebSocket", left_out.other);
    let remedy = "Start to record before the client connects to the agent, keep the log when the page changes, and \
                  export all requests with their content.";
    RecordingProblem::of_all(what, remedy)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{har, is_har};
    use crate::trace::What;
    use crate::wire::read_line;

    fn entry(at: u32, method: &str, headers: &Value, post: &Value, body: &str) -> Value {
        let headers: Vec<Value> = headers
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| json!({ "name": name, "value": value }))
            .collect();
        let kind = if method == "GET" { "text/event-stream" } else { "application/json" };
        json!({
            "startedDateTime": format!("2026-11-27T10:00:00.{at:03}Z"), "time": if method == "GET" { 100 } else { 1 },
            "request": { "method": method, "url": "http://h/acp", "headers": headers,
                "postData": if post.is_null() { Value::Null } else { json!({ "text": post.to_string() }) } },
            "response": { "status": 200, "headers": [{ "name": "content-type", "value": kind },
                { "name": "acp-connection-id", "value": "c" }], "content": { "text": body } },
        })
    }

    /// Returns the methods and ids of the messages in a HAR, in order.
    fn order(entries: &[Value]) -> Vec<String> {
        let text = json!({ "log": { "entries": entries } }).to_string();
        assert!(is_har(&text));
        let read = har(text.as_bytes()).unwrap_or_else(|problem| panic!("{problem}"));
        let lines = read.items.filter_map(|item| match item.what {
            What::Line { bytes, .. } => read_line(&bytes).one(),
            _ => None,
        });
        lines.map(|value| format!("{} {}", value["method"].as_str().unwrap_or("answer"), value["id"])).collect()
    }

    #[test]
    fn events_come_after_their_causes_and_before_what_depends_on_them() {
        let (own, of_session) = (
            json!({ "accept": "text/event-stream", "acp-connection-id": "c" }),
            json!({ "accept": "text/event-stream", "acp-connection-id": "c", "acp-session-id": "s" }),
        );
        let post = json!({ "host": "h", "acp-connection-id": "c" });
        let call = |id: u32, method: &str| json!({ "id": id, "method": method, "params": { "sessionId": "s" } });
        let new = "data: {\"id\":1,\"result\":{\"sessionId\":\"s\"}}\n\n";
        let asks = "data: {\"id\":7,\"method\":\"ask\"}\n\ndata: {\"id\":2,\"result\":{}}\n\n";
        let initialize = json!({ "id": 0, "method": "initialize", "params": { "protocolVersion": 1 } });
        let entries = [
            entry(0, "POST", &json!({ "host": "h" }), &initialize, "{\"id\":0,\"result\":{}}"),
            entry(10, "GET", &own, &Value::Null, new),
            entry(20, "POST", &post, &json!({ "id": 1, "method": "session/new" }), ""),
            entry(30, "GET", &of_session, &Value::Null, asks),
            entry(50, "POST", &post, &json!({ "id": 7, "result": {} }), ""),
            // By its time, the request comes after the end of the stream with its answer.
            entry(200, "POST", &post, &call(2, "session/prompt"), ""),
        ];
        let expected = [
            "initialize 0",
            "answer 0",
            "session/new 1",
            "answer 1",
            "ask 7",
            "answer 7",
            "session/prompt 2",
            "answer 2",
        ];
        assert_eq!(order(&entries), expected);
    }
}
