//! Area `elicit`, second half: what the client answers to an elicitation, and whether it is what the form asked for.

use serde_json::{Map, Value};

use super::common::{BAD_PARAMS, NO_METHOD, proper};
use crate::judge::check::{Check, On};
use crate::judge::conversation::Exchange;
use crate::judge::moment::{Answer, Moment, Outcome};
use crate::judge::ruling::Ruling;
use crate::wire::RpcId;

pub(super) const CHECKS: &[Check] = &[
    Check::client("elicit.implemented", On::Response(implemented)),
    Check::client("elicit.unadvertised-mode", On::Response(unadvertised_mode)),
    Check::client("elicit.unknown-mode", On::Response(unknown_mode)),
    Check::client("elicit.content-conforms", On::Response(content_conforms)),
];

const CREATE: &str = "elicitation/create";
const MODES: [&str; 2] = ["form", "url"];

/// The request and its mode.
fn asked<'m>(answer: &Answer<'m>) -> Option<(&'m Exchange, &'m str)> {
    let request = answer.exchange.filter(|exchange| exchange.method == CREATE)?;
    Some((request, request.text("mode")?))
}

/// A mode that was advertised is served; errors other than -32601 may have their reason in the request.
///
/// Correct but unusual: a client that refuses a form of types that it does not know, or a url that it does not trust.
fn implemented(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((request, mode)) = asked(answer).filter(|(request, _)| !request.deliberate) else { return };
    if !MODES.contains(&mode) || !moment.talk.client_has(&["elicitation", mode]) {
        return;
    }
    match (answer.outcome, answer.outcome.error_code()) {
        (Outcome::Result(_), _) => ruling.pass(),
        (_, Some(NO_METHOD)) => {
            let message = format!("{CREATE} was answered with error -32601, and elicitation.{mode} is advertised");
            ruling.fail(message, &[request.n]);
        }
        _ => ruling.inconclusive(format!("{CREATE} was answered with {}", answer.outcome.describe()), &[request.n]),
    }
}

/// "Requests using a mode the Client has not advertised produce JSON-RPC -32602." A client that advertises no mode may not
/// know the method at all.
///
/// Correct but unusual: a client that answers all that is open with the action `cancel` when its user stops the turn, before
/// it looks at the mode.
fn unadvertised_mode(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((request, mode)) = asked(answer).filter(|(_, mode)| MODES.contains(mode)) else { return };
    if !moment.talk.client_lacks(&["elicitation", mode]) {
        return;
    }
    let other = MODES.iter().any(|mode| moment.talk.client_has(&["elicitation", mode]));
    let seen = format!("a {mode} was asked for, which is not advertised, and got {}", answer.outcome.describe());
    match (answer.outcome, answer.outcome.error_code()) {
        (Outcome::Result(result), _) if !is_accepted(result) && is_given_up(moment, request) => {
            ruling.inconclusive(seen, &[request.n]);
        }
        (Outcome::Result(result), _) if other || is_accepted(result) => ruling.fail(seen, &[request.n]),
        (_, Some(BAD_PARAMS)) => ruling.pass(),
        (_, Some(NO_METHOD)) if !other => {
            ruling.pass();
            ruling.note("the client advertises no mode, and answers as if the method did not exist");
        }
        _ if other && has_place(moment, request) && !is_given_up(moment, request) => {
            ruling.fail(seen, &[request.n]);
        }
        _ => ruling.inconclusive(seen, &[request.n]),
    }
}

/// Whether the answer may come from a cancel: of the request, or of the turn of its session. A session that is not known
/// may have had one.
fn is_given_up(moment: &Moment<'_>, request: &Exchange) -> bool {
    let stopped = |id: &str| match moment.talk.session(id) {
        Some(session) => session.turn.as_ref().is_some_and(|turn| turn.cancelled.is_some()),
        None => true,
    };
    request.cancel_requested.is_some() || request.session().is_some_and(stopped)
}

/// Whether the session or the request that the elicitation belongs to is there, so that no error can be about that.
fn has_place(moment: &Moment<'_>, request: &Exchange) -> bool {
    let id = request.params.get("requestId").filter(|id| !id.is_null());
    let open = id.is_none_or(|id| moment.talk.open.contains_key(&(moment.from, RpcId::new(id))));
    open && request.session().is_none_or(|id| moment.talk.session(id).is_some())
}

/// A mode that nobody knows is not shown as one of those that are known. Names that begin with `_` are free, and a client
/// may well know one.
///
/// Correct but unusual: a client that shows the message alone, and takes the user's consent to that for an `accept`.
fn unknown_mode(_: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((request, mode)) = asked(answer).filter(|(_, mode)| !MODES.contains(mode)) else { return };
    let Outcome::Result(result) = answer.outcome else { return ruling.pass() };
    let filled = result.get("content").and_then(Value::as_object).is_some_and(|content| !content.is_empty());
    let seen = format!("the unknown mode `{mode}` was answered with {}", result.get("action").unwrap_or(&Value::Null));
    if is_accepted(result) && filled && !mode.starts_with('_') {
        ruling.fail(format!("{seen} and the content of a form"), &[request.n]);
    } else {
        ruling.inconclusive(seen, &[request.n]);
    }
}

fn is_accepted(result: &Value) -> bool {
    result.get("action").and_then(Value::as_str) == Some("accept")
}

/// "For an accepted form elicitation, `content` SHOULD conform to the requested schema."
fn content_conforms(_: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((request, result)) = proper(answer, CREATE).and_then(|_| answer.result_of(CREATE)) else { return };
    let shown = is_accepted(result) && request.text("mode") == Some("form");
    let schema = request.params.get("requestedSchema").filter(|_| shown);
    let Some(schema) = schema else { return };
    match result.get("content") {
        Some(Value::Object(content)) => match departure(schema, content) {
            Some(why) => ruling.fail(format!("the content of the accepted form: {why}"), &[request.n]),
            None => ruling.pass(),
        },
        None | Some(Value::Null) if required(schema).next().is_some() => {
            ruling.inconclusive("a form with required fields was accepted without content", &[request.n]);
        }
        // What is no object is a matter of shape.
        _ => {}
    }
}

/// The names of the fields that must be there.
fn required(schema: &Value) -> impl Iterator<Item = &str> {
    let names = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    names.filter(|name| schema.get("properties").is_some_and(|fields| fields.get(name).is_some()))
}

/// In what the content departs from the form. What is null counts as left out, and patterns and formats are left alone.
fn departure(schema: &Value, content: &Map<String, Value>) -> Option<String> {
    let filled = |name: &str| content.get(name).is_some_and(|value| !value.is_null());
    if let Some(name) = required(schema).find(|name| !filled(name)) {
        return Some(format!("the required `{name}` is missing"));
    }
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let mut given = fields.filter(|(name, _)| filled(name));
    given.find_map(|(name, field)| Some(format!("`{name}` {}", mistake(field, content.get(name)?)?)))
}

/// What is wrong with the value of one field.
fn mistake(field: &Value, value: &Value) -> Option<String> {
    match field.get("type").and_then(Value::as_str)? {
        "string" => match value.as_str() {
            Some(text) => text_mistake(field, text),
            None => Some(format!("is {value}, which is no text")),
        },
        "number" | "integer" if !value.is_number() => Some(format!("is {value}, which is no number")),
        "integer" if value.as_f64().is_some_and(|number| number.fract() != 0.0) => {
            Some(format!("is {value}, which is no integer"))
        }
        "number" | "integer" => range_mistake(field, value.as_f64()?, ["minimum", "maximum"]),
        "boolean" if !value.is_boolean() => Some(format!("is {value}, which is no boolean")),
        "array" => match value.as_array() {
            Some(items) => range_mistake(field, items.len() as f64, ["minItems", "maxItems"])
                .or_else(|| items.iter().find_map(|item| choice_mistake(field.get("items")?, item.as_str()?))),
            None => Some(format!("is {value}, which is no list")),
        },
        _ => None,
    }
}

/// A length is counted in characters; some count the units of UTF-16, which are never fewer.
fn text_mistake(field: &Value, text: &str) -> Option<String> {
    let short = range_mistake(field, text.encode_utf16().count() as f64, ["minLength", ""]);
    let long = || range_mistake(field, text.chars().count() as f64, ["", "maxLength"]);
    short.or_else(long).or_else(|| choice_mistake(field, text))
}

fn range_mistake(field: &Value, number: f64, [least, most]: [&str; 2]) -> Option<String> {
    let bound = |name: &str| field.get(name).and_then(Value::as_f64);
    if let Some(bound) = bound(least).filter(|&bound| number < bound) {
        return Some(format!("has {number}, and {least} is {bound}"));
    }
    bound(most).filter(|&bound| number > bound).map(|bound| format!("has {number}, and {most} is {bound}"))
}

/// A value that is none of the choices, where there are any.
fn choice_mistake(field: &Value, text: &str) -> Option<String> {
    let list = |name: &str| field.get(name).and_then(Value::as_array).into_iter().flatten();
    let titled = list("oneOf").chain(list("anyOf")).filter_map(|choice| choice.get("const")?.as_str());
    let choices: Vec<&str> = list("enum").filter_map(Value::as_str).chain(titled).collect();
    (!choices.is_empty() && !choices.contains(&text)).then(|| format!("is `{text}`, which is none of the choices"))
}
