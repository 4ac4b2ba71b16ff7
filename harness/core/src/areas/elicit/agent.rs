//! Area `elicit`: the elicitations of the agent.

use serde_json::Value;

use super::state::VisitState;
use crate::areas::common::is_own_value;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::CallSeen;
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::{Kind, escaped};
use crate::wire::{Members, RpcId};

pub(super) const CHECKS: &[Check] = &[
    Check::agent("elicit.scope", On::Call(scope)).alone().only(&[CREATE]),
    Check::agent("elicit.session-known", On::Call(session_known)).only(&[CREATE]),
    Check::agent("elicit.request-known", On::Call(request_known)).only(&[CREATE]),
    Check::agent("elicit.form.schema-flat", On::Call(form_flat)).alone().only(&[CREATE]),
    Check::agent("elicit.titled-items-no-type", On::Call(titled_items)).alone().only(&[CREATE]),
    Check::agent("elicit.url.fields", On::Call(url_absolute)).alone().only(&[CREATE]),
    Check::agent("elicit.url.id-unique", On::Call(url_id_unique)).only(&[CREATE]),
    Check::agent("elicit.form.no-links", On::Call(form_without_links)).alone().only(&[CREATE]),
    Check::agent("elicit.url.no-credentials", On::Call(url_without_credentials)).alone().only(&[CREATE]),
    Check::agent("elicit.url.https", On::Call(url_https)).alone().only(&[CREATE]),
    Check::agent("elicit.complete.id", On::Call(complete_id)).only(&[COMPLETE]),
    Check::agent("elicit.complete.notification", On::Call(complete_notification)).alone().only(&[COMPLETE]),
];

const CREATE: &str = "elicitation/create";
const COMPLETE: &str = "elicitation/complete";
/// The pointer of the id of a visit, in both methods.
const ID: &str = "/params/elicitationId";

/// An elicitation belongs either to a session or to a request.
///
/// Correct but unusual: a serializer that writes the other member as null.
fn scope(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let has = |name: &str| call.params.and_then(|params| params.member(name)).is_some_and(|value| !value.is_null());
    if call.method != CREATE {
        return;
    }
    match (has("sessionId"), has("requestId")) {
        (true, true) => ruling.fail(fact!(
            "two-scopes",
            "the agent sent {method} with a sessionId and a requestId; expected one of them",
            method = CREATE; pointer = "/params/requestId"
        )),
        // The table of shapes handles a request with neither.
        (true, false) | (false, true) => ruling.pass(),
        (false, false) => {}
    }
}

/// The client knows the session, and the tool call in it.
///
/// Correct but unusual: a session that the client forked by a draft or an extension, one that is just being created,
/// a tool call that the agent has not reported, and the session of a subagent.
fn session_known(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(id) = call.text_of(CREATE, "sessionId") else { return };
    let being_made = ctx.conversation.open_of(ctx.from.other()).any(|open| open.method == "session/new");
    match (ctx.conversation.session(id), call.text("toolCallId")) {
        (None, _) if ctx.conversation.children.contains_key(id) => ruling.pass(),
        (None, _) if being_made || ctx.conversation.may_know_session(id) => {}
        (None, _) => ruling.fail(fact!(
            "unknown-session",
            "the agent sent {method} for the session `{session_id}`; expected a session that the client knows",
            method = CREATE, session_id = id; pointer = "/params/sessionId"
        )),
        (Some(session), Some(tool)) if !session.tools.contains_key(tool) && !session.was_reopened => {
            // The agent may not have reported it, which v1 does not forbid here.
            ruling.inconclusive(fact!(
                "unreported-tool-call",
                "the agent sent {method} for the tool call `{tool_call_id}`, which it has not reported in the session",
                method = CREATE, tool_call_id = tool; session_id = id, pointer = "/params/toolCallId"
            ));
        }
        (Some(_), _) => ruling.pass(),
    }
}

/// The request is an open one of the client.
///
/// Correct but unusual: an agent that asks on behalf of a request that the client has cancelled but that is not
/// answered.
fn request_known(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let params = call.params.filter(|_| call.method == CREATE);
    let id = params.and_then(|params| params.given("requestId"));
    if let Some(id) = id {
        let open = ctx.conversation.open.contains_key(&(ctx.from.other(), RpcId::new(id)));
        ruling.decide(open, || {
            fact!(
                "unknown-request",
                "the agent sent {method} for the request {id}; expected an unanswered request of the client",
                method = CREATE, id; pointer = "/params/requestId"
            )
        });
    }
}

/// "Titled multi-select items use `anyOf` and omit `type`."
///
/// Correct but unusual: items with plain values, which have a type and an `enum`, and a type with an underscore, whose
/// other members are its own.
fn titled_items(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let form = call.params.filter(|_| call.method == CREATE).and_then(|params| params.member("requestedSchema"));
    let fields = form.and_then(|form| form.member("properties")).and_then(Value::as_object);
    for (name, field) in fields.into_iter().flatten() {
        let Some(items) = field.member("items").filter(|items| items.member("anyOf").is_some()) else { continue };
        let of_another_kind = |kind: &Value| kind.as_str().is_some_and(is_own_value) || items.member("enum").is_some();
        match items.member("type") {
            None => ruling.pass(),
            Some(kind) if of_another_kind(kind) => {}
            Some(_) => ruling.fail(fact!(
                "titled-items-with-type",
                "the agent requested a form whose field `{field}` has items with `anyOf` and a `type`; expected \
                no type",
                field = name; pointer = format!("/params/requestedSchema/properties/{}/items", escaped(name))
            )),
        }
    }
}

/// A form has flat fields; the schema allows types of later versions, but objects are not among them.
///
/// Correct but unusual: a form without fields, and fields of types that this edition does not know.
fn form_flat(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let form = call.params.filter(|_| call.method == CREATE).and_then(|params| params.member("requestedSchema"));
    let fields = form.and_then(|form| form.member("properties")).and_then(Value::as_object);
    for (name, field) in fields.into_iter().flatten() {
        if field.text("type") == Some("object") || field.given("properties").is_some() {
            ruling.fail(fact!(
                "nested-field",
                "the agent requested a form whose field `{field}` is an object; expected flat fields",
                field = name; pointer = format!("/params/requestedSchema/properties/{}", escaped(name))
            ));
        }
    }
}

/// Returns the URL of an elicitation.
fn url<'m>(call: &CallSeen<'m>) -> Option<&'m str> {
    call.text_of(CREATE, "mode").filter(|mode| *mode == "url").and_then(|_| call.text("url"))
}

/// Returns the scheme, and the part between the scheme and the path.
fn authority(url: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = url.split_once("://")?;
    Some((scheme, rest.split(['/', '?', '#']).next().unwrap_or_default()))
}

/// The url is a valid absolute one.
///
/// Correct but unusual: an agent that opens an installed app by a custom scheme, as in `com.example.app:/connect` (RFC
/// 8252, section 7.1), which has a dot and no `//`.
fn url_absolute(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(url) = url(call) else { return };
    let (scheme, rest) = url.split_once(':').unwrap_or_default();
    let named = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    // `localhost:8080` and `example.com:8080` could be read as schemes; a port after the colon shows a host.
    let is_host = rest.starts_with(|c: char| c.is_ascii_digit()) && (scheme.contains('.') || scheme == "localhost");
    let good = named && !is_host && !url.contains(' ');
    if !good {
        ruling.fail(fact!(
            "relative-url",
            "the agent sent the URL `{url}`; expected an absolute one",
            url; pointer = "/params/url"
        ));
    }
}

/// The url holds no "credentials, personal data or pre-authenticated access": no password before the host, at least.
///
/// Correct but unusual: a user name without a password, an `@` in the path or the query, and a parameter named `token`
/// with a random state.
fn url_without_credentials(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some((_, authority)) = url(call).and_then(authority) else { return };
    let secret = authority.rsplit_once('@').and_then(|(user, _)| user.split_once(':')).map(|(_, password)| password);
    ruling.decide(secret.is_none_or(str::is_empty), || {
        fact!(
            "password-in-url",
            "the agent sent a URL with a password before its host; expected a URL without credentials";
            pointer = "/params/url"
        )
    });
    let query = url(call).and_then(|url| url.split_once('?')).map_or("", |(_, query)| query);
    let names = query.split('&').map(|pair| pair.split('=').next().unwrap_or_default());
    for name in names.filter(|name| matches!(*name, "token" | "access_token" | "password" | "email" | "api_key")) {
        ruling.note(fact!(
            "secret-name-in-query",
            "the agent sent a URL whose query has the parameter `{name}`",
            name; pointer = "/params/url"
        ));
    }
}

/// The url uses https outside development.
fn url_https(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some((scheme, authority)) = url(call).and_then(authority) else { return };
    let host = authority.rsplit('@').next().unwrap_or_default();
    let local = ["localhost", "127.", "[::1]"].iter().any(|start| host.starts_with(start));
    match scheme {
        "https" => ruling.pass(),
        "http" if !local => ruling.fail(fact!(
            "plain-http",
            "the agent sent an http URL to `{host}`; expected https",
            host; pointer = "/params/url", actual = scheme, expected = "https"
        )),
        _ => {}
    }
}

/// "The Agent MUST keep each elicitationId unique among outstanding URL elicitations." The protocol does not require a
/// message when a visit ends, so it may be unknown whether one is outstanding.
///
/// Correct but unusual: an agent that requests the same visit again with the same id, after the first request was
/// answered.
fn url_id_unique(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(id) = url(call).and_then(|_| call.text("elicitationId")) else { return };
    let twin = ctx.conversation.open_of(ctx.from).find(|open| {
        open.method == CREATE && open.text("mode") == Some("url") && open.text("elicitationId") == Some(id)
    });
    match (twin, ctx.areas.elicit.state(id)) {
        (Some(twin), _) if twin.cancel_requested.is_none() => ruling.proved_by(&[twin.n]).fail(fact!(
            "duplicate-id",
            "the agent used the elicitationId `{elicitation_id}` of an unanswered request; expected a unique one",
            elicitation_id = id; pointer = ID
        )),
        (Some(twin), _) => ruling.proved_by(&[twin.n]).inconclusive(fact!(
            "id-of-cancelled-request",
            "the agent used the elicitationId `{elicitation_id}` of a request that it had cancelled",
            elicitation_id = id; pointer = ID
        )),
        (None, Some(VisitState::Agreed)) => ruling.inconclusive(fact!(
            "id-of-accepted-visit",
            "the agent used the elicitationId `{elicitation_id}` of an accepted visit, which may be completed",
            elicitation_id = id; pointer = ID
        )),
        // If no elicitation is outstanding, any id is unique.
        (None, _) if ctx.areas.elicit.any_outstanding() => ruling.pass(),
        (None, _) => {}
    }
}

/// "Agents SHOULD NOT include URLs intended to be clickable in any field of a form-mode request." A URL in plain text
/// may be an example; a link of Markdown or HTML is meant to be clicked.
fn form_without_links(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(params) = call.params.filter(|_| call.method == CREATE && call.text("mode") == Some("form")) else {
        return;
    };
    let mut texts = Vec::new();
    params
        .member("message")
        .into_iter()
        .chain(params.member("requestedSchema"))
        .for_each(|part| shown(part, &mut texts));
    let has = |marks: &[&str]| {
        texts.iter().find(|text| marks.iter().any(|mark| text.to_ascii_lowercase().contains(mark))).copied()
    };
    if let Some(text) = has(&["](http://", "](https://", "<a href"]) {
        ruling.fail(fact!(
            "link-in-form",
            "the agent sent a form with a link: {text}; expected a form without links",
            text
        ));
    } else if let Some(text) = has(&["http://", "https://"]) {
        ruling.inconclusive(fact!(
            "url-in-form",
            "the agent sent a form with a URL, which may be an example: {text}",
            text
        ));
    } else {
        ruling.pass();
    }
}

/// Collects the texts that a form shows, without the values to choose from.
fn shown<'v>(part: &'v Value, texts: &mut Vec<&'v str>) {
    match part {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| shown(item, texts)),
        Value::Object(members) => {
            let values = ["default", "const", "enum", "pattern", "_meta"];
            let said = members.iter().filter(|(name, _)| !values.contains(&name.as_str()));
            said.for_each(|(_, value)| shown(value, texts));
        }
        _ => {}
    }
}

/// `elicitation/complete` names a visit that the agent requested from this client.
///
/// Correct but unusual: an agent that was restarted, and reports an earlier visit in a session that the client loaded
/// or resumed: "the same Client that received the original request".
fn complete_id(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(id) = call.text_of(COMPLETE, "elicitationId") else { return };
    let visits = &ctx.areas.elicit;
    let called = |method: &str| ctx.conversation.has_sent(ctx.from.other(), method);
    let reopened = called("session/load") || called("session/resume");
    match visits.state(id) {
        Some(_) => ruling.pass(),
        None if reopened => ruling.inconclusive(fact!(
            "maybe-id-of-reopened-session",
            "the agent completed `{elicitation_id}`, which may belong to an earlier connection of a reopened \
            session",
            elicitation_id = id;
            pointer = ID
        )),
        None if ctx.conversation.initialize.is_some() && !visits.overflown => ruling.fail(fact!(
            "unknown-id",
            "the agent completed `{elicitation_id}`; expected the elicitationId of a visit that it requested",
            elicitation_id = id; pointer = ID
        )),
        None => ruling.inconclusive(fact!(
            "maybe-id-from-before-recording",
            "the agent completed `{elicitation_id}`, which it may have requested before the recording",
            elicitation_id = id; pointer = ID
        )),
    }
}

/// `elicitation/complete` is a notification.
///
/// Correct but unusual: an agent that sends it twice, or before the answer to its request.
fn complete_notification(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if call.method == COMPLETE {
        ruling.decide(call.kind == Kind::Notification, || {
            fact!(
                "request-for-notification",
                "the agent sent {method} as a request with the id {id}; expected a notification",
                method = COMPLETE, id = call.id.unwrap_or(&Value::Null); pointer = "/id"
            )
        });
    }
}
