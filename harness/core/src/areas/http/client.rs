//! The duties of a client.

use super::state::Sent;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::timing::{LATE_RESPONSE, between};
use crate::fact;
use crate::finding::Ruling;
use crate::requirement::Party;
use crate::trace::{CONNECTION_ID, HttpEvent, Posted, SESSION_ID};
use crate::wire::RpcId;

pub(super) const CHECKS: &[Check] = &[
    Check::client("http.client-headers", On::Http(names_connection_and_session)).alone(),
    Check::client("http.client-response-header", On::Http(names_session_in_answers)).alone(),
    Check::client("http.client-streams", On::Http(opens_stream)).alone(),
    Check::client("http.client-streams", On::End(opened_no_stream)),
    Check::client("http.client-negotiation", On::Http(negotiates)).alone(),
    Check::client("http.client-cookies", On::Http(returns_cookies)),
];

/// A request of the client.
struct Request<'e> {
    method: &'e str,
    headers: &'e [(String, String)],
    message: Option<&'e Posted>,
}

impl Request<'_> {
    fn header(&self, name: &str) -> Option<&str> {
        super::state::header(self.headers, name)
    }

    fn called(&self) -> Option<&str> {
        self.message?.method.as_deref()
    }

    /// Describes it.
    fn words(&self) -> String {
        match (self.called(), self.method) {
            (Some(called), _) => format!("the POST of {called}"),
            (None, "POST") => "the POST of an answer".to_owned(),
            (None, method) => format!("a {method}"),
        }
    }
}

/// Returns the request of an event, if it belongs to an open connection of Streamable HTTP.
fn request<'e>(ctx: &CheckContext<'_>, event: &'e HttpEvent) -> Option<Request<'e>> {
    let HttpEvent::Request { method, headers, message, scripted: false, .. } = event else { return None };
    let known = ["POST", "GET", "DELETE"].contains(&method.as_str()) && ctx.areas.http.id.is_some();
    let request = Request { method, headers, message: message.as_ref() };
    // Another connection begins.
    let starts = request.called() == Some("initialize") && request.header(CONNECTION_ID).is_none();
    (known && request.header("upgrade").is_none() && !starts).then_some(request)
}

/// The requests that name a session which the connection may not know yet.
const OPENING: [&str; 4] = ["session/load", "session/resume", "session/fork", "session/delete"];

/// "Required on all HTTP requests after `initialize` …", and "on all session-scoped POST requests".
///
/// Correct but unusual: session/load without the header of its session, since the draft contradicts itself about it.
fn names_connection_and_session(ctx: &CheckContext<'_>, event: &HttpEvent, ruling: &mut Ruling<'_>) {
    let Some(request) = request(ctx, event) else { return };
    let words = request.words();
    match request.header(CONNECTION_ID) {
        None => {
            return ruling.fail(fact!("no-connection", "the client sent {words} without Acp-Connection-Id", words));
        }
        Some(id) if Some(id) != ctx.areas.http.id.as_deref() => {
            return ruling.fail(fact!(
                "other-connection",
                "the client sent {words} with another Acp-Connection-Id",
                words
            ));
        }
        Some(_) => {}
    }
    let scoped = request.called().is_some_and(|called| called.starts_with("session/") && !OPENING.contains(&called));
    let session = request.message.and_then(|message| message.session_id.as_deref()).filter(|_| scoped);
    match (session, request.header(SESSION_ID)) {
        (Some(session), None) => ruling.fail(fact!(
            "no-session",
            "the client sent {words} for the session {session} without Acp-Session-Id",
            words,
            session
        )),
        (Some(session), Some(named)) if named != session => ruling.fail(fact!(
            "other-session",
            "the client sent {words} for the session {session} with the Acp-Session-Id {named}",
            words,
            session,
            named
        )),
        (Some(_), Some(_)) => ruling.pass(),
        (None, _) => {}
    }
}

/// "Required on all session-scoped POST requests (`session/prompt`, `session/cancel`, permission responses, etc.)"
///
/// Correct but unusual: none for the session of a subagent, which has no stream.
fn names_session_in_answers(ctx: &CheckContext<'_>, event: &HttpEvent, ruling: &mut Ruling<'_>) {
    let Some(request) = request(ctx, event) else { return };
    let answer = request.message.filter(|message| message.method.is_none()).and_then(|message| message.id.as_ref());
    let Some(asked) = answer.and_then(|id| ctx.conversation.open.get(&(Party::Agent, RpcId::new(id)))) else { return };
    let is_child = |session: &&str| ctx.conversation.children.contains_key(*session);
    let Some(session) = asked.session().filter(|session| !is_child(session)) else { return };
    ruling.decide(request.header(SESSION_ID) == Some(session), || {
        fact!(
            "no-session",
            "the client answered {method} of the session {session} without its Acp-Session-Id",
            method = asked.method,
            session
        )
    });
}

/// A stream of the connection, and one for each session.
fn opens_stream(ctx: &CheckContext<'_>, event: &HttpEvent, ruling: &mut Ruling<'_>) {
    let Some(request) = request(ctx, event) else { return };
    if request.method == "GET" && request.header(SESSION_ID).is_some() {
        ruling.pass();
    }
}

/// Correct but unusual: the stream of a session that is opened only after its prompt.
fn opened_no_stream(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let state = &ctx.areas.http;
    let is_open = |session: Option<&str>| state.all().any(|sent| sent.stream() == Some(session));
    let waits = |sent: &&Sent| sent.method == "POST" && between(sent.us, ctx.us) >= LATE_RESPONSE;
    for sent in state.all().filter(waits) {
        match (sent.called(), sent.session()) {
            (Some("session/new"), _) if !is_open(None) => ruling.proved_by(&[sent.n]).fail(fact!(
                "no-connection-stream",
                "the client sent session/new and opened no stream of the connection"
            )),
            (Some("session/prompt"), Some(session)) if !is_open(Some(session)) => {
                ruling.proved_by(&[sent.n]).fail(fact!(
                    "no-session-stream",
                    "the client sent session/prompt for the session {session} and opened no stream of it",
                    session
                ));
            }
            _ => {}
        }
    }
}

/// "POST `Content-Type` MUST be `application/json`", and "GET `Accept` MUST include `text/event-stream`".
///
/// Correct but unusual: a charset, and further kinds that the client accepts.
fn negotiates(_: &CheckContext<'_>, event: &HttpEvent, ruling: &mut Ruling<'_>) {
    let HttpEvent::Request { method, headers, scripted: false, .. } = event else { return };
    let request = Request { method, headers, message: None };
    match method.as_str() {
        "POST" => {
            let kind = request.header("content-type");
            ruling.decide(super::state::is_media_type(kind, "application/json"), || {
                let kind = kind.unwrap_or("none");
                fact!(
                    "content-type",
                    "the client sent a POST with the content type {kind}; expected application/json",
                    kind
                )
            });
        }
        "GET" if request.header("upgrade").is_none() => {
            let kinds = request.header("accept").unwrap_or_default();
            ruling.decide(kinds.to_ascii_lowercase().contains("text/event-stream"), || {
                fact!("accept", "the client sent a GET that accepts `{kinds}`; expected text/event-stream", kinds)
            });
        }
        _ => {}
    }
}

/// "Cookies MUST be sent on subsequent requests to the server for the duration of the connection."
fn returns_cookies(ctx: &CheckContext<'_>, event: &HttpEvent, ruling: &mut Ruling<'_>) {
    let Some(request) = request(ctx, event).filter(|_| !ctx.areas.http.cookies.is_empty()) else { return };
    let returned: Vec<&str> = request.header("cookie").into_iter().flat_map(|names| names.split("; ")).collect();
    let missing = ctx.areas.http.cookies.iter().find(|name| !returned.contains(&name.as_str()));
    ruling.decide(missing.is_none(), || {
        fact!(
            "cookie-dropped",
            "the client sent {words} without the cookie {name} that the agent had set",
            words = request.words(),
            name = missing
        )
    });
}
