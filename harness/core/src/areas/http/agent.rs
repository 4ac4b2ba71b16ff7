//! The duties of a server.

use std::time::Duration;

use super::state::{Asked, Sent, header, is_media_type};
use crate::areas::{Check, CheckContext, On, with};
use crate::conversation::timing::{LATE_RESPONSE, STREAM_KNOWN, between};
use crate::conversation::{Answer, CallSeen, LineSeen};
use crate::fact;
use crate::finding::Ruling;
use crate::requirement::Party;
use crate::trace::{CONNECTION_ID, HttpEvent, SESSION_ID};
use crate::wire::{Content, Envelope, RpcId};

pub(super) const CHECKS: &[Check] = &[
    Check::agent("http.initialize-200", On::Http(initialize)).alone(),
    Check::agent("http.initialize-200", On::Response(initialized)).alone().only(&["initialize"]),
    Check::agent("http.connection-header", On::Response(connection_header)).alone().only(&["initialize"]),
    Check::agent("http.connection-header", On::Http(second_connection)),
    Check::agent("http.post-202", On::Http(accepted)).alone(),
    Check::agent("http.post-202", On::Message(answer_in_body)),
    Check::agent("http.post-202", On::End(never_accepted)),
    Check::agent("http.connection-stream", On::Response(on_connection_stream)).alone(),
    Check::agent("http.connection-stream", On::Http(opened_connection_stream)),
    Check::agent("http.session-stream", On::Response(answer_on_session_stream)).alone(),
    Check::agent("http.session-stream", On::Call(call_on_session_stream)).alone(),
    Check::agent("http.content-type-415", On::Http(with!(status, Asked::OtherContent, 415))).alone(),
    Check::agent("http.accept-406", On::Http(with!(status, Asked::OtherAccept, 406))).alone(),
    Check::agent("http.missing-connection-400", On::Http(with!(status, Asked::NoConnection, 400))).alone(),
    Check::agent("http.unknown-connection-404", On::Http(with!(status, Asked::UnknownConnection, 404))),
    Check::agent("http.session-header-required", On::Http(with!(status, Asked::NoSession, 400))).alone(),
    Check::agent("http.header-mismatch", On::Http(with!(status, Asked::OtherSession, 400))).alone(),
    Check::agent("http.delete-202", On::Http(accepted_delete)).alone(),
    Check::agent("http.delete-202", On::Http(deleted)),
    Check::agent("http.delete-202", On::End(outlived)),
    Check::agent("http.sse-framing", On::Line(one_message)),
    Check::agent("http.h2", On::Http(speaks_http2)),
    Check::agent("http.ws-upgrade", On::Http(upgraded)),
    Check::agent("http.ws-text-frames", On::Http(binary_frame)),
    Check::agent("http.ws-text-frames", On::Message(after_binary_frame)),
];

/// A response, its request, and what that asked for.
struct Exchange<'e> {
    sent: &'e Sent,
    asked: Asked,
    status: u16,
    headers: &'e [(String, String)],
    body: Option<&'e str>,
    version: &'e str,
}

/// Returns the exchange that a response ends.
fn exchange<'e>(ctx: &CheckContext<'e>, event: &'e HttpEvent) -> Option<Exchange<'e>> {
    let HttpEvent::Response { exchange, status, version, headers, body } = event else { return None };
    let sent = ctx.areas.http.exchange(*exchange)?;
    let asked = ctx.areas.http.asked(ctx.conversation, sent)?;
    Some(Exchange { sent, asked, status: *status, headers, body: body.as_deref(), version })
}

/// Whether a status is about the way to the server, such as a missing login or a busy gateway, rather than the request.
fn is_on_the_way(status: u16) -> bool {
    matches!(status, 300..=399 | 401 | 403 | 407 | 408 | 429 | 502..=504)
}

/// Decides by the status of the response to such a request.
///
/// Correct but unusual: a body with details, and another status because of a missing login or a busy gateway.
fn status(ctx: &CheckContext<'_>, event: &HttpEvent, asked: Asked, expected: u16, ruling: &mut Ruling<'_>) {
    let Some(found) = exchange(ctx, event).filter(|found| found.asked == asked) else { return };
    if found.status == expected { ruling.pass() } else { wrong_status(&found, expected, ruling) }
}

fn wrong_status(found: &Exchange<'_>, expected: u16, ruling: &mut Ruling<'_>) {
    let fact = fact!(
        "status",
        "the agent answered {request} with the status {status}; expected {expected}",
        request = found.sent.words(found.asked),
        status = found.status,
        expected
    );
    ruling.proved_by(&[found.sent.n]).fail_unless(is_on_the_way(found.status), fact);
}

/// "`initialize` returns 200 with JSON body."
///
/// Correct but unusual: an error of JSON-RPC in that body, and a charset of the content type.
fn initialize(ctx: &CheckContext<'_>, event: &HttpEvent, ruling: &mut Ruling<'_>) {
    let Some(found) = exchange(ctx, event).filter(|found| found.asked == Asked::Initialize) else { return };
    // A server may refuse by a status what violates the protocol on purpose.
    if !ctx.conversation.deliberate.is_empty() || found.sent.scripted {
        return;
    }
    if found.status != 200 {
        return wrong_status(&found, 200, ruling);
    }
    let kind = header(found.headers, "content-type");
    if !is_media_type(kind, "application/json") {
        let kind = kind.unwrap_or("none");
        return ruling.proved_by(&[found.sent.n]).fail(fact!(
            "content-type",
            "the agent answered the POST of initialize with the content type {kind}; expected application/json",
            kind
        ));
    }
    if let Some(body) = found.body {
        ruling.proved_by(&[found.sent.n]).fail(fact!(
            "not-a-message",
            "the body of the agent's response to the POST of initialize is not a JSON-RPC message: {body}",
            body
        ));
    }
}

/// Only the message in the body shows that it is complete.
fn initialized(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let carrying = ctx.areas.http.carrying().filter(|sent| sent.method == "POST");
    let Some((status, headers)) = carrying.and_then(|sent| sent.response.as_ref()) else { return };
    let is_json = is_media_type(header(headers, "content-type"), "application/json");
    if answer.exchange.is_some_and(|exchange| exchange.method == "initialize") && *status == 200 && is_json {
        ruling.pass();
    }
}

/// "The `Acp-Connection-Id` is also included in the response header."
///
/// Correct but unusual: an id in the body as well, and none for an `initialize` that fails.
fn connection_header(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let state = &ctx.areas.http;
    let Some((_, sent)) = answer.result_of("initialize").zip(state.carrying()) else { return };
    let Some((_, headers)) = sent.response.as_ref().filter(|_| sent.method == "POST") else { return };
    match header(headers, CONNECTION_ID) {
        None | Some("") => {
            let fact = fact!("no-connection-id", "the response to initialize has no header Acp-Connection-Id");
            ruling.proved_by(&[sent.n]).fail(fact);
        }
        Some(_) => ruling.pass(),
    }
}

/// A second connection to the same process has an id of its own.
fn second_connection(ctx: &CheckContext<'_>, event: &HttpEvent, ruling: &mut Ruling<'_>) {
    let Some(found) = exchange(ctx, event).filter(|found| found.asked == Asked::Initialize) else { return };
    let id = header(found.headers, CONNECTION_ID).filter(|_| found.sent.scripted && found.status == 200);
    if let Some(id) = id.filter(|id| Some(*id) == ctx.areas.http.id.as_deref()) {
        ruling.proved_by(&[found.sent.n]).fail(fact!(
            "repeated-connection-id",
            "the agent gave two connections the Acp-Connection-Id {id}",
            id
        ));
    }
}

/// "All others return 202 Accepted immediately", with an empty body.
///
/// Correct but unusual: a message that the server refuses by a status, which others decide.
fn accepted(ctx: &CheckContext<'_>, event: &HttpEvent, ruling: &mut Ruling<'_>) {
    let Some(found) = exchange(ctx, event).filter(|found| found.asked == Asked::Message) else { return };
    if !(200..300).contains(&found.status) {
        return;
    }
    if found.status != 202 {
        return wrong_status(&found, 202, ruling);
    }
    if let Some(body) = found.body {
        let request = found.sent.words(found.asked);
        return ruling.proved_by(&[found.sent.n]).fail(fact!(
            "body",
            "the agent accepted {request} with a body; expected none: {body}",
            request,
            body
        ));
    }
    match found.sent.effect.filter(|(_, us)| between(*us, ctx.us) >= LATE_RESPONSE) {
        Some((n, _)) => ruling.proved_by(&[found.sent.n, n]).fail(late(found.sent, between(found.sent.us, ctx.us))),
        None => ruling.pass(),
    }
}

fn late(sent: &Sent, after: Duration) -> crate::finding::Fact {
    fact!(
        "late",
        "the agent accepted {request} only after {after_ms}, while it already worked on it; expected 202 at once",
        request = sent.words(Asked::Message),
        after_ms = after.as_millis()
    )
}

fn answer_in_body(ctx: &CheckContext<'_>, _: &serde_json::Value, _: Envelope<'_>, ruling: &mut Ruling<'_>) {
    let Some(sent) = ctx.areas.http.carrying().filter(|_| ctx.from == Party::Agent) else { return };
    if sent.method == "POST" && ctx.areas.http.asked(ctx.conversation, sent) == Some(Asked::Message) {
        let request = sent.words(Asked::Message);
        ruling.proved_by(&[sent.n]).fail(fact!(
            "message-in-body",
            "the agent sent a message in the body of its response to {request}; expected it on a stream",
            request
        ));
    }
}

fn never_accepted(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let state = &ctx.areas.http;
    for sent in state.all().filter(|sent| sent.method == "POST" && sent.response.is_none() && !sent.ended) {
        let asked = state.asked(ctx.conversation, sent);
        if let Some((n, _)) =
            sent.effect.filter(|(_, us)| between(*us, ctx.us) >= LATE_RESPONSE && asked == Some(Asked::Message))
        {
            ruling.proved_by(&[sent.n, n]).fail(late(sent, between(sent.us, ctx.us)));
        }
    }
}

/// The answers of session/new and of requests that name no session come on the stream of the connection.
///
/// Correct but unusual: the answers of session/load and session/resume, for which the draft names both streams.
fn on_connection_stream(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(sent) = ctx.areas.http.carrying() else { return };
    let named = answer.exchange.filter(|exchange| exchange.session().is_none() && exchange.method != "initialize");
    let Some((exchange, stream)) = named.zip(sent.stream()) else { return };
    match stream {
        None => ruling.pass(),
        Some(session) => ruling.proved_by(&[exchange.n, sent.n]).fail(fact!(
            "on-session-stream",
            "the agent sent the answer to {method} on the stream of the session {session}; expected it on the \
            stream of the connection",
            method = exchange.method,
            session
        )),
    }
}

/// The stream of the connection can be opened.
///
/// Correct but unusual: a second stream, a charset of the content type, and a refusal once the connection has ended.
fn opened_connection_stream(ctx: &CheckContext<'_>, event: &HttpEvent, ruling: &mut Ruling<'_>) {
    let found = exchange(ctx, event).filter(|found| found.asked == Asked::ConnectionStream && !found.sent.scripted);
    let Some(found) = found else { return };
    let is_open = ctx.areas.http.all().any(|sent| sent.stream() == Some(None));
    if is_open || ctx.areas.http.deleted.is_some() {
        return;
    }
    if found.status != 200 {
        return wrong_status(&found, 200, ruling);
    }
    let kind = header(found.headers, "content-type");
    if !is_media_type(kind, "text/event-stream") {
        let kind = kind.unwrap_or("none");
        ruling.proved_by(&[found.sent.n]).fail(fact!(
            "content-type",
            "the agent opened the stream of the connection with the content type {kind}; expected text/event-stream",
            kind
        ));
    }
}

/// The requests whose answers belong to a session that is open.
const IN_SESSION: [&str; 3] = ["session/prompt", "session/set_mode", "session/set_config_option"];

fn answer_on_session_stream(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let asked = answer.exchange.filter(|exchange| IN_SESSION.contains(&exchange.method.as_str()));
    let Some((exchange, session)) = asked.and_then(|exchange| Some((exchange, exchange.session()?))) else { return };
    let what = format!("the answer to {}", exchange.method);
    // A request that the client sent before it got the response to its GET may have reached the agent first.
    let is_known = |own: &Sent| own.answered.is_some_and(|n| n < exchange.n);
    on_session_stream(ctx, &what, session, is_known, ruling);
}

fn call_on_session_stream(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(session) = call.text("sessionId") {
        on_session_stream(ctx, call.method, session, |own| between(own.us, ctx.us) > STREAM_KNOWN, ruling);
    }
}

/// "The session-scoped stream … carries all messages for a single session."
///
/// Correct but unusual: a message before the server knows of that stream, and those of a subagent's session, which has
/// none.
fn on_session_stream(
    ctx: &CheckContext<'_>,
    what: &str,
    session: &str,
    is_known: impl Fn(&Sent) -> bool,
    ruling: &mut Ruling<'_>,
) {
    let state = &ctx.areas.http;
    let Some((sent, stream)) = state.carrying().and_then(|sent| Some((sent, sent.stream()?))) else { return };
    if stream == Some(session) {
        return ruling.pass();
    }
    let own = state.all().find(|open| !open.scripted && !open.ended && open.stream() == Some(Some(session)));
    let is_child = ctx.conversation.children.contains_key(session);
    let Some(own) = own.filter(|own| is_known(own) && !is_child) else { return };
    let place = stream.map_or_else(|| "the connection".to_owned(), |other| format!("the session {other}"));
    ruling.proved_by(&[own.n, sent.n]).fail(fact!(
        "other-stream",
        "the agent sent {what} of the session {session} on the stream of {place}; expected it on that of its session",
        what,
        session,
        place
    ));
}

/// "DELETE … Terminate connection and all associated sessions, return 202."
fn accepted_delete(ctx: &CheckContext<'_>, event: &HttpEvent, ruling: &mut Ruling<'_>) {
    // A second DELETE may have been sent before the response to the first.
    let first = exchange(ctx, event).filter(|found| found.asked == Asked::Delete && ctx.areas.http.deleted.is_none());
    // Where the recording may lack requests, the connection may have ended before.
    let is_refused = |found: &Exchange<'_>| found.status == 404 && ctx.conversation.holes.anywhere;
    if let Some(found) = first.filter(|found| found.status != 202 && !is_refused(found)) {
        wrong_status(&found, 202, ruling);
    }
}

/// Its streams end, and it is unknown from then on.
fn deleted(ctx: &CheckContext<'_>, event: &HttpEvent, ruling: &mut Ruling<'_>) {
    status(ctx, event, Asked::EndedConnection, 404, ruling);
    if let HttpEvent::Ended { exchange, .. } = event
        && ctx.areas.http.deleted.is_some()
        && ctx.areas.http.exchange(*exchange).is_some_and(|sent| sent.stream() == Some(None))
    {
        ruling.pass();
    }
}

fn outlived(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let state = &ctx.areas.http;
    let Some((n, _)) = state.deleted.filter(|(_, us)| between(*us, ctx.us) >= LATE_RESPONSE) else { return };
    if let Some(open) = state.all().find(|sent| !sent.scripted && !sent.ended && sent.stream().is_some()) {
        let of = open.header(SESSION_ID).map_or("the connection", |_| "a session");
        ruling.proved_by(&[n, open.n]).fail(fact!(
            "stream-open",
            "the stream of {of} stayed open after the DELETE of the connection",
            of
        ));
    }
}

/// Each event of a stream is one JSON-RPC object.
///
/// Correct but unusual: line breaks between the parts of an object, and comments and other fields of an event.
fn one_message(ctx: &CheckContext<'_>, line: &LineSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(sent) = ctx.areas.http.announced().filter(|sent| sent.stream().is_some()) else { return };
    match line.content {
        Content::One { value, .. } if value.is_object() => ruling.pass(),
        Content::Blank | Content::NotUtf8(_) => {}
        _ => {
            let fact = fact!("not-one-message", "an event of the agent's stream is not one JSON-RPC object");
            ruling.proved_by(&[sent.n]).fail(fact);
        }
    }
}

/// "HTTP/2 is REQUIRED for Streamable HTTP transport."
///
/// Correct but unusual: a server behind a proxy that speaks HTTP/2, so this decides nothing by itself.
fn speaks_http2(ctx: &CheckContext<'_>, event: &HttpEvent, ruling: &mut Ruling<'_>) {
    let Some(found) = exchange(ctx, event).filter(|found| !found.sent.scripted) else { return };
    ruling.decide(found.version.starts_with("HTTP/2"), || {
        fact!("older-version", "the agent answers with {version}; expected HTTP/2", version = found.version)
    });
}

/// "The `Acp-Connection-Id` is returned in the upgrade response headers."
///
/// Correct but unusual: a refusal, which may be due to the address.
fn upgraded(ctx: &CheckContext<'_>, event: &HttpEvent, ruling: &mut Ruling<'_>) {
    let Some(found) = exchange(ctx, event).filter(|found| found.asked == Asked::Upgrade) else { return };
    if found.status != 101 {
        return ruling.proved_by(&[found.sent.n]).inconclusive(fact!(
            "not-upgraded",
            "the agent answered the GET for a WebSocket with {status}",
            status = found.status
        ));
    }
    ruling.decide(header(found.headers, CONNECTION_ID).is_some_and(|id| !id.is_empty()), || {
        fact!("no-connection-id", "the response to the upgrade has no header Acp-Connection-Id")
    });
}

/// "All messages are WebSocket text frames containing JSON-RPC. Binary frames are ignored."
fn binary_frame(ctx: &CheckContext<'_>, event: &HttpEvent, ruling: &mut Ruling<'_>) {
    match event {
        HttpEvent::Frame { by_server: true, kind, .. } if kind == "binary" => {
            ruling.fail(fact!("binary", "the agent sent a binary frame; expected only text frames"));
        }
        HttpEvent::Ended { .. } => {
            let last = ctx.areas.http.binary.last().filter(|_| ctx.conversation.shutting_down.is_none());
            let heard = ctx.conversation.last_line.get(&Party::Agent).map_or(0, |(n, _)| *n);
            if let Some((n, _)) = last.filter(|(n, _)| *n > heard) {
                ruling.proved_by(&[*n]).fail(fact!(
                    "ended",
                    "the agent ended the connection after a binary frame; expected it to be ignored"
                ));
            }
        }
        _ => {}
    }
}

fn after_binary_frame(ctx: &CheckContext<'_>, _: &serde_json::Value, envelope: Envelope<'_>, ruling: &mut Ruling<'_>) {
    let Envelope::Response { id: Some(id), .. } = envelope else { return };
    let id = RpcId::new(id);
    let frames = &ctx.areas.http.binary;
    if let Some((n, _)) = frames.iter().find(|(_, of)| of.as_ref() == Some(&id)) {
        return ruling.proved_by(&[*n]).fail(fact!(
            "binary-answered",
            "the agent answered a request in a binary frame; expected it to be ignored"
        ));
    }
    // The server has read the frame before this request.
    let asked = ctx.conversation.open.get(&(Party::Client, id)).map(|exchange| exchange.n);
    if frames.iter().any(|(n, _)| asked.is_some_and(|asked| asked > *n)) {
        ruling.pass();
    }
}
