//! Questions that the draft leaves open or answers in two ways: what programs do is noted, and never decided.

use super::state::{Asked, State};
use crate::areas::{Check, CheckContext, On, with};
use crate::conversation::Answer;
use crate::fact;
use crate::finding::{Fact, Ruling};
use crate::trace::{CONNECTION_ID, HttpEvent};

pub(super) const CHECKS: &[Check] = &[
    Check::agent("http.unknown-session-get", On::Http(with!(note, Asked::UnknownSessionStream))),
    Check::agent("http.batch-refused", On::Http(with!(note, Asked::List))),
    Check::agent("http.initialize-again", On::Http(with!(note, Asked::InitializeAgain))),
    Check::agent("http.delete-unknown", On::Http(with!(note, Asked::DeleteUnknown))),
    Check::agent("http.other-method", On::Http(with!(note, Asked::OtherMethod))),
    Check::agent("http.single-subscriber", On::Http(second_stream)),
    Check::agent("http.initialize-error", On::Http(initialize_error)),
    Check::agent("http.resume-response-route", On::Response(route_of_resumed))
        .only(&["session/load", "session/resume"]),
    Check::client("http.client-delete", On::Http(ends_connection)).alone(),
    Check::client("http.client-version-header", On::Http(names_version)).alone(),
];

/// Notes the status that such a request got.
fn note(ctx: &CheckContext<'_>, event: &HttpEvent, asked: Asked, ruling: &mut Ruling<'_>) {
    let HttpEvent::Response { exchange, status, .. } = event else { return };
    let state: &State = &ctx.areas.http;
    let sent = state.exchange(*exchange).filter(|sent| state.asked(ctx.conversation, sent) == Some(asked));
    if let Some(sent) = sent {
        let request = sent.words(asked);
        ruling.note(fact!("status", "the agent answered {request} with {status}", request, status));
    }
}

/// A second GET for an open stream.
fn second_stream(ctx: &CheckContext<'_>, event: &HttpEvent, ruling: &mut Ruling<'_>) {
    let HttpEvent::Response { exchange, status, .. } = event else { return };
    let state = &ctx.areas.http;
    let asked = |sent| state.asked(ctx.conversation, sent);
    let second = state.exchange(*exchange).filter(|sent| sent.scripted && asked(sent) == Some(Asked::ConnectionStream));
    if second.is_some() && state.all().any(|sent| sent.stream() == Some(None) && !sent.ended) {
        ruling.note(fact!("status", "the agent answered a second GET for an open stream with {status}", status));
    }
}

/// An `initialize` that the server cannot serve.
fn initialize_error(ctx: &CheckContext<'_>, event: &HttpEvent, ruling: &mut Ruling<'_>) {
    let HttpEvent::Response { exchange, status, headers, body, .. } = event else { return };
    let state = &ctx.areas.http;
    let failed = *status != 200 || body.as_ref().is_some_and(|body| body.contains("\"error\""));
    let sent = state.exchange(*exchange).filter(|sent| sent.scripted && failed);
    if sent.and_then(|sent| state.asked(ctx.conversation, sent)) == Some(Asked::Initialize) {
        let id = super::state::header(headers, CONNECTION_ID).map_or("without", |_| "with");
        ruling.note(fact!(
            "status",
            "the agent answered a wrong initialize with {status}, {id} Acp-Connection-Id",
            status,
            id
        ));
    }
}

fn route_of_resumed(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let stream = ctx.areas.http.carrying().and_then(|sent| sent.stream());
    let resumed = answer.exchange.filter(|asked| ["session/load", "session/resume"].contains(&asked.method.as_str()));
    let Some((exchange, stream)) = resumed.zip(stream) else { return };
    let place = stream.map_or("connection", |_| "session");
    ruling.note(fact!(
        "route",
        "the agent sent the answer to {method} on the stream of the {place}",
        method = exchange.method,
        place
    ));
}

fn ends_connection(_: &CheckContext<'_>, event: &HttpEvent, ruling: &mut Ruling<'_>) {
    if matches!(event, HttpEvent::Request { method, scripted: false, .. } if method == "DELETE") {
        ruling.note(Fact::holds());
    }
}

fn names_version(ctx: &CheckContext<'_>, event: &HttpEvent, ruling: &mut Ruling<'_>) {
    let HttpEvent::Request { headers, message, scripted: false, .. } = event else { return };
    if ctx.areas.http.id.is_none() || message.as_ref().is_none_or(|message| message.method.is_none()) {
        return;
    }
    match super::state::header(headers, "acp-protocol-version") {
        Some(_) => ruling.note(Fact::holds()),
        None => ruling.note(fact!("no-version", "the client sends no Acp-Protocol-Version")),
    }
}
