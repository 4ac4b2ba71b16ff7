//! WebSockets of ACP: each is a connection, with its frames in order.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::entry::{EXPORT_AGAIN, Entry, header};
use super::exchange::{in_one_line, is_cut_off, version};
use super::left_out::LeftOut;
use crate::recording::item::Item;
use crate::recording::problem::RecordingProblem;
use crate::requirement::Party;
use crate::trace::{HttpEvent, ProcessEvent, What, recorded_headers};
use crate::wire::LineEnd;

/// The events of all WebSockets.
pub(super) struct Sockets {
    pub items: Vec<Item>,
    /// Whether each frame has a time.
    pub has_times: bool,
}

/// The kinds of frames, by their number.
const TEXT: u64 = 1;
const BINARY: u64 = 2;
const CLOSE: u64 = 8;

/// Reads WebSockets, which are sorted by the times of their requests.
pub(super) fn read(entries: &[Entry<'_>], left_out: &mut LeftOut) -> Result<Sockets, RecordingProblem> {
    let begun = entries.first().map(Entry::started).transpose()?.unwrap_or_default();
    let mut sockets = Sockets { items: Vec::new(), has_times: true };
    for (connection, entry) in entries.iter().enumerate() {
        let mut us = since(begun, entry.started()?);
        upgrade(entry, (us, connection), &mut sockets.items)?;
        for place in entry.list("/_webSocketMessages")?.into_iter().flatten() {
            match entry.number(&format!("{place}/time"))? {
                // Time never runs back on one connection.
                Some(time) => us = us.max(since(begun, micros(time))),
                None => sockets.has_times = false,
            }
            for what in frame(entry, &place, left_out)? {
                sockets.items.push(Item { us, connection, what });
            }
        }
    }
    if !sockets.has_times {
        sockets.items.iter_mut().for_each(|item| item.us = 0);
    }
    sockets.items.sort_by_key(|item| item.us);
    Ok(sockets)
}

fn since(begun: i64, time: i64) -> u64 {
    u64::try_from(time.saturating_sub(begun)).unwrap_or_default()
}

/// Returns the microseconds of a time in seconds since 1970; some tools write milliseconds.
#[expect(clippy::cast_possible_truncation, reason = "saturates")]
fn micros(time: f64) -> i64 {
    /// A time in the year 5138, in seconds.
    const LATEST: f64 = 1e11;
    (if time > LATEST { time * 1e3 } else { time * 1e6 }) as i64
}

/// Adds the request for a WebSocket and its response.
fn upgrade(entry: &Entry<'_>, (us, connection): (u64, usize), items: &mut Vec<Item>) -> Result<(), RecordingProblem> {
    let text = |(name, value): &'_ (String, String)| (name.clone(), value.clone());
    let mut asked: Vec<(String, String)> = entry.asked.iter().map(text).collect();
    // Over HTTP/2, the request for a WebSocket has no such header.
    if header(&asked, "upgrade").is_none() {
        asked.push(("upgrade".to_owned(), "websocket".to_owned()));
    }
    let recorded = |headers: &[(String, String)]| {
        recorded_headers(headers.iter().map(|(name, value)| (name.as_str(), value.as_str())))
    };
    let (exchange, method) = (0, "GET".to_owned());
    let request = HttpEvent::Request { exchange, method, headers: recorded(&asked), message: None, scripted: false };
    items.push(Item { us, connection, what: What::Http(request) });
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let status = entry.number("/response/status")?.unwrap_or_default() as u16;
    // Without headers, nothing shows which ones the response had.
    if status >= 100 && !entry.answered.is_empty() {
        let version = version(entry.text("/response/httpVersion")?.unwrap_or_default());
        let headers = recorded(&entry.answered);
        let response = HttpEvent::Response { exchange, status, version, headers, body: None };
        items.push(Item { us, connection, what: What::Http(response) });
    }
    Ok(())
}

/// Returns the events of a frame.
fn frame(entry: &Entry<'_>, place: &str, left_out: &mut LeftOut) -> Result<Vec<What>, RecordingProblem> {
    let at = |member: &str| format!("{place}/{member}");
    let from = match entry.text(&at("type"))? {
        Some("send" | "request") => Party::Client,
        Some("receive" | "response") => Party::Agent,
        // Chromium lists errors of the connection among the frames.
        Some("error") => return Ok(Vec::new()),
        _ => return Err(entry.problem(&at("type"), "expected `send` or `receive`", EXPORT_AGAIN)),
    };
    let data = entry.text(&at("data"))?.unwrap_or_default();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let opcode = entry.number(&at("opcode"))?.map_or(TEXT, |opcode| opcode as u64);
    let by_server = from == Party::Agent;
    let of_kind = |kind: String| What::Http(HttpEvent::Frame { exchange: 0, by_server, kind, message: None });
    Ok(match opcode {
        TEXT if is_cut_off(data.as_bytes()) || data.is_empty() => {
            left_out.frames += 1;
            Vec::new()
        }
        TEXT => {
            let bytes = in_one_line(data.as_bytes().to_vec());
            let line = What::Line { from, bytes, end: LineEnd::Lf, deliberate: false };
            vec![What::Http(HttpEvent::Carries { exchange: 0 }), line]
        }
        BINARY => vec![of_kind("binary".to_owned())],
        CLOSE => {
            let code = STANDARD.decode(data).ok().and_then(|data| Some(u16::from_be_bytes(*data.first_chunk()?)));
            let ended = if by_server { ProcessEvent::StdoutEnded } else { ProcessEvent::StdinClosed };
            let kind = code.map_or_else(|| "close".to_owned(), |code| format!("close {code}"));
            vec![of_kind(kind), What::Process(ended)]
        }
        _ => Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::micros;

    #[test]
    fn seconds_and_milliseconds_are_distinguished() {
        assert_eq!(micros(1_795_000_000.5), 1_795_000_000_500_000);
        assert_eq!(micros(1_795_000_000_500.0), 1_795_000_000_500_000);
    }
}
