//! One exchange of ACP over HTTP: a request and its response, with the messages that they carry.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::ready;

use futures_util::{FutureExt, StreamExt, stream};
use serde_json::Value;
use sse_stream::SseByteStream;

use super::entry::{Entry, header, is_removed};
use super::left_out::LeftOut;
use crate::recording::problem::RecordingProblem;
use crate::trace::{CONNECTION_ID, Posted, SESSION_ID, recorded_headers};
use crate::wire::{Content, RpcId, read_line};

/// An exchange, without its place in the order.
pub(super) struct Exchange {
    /// The time of the request, in microseconds since 1970.
    pub started: i64,
    /// The time of the response.
    pub answered: i64,
    /// The time at which the response ended.
    pub ended: i64,
    pub method: String,
    /// The headers to record.
    pub headers: Vec<(String, String)>,
    /// The connection that the request names.
    pub connection: Option<String>,
    /// The session that the request names in its header.
    pub session: Option<String>,
    pub posted: Option<Posted>,
    /// The message in the body of the request.
    pub message: Option<Vec<u8>>,
    pub response: Response,
    /// The events of the stream that the response is.
    pub events: VecDeque<Message>,
    pub is_stream: bool,
}

/// The response of an exchange.
pub(super) enum Response {
    /// The HAR does not show what it was.
    Unknown,
    /// There was none, for this reason.
    Failed(String),
    /// A response of the server.
    Given {
        status: u16,
        version: String,
        headers: Vec<(String, String)>,
        /// The connection that it names.
        connection: Option<String>,
        /// The beginning of a body that is not a message.
        body: Option<String>,
        /// The message in its body.
        message: Option<Message>,
    },
}

/// A message of the server, with what orders it.
pub(super) struct Message {
    pub bytes: Vec<u8>,
    /// The id, if it is a request.
    pub asks: Option<RpcId>,
    /// The id of the request that it answers.
    pub answers: Option<RpcId>,
    /// The session that it opens.
    pub opens: Option<String>,
}

/// The longest recorded beginning of a body that is not a message, in characters.
const LONGEST_QUOTE: usize = 1 << 10;

/// Tools write times in milliseconds, so an event may be this much later than it seems, in microseconds.
const RESOLUTION: i64 = 2_000;

impl Message {
    fn new(bytes: Vec<u8>) -> Self {
        let value = read_line(&bytes).one().unwrap_or_default();
        let id = value.get("id").map(RpcId::new);
        let is_call = value.get("method").is_some();
        let opens = value.pointer("/result/sessionId").and_then(Value::as_str).map(str::to_owned);
        let (asks, answers) = if is_call { (id, None) } else { (None, id) };
        Self { bytes, asks, answers, opens }
    }
}

/// Reads an exchange; `None` if too little of its request was saved.
pub(super) fn read(entry: &Entry<'_>, left_out: &mut LeftOut) -> Result<Option<Exchange>, RecordingProblem> {
    let body = body_of_request(entry)?;
    if entry.asked.is_empty() || entry.method == "POST" && body.is_none() || !has_own_headers(entry)? {
        left_out.requests += 1;
        return Ok(None);
    }
    let value = body.as_deref().and_then(|body| read_line(body).one());
    let posted = value.as_ref().and_then(Posted::of);
    let response = response(entry, left_out)?;
    let is_stream = is_event_stream(entry)?;
    let events = if is_stream { events(entry, left_out)? } else { VecDeque::new() };
    let mut headers = recorded_headers(entry.asked.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    if let Some(kind) = entry.text("/request/postData/mimeType")?.filter(|kind| !kind.is_empty())
        && header(&headers, "content-type").is_none()
    {
        headers.push(("content-type".to_owned(), kind.to_owned()));
    }
    let named = |name| header(&entry.asked, name).map(str::to_owned);
    let (started, answered, ended) = times(entry)?;
    Ok(Some(Exchange {
        started,
        answered,
        ended,
        method: entry.method.clone(),
        connection: named(CONNECTION_ID),
        session: named(SESSION_ID),
        posted,
        message: body.filter(|_| value.as_ref().is_some_and(Value::is_object)).map(in_one_line),
        response,
        events,
        is_stream,
        headers,
    }))
}

/// Returns the body of a POST, if it is JSON. A client sends no other body: a tool cut it off, or saved none.
fn body_of_request(entry: &Entry<'_>) -> Result<Option<Vec<u8>>, RecordingProblem> {
    const AT: &str = "/request/postData/text";
    let Some(body) = entry.bytes(AT, "/request/postData/encoding")?.filter(|_| entry.method == "POST") else {
        return Ok(None);
    };
    match read_line(&body) {
        Content::One { value, .. } if value.is_object() || value.is_array() => Ok(Some(body)),
        _ if is_removed(&String::from_utf8_lossy(&body)) => {
            let remedy = "Export the HAR with its bodies; `acp-conformance redact` removes the content of a trace.";
            Err(entry.problem(AT, "the message was removed", remedy))
        }
        _ => Ok(None),
    }
}

/// Whether the entry has the headers that the client itself sets. Before a browser knows what it sent, it may show only
/// some of them; then those of the connection, such as the host, are missing too.
fn has_own_headers(entry: &Entry<'_>) -> Result<bool, RecordingProblem> {
    let needed = match entry.method.as_str() {
        "POST" if entry.text("/request/postData/mimeType")?.is_none_or(str::is_empty) => "content-type",
        "GET" => "accept",
        _ => return Ok(true),
    };
    Ok([needed, "host", ":authority"].iter().any(|name| header(&entry.asked, name).is_some()))
}

/// Returns the times of the request, of the response and of its end.
#[expect(clippy::cast_possible_truncation, reason = "a number of milliseconds")]
fn times(entry: &Entry<'_>) -> Result<(i64, i64, i64), RecordingProblem> {
    let started = entry.started()?;
    let micros = |millis: f64| (millis.max(0.0) * 1000.0) as i64;
    let took = entry.number("/time")?.map_or(0, micros);
    let mut waited = 0;
    for part in ["blocked", "dns", "connect", "send", "wait"] {
        waited += micros(entry.number(&format!("/timings/{part}"))?.unwrap_or_default());
    }
    if entry.number("/timings/wait")?.is_none_or(|wait| wait < 0.0) {
        waited = took;
    }
    let answered = started.saturating_add(waited).saturating_add(RESOLUTION);
    Ok((started, answered, started.saturating_add(took).max(answered)))
}

fn response(entry: &Entry<'_>, left_out: &mut LeftOut) -> Result<Response, RecordingProblem> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let status = entry.number("/response/status")?.unwrap_or_default() as u16;
    if status < 100 {
        let why = entry.text("/response/_error")?.or(entry.text("/_error")?).unwrap_or("the HAR has no response");
        return Ok(Response::Failed(why.to_owned()));
    }
    if entry.answered.is_empty() {
        left_out.responses += 1;
        return Ok(Response::Unknown);
    }
    let (mut body, mut message) = (None, None);
    if !is_event_stream(entry)? {
        let whole = entry.bytes("/response/content/text", "/response/content/encoding")?.unwrap_or_default();
        let value = read_line(&whole).one().filter(|value| value.is_object() && entry.method == "POST");
        if value.is_some_and(|value| status < 300 || value.get("jsonrpc").is_some()) {
            message = Some(Message::new(in_one_line(whole)));
        } else if is_cut_off(&whole) {
            left_out.responses += 1;
        } else if !whole.is_empty() {
            body = Some(quoted(&whole));
        } else if status == 200 && entry.method == "POST" {
            left_out.responses += 1;
        }
    }
    Ok(Response::Given {
        status,
        version: version(entry.text("/response/httpVersion")?.unwrap_or_default()),
        headers: recorded_headers(entry.answered.iter().map(|(name, value)| (name.as_str(), value.as_str()))),
        connection: header(&entry.answered, CONNECTION_ID).map(str::to_owned),
        body,
        message,
    })
}

/// Whether the response is a stream of events.
fn is_event_stream(entry: &Entry<'_>) -> Result<bool, RecordingProblem> {
    let kind = header(&entry.answered, "content-type").or(entry.text("/response/content/mimeType")?);
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
    Ok(kind.trim().eq_ignore_ascii_case("text/event-stream"))
}

/// Returns the events of a stream. Browsers often save no body of it; some save a list of its events.
fn events(entry: &Entry<'_>, left_out: &mut LeftOut) -> Result<VecDeque<Message>, RecordingProblem> {
    let body = entry.bytes("/response/content/text", "/response/content/encoding")?.unwrap_or_default();
    let mut events = events_of(&body);
    if body.is_empty() {
        let listed = entry.list("/_eventSourceMessages")?;
        left_out.responses += usize::from(listed.is_none());
        for place in listed.into_iter().flatten() {
            events.extend(entry.text(&format!("{place}/data"))?.map(|data| data.as_bytes().to_vec()));
        }
    }
    // A tool cut off what ends in the middle of a message.
    let whole = events.into_iter().filter(|event| !is_cut_off(event));
    Ok(whole.map(|event| Message::new(in_one_line(event))).collect())
}

/// Returns the data of the events in a stream, without one that is not complete.
fn events_of(body: &[u8]) -> Vec<Vec<u8>> {
    let events = SseByteStream::new(stream::iter([Ok::<_, Infallible>(body)]));
    let data = events.filter_map(|event| ready(event.ok().and_then(|event| event.data)));
    // The whole body is there, so this never waits.
    data.map(String::into_bytes).collect().now_or_never().unwrap_or_default()
}

/// Whether JSON begins and does not end.
pub(super) fn is_cut_off(text: &[u8]) -> bool {
    matches!(read_line(text), Content::NotJson { unfinished: true, .. })
}

/// Returns a message without line feeds, which can only be between the parts of a JSON text.
pub(super) fn in_one_line(mut message: Vec<u8>) -> Vec<u8> {
    message.iter_mut().filter(|byte| matches!(byte, b'\n' | b'\r')).for_each(|byte| *byte = b' ');
    message
}

fn quoted(body: &[u8]) -> String {
    // A character has four bytes at most.
    let beginning = &body[..body.len().min(4 * LONGEST_QUOTE)];
    String::from_utf8_lossy(beginning).chars().take(LONGEST_QUOTE).collect()
}

/// Returns the version of HTTP as in traces; tools write it in several ways.
pub(super) fn version(written: &str) -> String {
    match written.to_ascii_lowercase().as_str() {
        "h2" | "http/2" | "http/2.0" => "HTTP/2.0".to_owned(),
        "h3" | "http/3" | "http/3.0" => "HTTP/3.0".to_owned(),
        other => other.to_ascii_uppercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::{events_of, version};

    #[test]
    fn events_are_read_up_to_the_last_complete_one() {
        let body = b": hello\n\ndata: {\"a\":\ndata: 1}\n\nid: 7\n\ndata: {\"b\":2}\r\n\r\ndata: {\"c\"";
        assert_eq!(events_of(body), [b"{\"a\":\n1}".to_vec(), b"{\"b\":2}".to_vec()]);
    }

    #[test]
    fn versions_are_written_alike() {
        assert_eq!(["h2", "http/2.0", "HTTP/1.1", ""].map(version), ["HTTP/2.0", "HTTP/2.0", "HTTP/1.1", ""]);
    }
}
