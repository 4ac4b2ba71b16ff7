//! Area `elicit`: what a trace shows of elicitations; how their answers are used shows elsewhere.

use serde_json::Value;

use crate::judge::check::{Check, On};
use crate::judge::moment::{CallSeen, Moment};
use crate::judge::ruling::Ruling;
use crate::protocol::Kind;
use crate::wire::RpcId;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("elicit.form-gate", On::Call(form_gate)),
    Check::agent("elicit.url-gate", On::Call(url_gate)),
    Check::agent("elicit.scope", On::Call(scope)),
    Check::agent("elicit.session-known", On::Call(session_known)),
    Check::agent("elicit.request-known", On::Call(request_known)),
    Check::agent("elicit.form.schema-flat", On::Call(form_flat)),
    Check::agent("elicit.url.fields", On::Call(url_absolute)),
    Check::agent("elicit.url.no-credentials", On::Call(url_without_credentials)),
    Check::agent("elicit.url.https", On::Call(url_https)),
    Check::agent("elicit.complete.notification", On::Call(complete_notification)),
];

const CREATE: &str = "elicitation/create";

/// A form is asked for only where `elicitation.form` was advertised; an empty `elicitation` object is no such support.
fn form_gate(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    decide_gate(moment, call, "form", ruling);
}

/// A visit to a URL is asked for only where `elicitation.url` was advertised.
fn url_gate(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    decide_gate(moment, call, "url", ruling);
}

/// Fails the mode that the client lacks, and passes the choice of the other one.
fn decide_gate(moment: &Moment<'_>, call: &CallSeen<'_>, mode: &str, ruling: &mut Ruling<'_>) {
    let (CREATE, Some(used), Some((n, _))) = (call.method, call.text("mode"), &moment.talk.initialize) else { return };
    if !moment.talk.client_lacks(&["elicitation", mode]) || moment.talk.deliberate.contains(n) {
        return;
    }
    if used == mode {
        ruling.fail(format!("a {mode} was asked for, and the client did not advertise elicitation.{mode}"), &[*n]);
    } else {
        ruling.pass();
    }
}

/// An elicitation belongs either to a session or to a request.
fn scope(_: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let has = |name: &str| call.params.and_then(|params| params.get(name)).is_some_and(|value| !value.is_null());
    match (call.method, has("sessionId"), has("requestId")) {
        (CREATE, true, true) => ruling.fail("the elicitation has a sessionId and a requestId", &[]),
        // Neither of them is missing in the table of shapes.
        (CREATE, true, false) | (CREATE, false, true) => ruling.pass(),
        _ => {}
    }
}

/// The session, and the tool call in it, are known to the client.
fn session_known(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let (CREATE, Some(id)) = (call.method, call.text("sessionId")) else { return };
    let being_made = moment.talk.open_of(moment.from.other()).any(|open| open.method == "session/new");
    match (moment.talk.session(id), call.text("toolCallId")) {
        (None, _) if being_made || moment.talk.initialize.is_none() || moment.talk.invented_sessions.contains(id) => {}
        (None, _) => ruling.fail(format!("the client knows no session `{id}`"), &[]),
        (Some(session), Some(tool)) if !session.tools.contains_key(tool) && !session.was_reopened => {
            ruling.fail(format!("the session `{id}` has no tool call `{tool}`"), &[]);
        }
        (Some(_), _) => ruling.pass(),
    }
}

/// The request is one of the client's that waits for its answer.
fn request_known(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let id = call.params.and_then(|params| params.get("requestId")).filter(|id| call.method == CREATE && !id.is_null());
    if let Some(id) = id {
        let open = moment.talk.open.contains_key(&(moment.from.other(), RpcId::new(id)));
        ruling.decide(open, || format!("no request of the client with the id {id} is in progress"));
    }
}

/// A form has flat fields; the schema leaves room for types of later versions, and an object is none of them.
fn form_flat(_: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let form = call.params.filter(|_| call.method == CREATE).and_then(|params| params.get("requestedSchema"));
    let fields = form.and_then(|form| form.get("properties")).and_then(Value::as_object);
    for (name, field) in fields.into_iter().flatten() {
        if field.get("type").and_then(Value::as_str) == Some("object") || field.get("properties").is_some() {
            ruling.fail(format!("the field `{name}` of the form is an object"), &[]);
        }
    }
}

/// The URL of an elicitation.
fn url<'m>(call: &CallSeen<'m>) -> Option<&'m str> {
    let elicits = call.method == CREATE && call.text("mode") == Some("url");
    call.text("url").filter(|_| elicits)
}

/// What stands between the scheme and the path, with the scheme.
fn authority(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    Some((scheme, rest.split(['/', '?', '#']).next().unwrap_or_default()))
}

/// The url is a valid absolute one.
fn url_absolute(_: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(url) = url(call) else { return };
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    let named = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    // `localhost:8080` would be a scheme too, and is a host without one.
    let good = named && (url.contains("://") || !scheme.contains('.') && scheme != "localhost") && !url.contains(' ');
    if !good {
        ruling.fail(format!("the url `{url}` is not absolute"), &[]);
    }
}

/// The url holds no "credentials, personal data or pre-authenticated access": no password before the host, at least.
fn url_without_credentials(_: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some((_, authority)) = url(call).and_then(authority) else { return };
    let secret = authority.rsplit_once('@').and_then(|(user, _)| user.split_once(':')).map(|(_, password)| password);
    ruling.decide(secret.is_none_or(str::is_empty), || "the url holds a password before its host".to_owned());
    let query = url(call).and_then(|url| url.split_once('?')).map_or("", |(_, query)| query);
    let names = query.split('&').map(|pair| pair.split('=').next().unwrap_or_default());
    for name in names.filter(|name| matches!(*name, "token" | "access_token" | "password" | "email" | "api_key")) {
        ruling.note(format!("the query of the url has the name `{name}`"));
    }
}

/// The url uses https outside development.
fn url_https(_: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some((scheme, authority)) = url(call).and_then(authority) else { return };
    let host = authority.rsplit('@').next().unwrap_or_default();
    let local = ["localhost", "127.", "[::1]"].iter().any(|start| host.starts_with(start));
    match scheme {
        "https" => ruling.pass(),
        "http" if !local => ruling.fail(format!("the url leads to `{host}` by http"), &[]),
        _ => {}
    }
}

/// `elicitation/complete` is a notification.
fn complete_notification(_: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if call.method == "elicitation/complete" {
        let id = call.id.unwrap_or(&Value::Null);
        ruling
            .decide(call.kind == Kind::Notification, || format!("elicitation/complete has the id {id}, as a request"));
    }
}
