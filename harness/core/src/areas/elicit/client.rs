//! The client's half of the area `elicit`: its answers to elicitations.

use serde_json::Value;

use super::form::{departure, required};
use crate::areas::common::{BAD_PARAMS, NO_METHOD, WITHDRAWN, proper};
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Answer, Exchange, Outcome};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::Feature;
use crate::wire::{Members, RpcId};

pub(super) const CHECKS: &[Check] = &[
    Check::client("elicit.implemented", On::Response(implemented)).only(&[CREATE]),
    Check::client("elicit.unadvertised-mode", On::Response(unadvertised_mode)).only(&[CREATE]),
    Check::client("elicit.unknown-mode", On::Response(unknown_mode)).only(&[CREATE]),
    Check::client("elicit.content-conforms", On::Response(content_conforms)).alone().only(&[CREATE]),
];

const CREATE: &str = "elicitation/create";
const FORM: &str = "CreateElicitationRequest";
const MODES: [&str; 2] = ["form", "url"];

/// Returns the request and its mode.
fn asked<'m>(answer: &Answer<'m>) -> Option<(&'m Exchange, &'m str)> {
    let request = answer.exchange.filter(|exchange| exchange.method == CREATE)?;
    Some((request, request.text("mode")?))
}

/// The client serves an advertised mode; errors other than -32601 may be caused by the request. Invalid params are not
/// the cause if the schema defines all of a form.
///
/// Correct but unusual: a client that refuses a form with unknown types, formats or patterns, one for a session that it
/// does not know, or a URL that it does not trust.
fn implemented(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((request, mode)) = asked(answer).filter(|(request, _)| !request.deliberate) else { return };
    if !MODES.contains(&mode) || !ctx.conversation.client_has(Feature::Elicitation(mode)) {
        return;
    }
    match (answer.outcome, answer.outcome.error_code()) {
        (Outcome::Result(_), _) => ruling.pass(),
        (_, Some(NO_METHOD)) => ruling.proved_by(&[request.n]).fail(fact!(
            "method-not-found",
            "the client answered {method} with error -32601; expected it to serve elicitation.{mode}, which it \
            advertises",
            method = CREATE, mode;
            code = NO_METHOD
        )),
        (_, Some(BAD_PARAMS)) if is_plain_form(ctx, request) => ruling.proved_by(&[request.n]).fail_in_case(fact!(
            "valid-form-refused",
            "the client answered a valid form with error -32602 (Invalid params); expected a result";
            method = CREATE, code = BAD_PARAMS
        )),
        // The agent wanted no answer any more.
        (_, Some(WITHDRAWN)) if request.cancel_requested.is_some() => {}
        (_, code) => ruling.proved_by(&[request.n]).inconclusive(fact!(
            "error-response",
            "the client answered {method} with {answer}, which may have its reason in the request",
            method = CREATE, answer = answer.outcome.describe(); code = code
        )),
    }
}

/// Whether the request is a form that the schema defines in all of its parts, for an open session or for a request of
/// the client. Patterns and formats are left out, since a client may not know all of them.
fn is_plain_form(ctx: &CheckContext<'_>, request: &Exchange) -> bool {
    const MEMBERS: [&str; 16] = [
        "type",
        "title",
        "description",
        "default",
        "enum",
        "oneOf",
        "anyOf",
        "const",
        "items",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "required",
    ];
    const TYPES: [&str; 6] = ["object", "string", "number", "integer", "boolean", "array"];
    fn is_plain(schema: &Value) -> bool {
        match schema {
            Value::Object(members) => members.iter().all(|(name, value)| match name.as_str() {
                "properties" => value.as_object().is_some_and(|properties| properties.values().all(is_plain)),
                "type" => value.as_str().is_some_and(|name| TYPES.contains(&name)),
                "default" | "required" => true,
                name => MEMBERS.contains(&name) && is_plain(value),
            }),
            Value::Array(items) => items.iter().all(is_plain),
            _ => true,
        }
    }
    let is_known = match request.session() {
        Some(id) => ctx.conversation.session(id).is_some_and(|session| session.closed.is_none()),
        None => request.params.member("requestId").is_some_and(|id| !id.is_null()),
    };
    is_known
        && !ctx.conversation.is_redacted
        && request.text("mode") == Some("form")
        && ctx.conversation.edition.stable.problems(FORM, &request.params).is_empty()
        && request.params.member("requestedSchema").is_some_and(is_plain)
}

/// "Requests using a mode the Client has not advertised produce JSON-RPC -32602." A client that advertises no mode may
/// not know the method at all.
///
/// Correct but unusual: a client that answers all open requests with the action `cancel` when its user stops the turn,
/// before it reads the mode.
fn unadvertised_mode(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((request, mode)) = asked(answer).filter(|(_, mode)| MODES.contains(mode)) else { return };
    if !ctx.conversation.client_lacks(Feature::Elicitation(mode)) {
        return;
    }
    let other = MODES.iter().any(|mode| ctx.conversation.client_has(Feature::Elicitation(mode)));
    let code = answer.outcome.error_code();
    let wrong = || {
        fact!(
            "unadvertised-mode-answered",
            "the client answered {method} in the mode {mode}, which it does not advertise, with {answer}; expected \
            error {expected}",
            method = CREATE, mode, answer = answer.outcome.describe(), expected = BAD_PARAMS;
            actual = code
        )
    };
    let unclear = || {
        fact!(
            "unadvertised-mode-unclear",
            "the client answered {method} in the mode {mode}, which it does not advertise, with {answer}; this may \
            have another reason",
            method = CREATE, mode, answer = answer.outcome.describe();
            expected = BAD_PARAMS, actual = code
        )
    };
    match (answer.outcome, code) {
        (Outcome::Result(result), _) if !is_accepted(result) && is_given_up(ctx, request) => {
            ruling.proved_by(&[request.n]).inconclusive(unclear());
        }
        (Outcome::Result(result), _) if other || is_accepted(result) => ruling.proved_by(&[request.n]).fail(wrong()),
        (_, Some(BAD_PARAMS)) => ruling.pass(),
        (_, Some(NO_METHOD)) if !other => {
            ruling.pass();
            ruling.note(fact!(
                "method-not-found",
                "the client advertises no mode of {method} and answered it with error -32601; the code for this is \
                {expected}",
                method = CREATE, expected = BAD_PARAMS;
                actual = NO_METHOD
            ));
        }
        _ if other && has_place(ctx, request) && !is_given_up(ctx, request) => {
            ruling.proved_by(&[request.n]).fail(wrong());
        }
        _ => ruling.proved_by(&[request.n]).inconclusive(unclear()),
    }
}

/// Whether the answer may come from a cancel: of the request, or of the turn of its session. An unknown session may
/// have had one.
fn is_given_up(ctx: &CheckContext<'_>, request: &Exchange) -> bool {
    let stopped = |id: &str| match ctx.conversation.session(id) {
        Some(session) => session.turn.as_ref().is_some_and(|turn| turn.cancelled.is_some()),
        None => true,
    };
    request.cancel_requested.is_some() || request.session().is_some_and(stopped)
}

/// Whether the session or the request of the elicitation exists, so that no error can be about that.
fn has_place(ctx: &CheckContext<'_>, request: &Exchange) -> bool {
    let id = request.params.given("requestId");
    let open = id.is_none_or(|id| ctx.conversation.open.contains_key(&(ctx.from, RpcId::new(id))));
    open && request.session().is_none_or(|id| ctx.conversation.session(id).is_some())
}

/// A client does not show an unknown mode like a known one. Names that begin with `_` are free, so a client may know
/// one.
///
/// Correct but unusual: a client that shows only the message, and sends the user's consent to that as `accept`.
fn unknown_mode(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((request, mode)) = asked(answer).filter(|(_, mode)| !MODES.contains(mode)) else { return };
    let Outcome::Result(result) = answer.outcome else { return ruling.pass() };
    let filled = result.member("content").and_then(Value::as_object).is_some_and(|content| !content.is_empty());
    if is_accepted(result) && filled && !mode.starts_with('_') {
        ruling.proved_by(&[request.n]).fail(fact!(
            "unknown-mode-as-form",
            "the client accepted the unknown mode `{mode}` with the content of a form; expected an error",
            mode; method = CREATE, pointer = "/result/content"
        ));
    } else {
        ruling.proved_by(&[request.n]).inconclusive(fact!(
            "unknown-mode-answered",
            "the client answered the unknown mode `{mode}` with the action {action}",
            mode, action = result.member("action").unwrap_or(&Value::Null); method = CREATE, pointer = "/result/action"
        ));
    }
}

fn is_accepted(result: &Value) -> bool {
    result.text("action") == Some("accept")
}

/// "For an accepted form elicitation, `content` SHOULD conform to the requested schema."
fn content_conforms(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((request, result)) = proper(answer, CREATE).and_then(|_| answer.result_of(CREATE)) else { return };
    let shown = is_accepted(result) && request.text("mode") == Some("form");
    let schema = request.params.member("requestedSchema").filter(|_| shown);
    let Some(schema) = schema else { return };
    match result.member("content") {
        Some(Value::Object(content)) => match departure(schema, content) {
            // The numbers and lengths of redacted content are unknown.
            None if ctx.conversation.is_redacted => {}
            Some(fact) => ruling.proved_by(&[request.n]).fail(fact),
            None => ruling.pass(),
        },
        None | Some(Value::Null) if required(schema).next().is_some() => {
            ruling.proved_by(&[request.n]).inconclusive(fact!(
                "no-content",
                "the client accepted a form that has required fields, and sent no content";
                pointer = "/result/content"
            ));
        }
        // The table of shapes handles other types.
        _ => {}
    }
}
