//! What both ends of HTTP and WebSocket share: headers, bodies and streams of events.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{Stream, StreamExt};
use hyper::Response;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use sse_stream::SseStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};

use crate::trace::{HttpEvent, recorded_headers};

pub(super) fn recorded(headers: &HeaderMap) -> Vec<(String, String)> {
    let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), text_of(value))).collect();
    recorded_headers(headers.iter().map(|(name, value)| (*name, value.as_str())))
}

/// Returns the event of the head of a response.
pub(super) fn event_of<B>(exchange: usize, response: &Response<B>) -> HttpEvent {
    HttpEvent::Response {
        exchange,
        status: response.status().as_u16(),
        version: format!("{:?}", response.version()),
        headers: recorded(response.headers()),
        body: None,
    }
}

/// Returns the value of a header as text. Ids of sessions may have letters beyond ASCII.
pub(super) fn text_of(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

/// The longest body of a request or a response that is not a stream, in bytes.
pub(super) const LONGEST_BODY: usize = 64 << 20;

/// The kind of the streams.
pub(super) const EVENT_STREAM: &str = "text/event-stream";

/// Whether a response is a stream of events.
pub(super) fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(text_of).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case(EVENT_STREAM))
}

/// Why a stream of events broke.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct BrokenStream(String);

/// Returns the data of the events in a stream of bytes, or the reason for which it broke. Comments and keep-alives have
/// no data.
pub(super) fn events_of<E: std::error::Error>(
    pieces: impl Stream<Item = Result<Bytes, E>>,
) -> impl Stream<Item = Result<Vec<u8>, String>> {
    // The reader keeps an event until it is complete.
    let kept = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&kept);
    let pieces = pieces.map(move |piece| {
        let piece = piece.map_err(|error| BrokenStream(reason(&error)))?;
        if counter.fetch_add(piece.len(), Ordering::Relaxed) > LONGEST_BODY {
            return Err(BrokenStream(format!("it has an event of more than {LONGEST_BODY} bytes")));
        }
        Ok(piece)
    });
    SseStream::from_bytes_stream(pieces).filter_map(move |event| {
        kept.store(0, Ordering::Relaxed);
        std::future::ready(match event {
            Ok(event) => event.data.map(|data| Ok(data.into_bytes())),
            Err(error) => Some(Err(reason(&error))),
        })
    })
}

/// One end of a WebSocket.
pub(super) type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// Makes a WebSocket of an upgraded connection; a message may be as long as a body.
pub(super) async fn socket_over(upgraded: Upgraded, role: Role) -> Socket {
    let settings = WebSocketConfig::default().max_message_size(Some(LONGEST_BODY)).max_frame_size(Some(LONGEST_BODY));
    Socket::from_raw_socket(TokioIo::new(upgraded), role, Some(settings)).await
}

/// Returns the kind of a frame that closes a WebSocket, with its code if there is one.
pub(super) fn kind_of_close(close: Option<&CloseFrame>) -> String {
    close.map_or_else(|| "close".to_owned(), |close| format!("close {}", close.code))
}

/// The longest recorded beginning of a body that is not a message, in characters.
const LONGEST_QUOTE: usize = 1 << 10;

/// Returns the beginning of a body that is not a message.
pub(super) fn quoted(body: &[u8]) -> String {
    // A character has four bytes at most.
    let beginning = &body[..body.len().min(4 * LONGEST_QUOTE)];
    String::from_utf8_lossy(beginning).chars().take(LONGEST_QUOTE).collect()
}

/// Returns an error with its causes.
pub(super) fn reason(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let why = causes.map(ToString::to_string).collect::<Vec<_>>().join(": ");
    let is_unknown = why.contains("UnknownIssuer");
    let remedy = if is_unknown { " (the variable SSL_CERT_FILE names a file of certificates to trust)" } else { "" };
    why + remedy
}
