//! Area `jsonrpc`: the members of messages and requests.

pub(super) mod duplex;
pub(super) mod error;
pub(super) mod exit;
mod late;
pub(super) mod response;
mod state;
pub(super) mod v2;

use serde_json::Value;

pub use self::state::State;
use crate::areas::{Check, CheckContext, On, of_both};
use crate::conversation::CallSeen;
use crate::fact;
use crate::finding::Ruling;
use crate::wire::{Envelope, Members, RpcId};

pub(super) const BOTH: &[[Check; 2]] = &[
    Check::both(of_both!("jsonrpc.version-member"), On::Message(version_member)),
    Check::both(of_both!("jsonrpc.kind-unambiguous"), On::Message(kind_unambiguous)),
    Check::both_alone(of_both!("jsonrpc.request-id-type"), On::Call(request_id_type)),
    Check::both_alone(of_both!("jsonrpc.request-id-not-null"), On::Call(request_id_not_null)),
    Check::both_alone(of_both!("jsonrpc.request-id-integral"), On::Call(request_id_integral)),
    Check::both(of_both!("jsonrpc.request-id-unique"), On::Call(request_id_unique)),
    Check::both(of_both!("jsonrpc.method-string"), On::Message(method_string)),
    Check::both_alone(of_both!("jsonrpc.method-string"), On::Call(method_spelling)),
    Check::both_alone(of_both!("jsonrpc.reserved-rpc-prefix"), On::Call(reserved_prefix)),
    Check::both_alone(of_both!("jsonrpc.params-object"), On::Call(params_object)),
];

/// "jsonrpc: … MUST be exactly \"2.0\"."
///
/// Correct but unusual: the member comes last, or its value is spelled with escapes. The parsed value is compared.
fn version_member(ctx: &CheckContext<'_>, message: &Value, _: Envelope<'_>, ruling: &mut Ruling<'_>) {
    let version = message.member("jsonrpc");
    ruling.decide(version.and_then(Value::as_str) == Some("2.0"), || match version {
        None => fact!(
            "missing-version",
            "the {party} sent a message without the member `jsonrpc`; expected \"2.0\"",
            party = ctx.from;
            pointer = "/jsonrpc", expected = "2.0"
        ),
        Some(other) => fact!(
            "wrong-version",
            "the {party} sent a message in which `jsonrpc` is {actual}; expected \"2.0\"",
            party = ctx.from, actual = other.to_string();
            pointer = "/jsonrpc", expected = "2.0"
        ),
    });
}

/// A message is exactly one of request, notification and response.
///
/// Correct but unusual: a result that is null, a result with a `method` inside it, and a call with members of its own.
/// Only the members `method`, `result` and `error` at the root count.
fn kind_unambiguous(ctx: &CheckContext<'_>, message: &Value, _: Envelope<'_>, ruling: &mut Ruling<'_>) {
    let has = |name: &str| message.as_object().is_some_and(|members| members.keys().any(|member| member == name));
    let answers = has("result") || has("error");
    match (has("method"), answers) {
        (true, true) => ruling.fail(fact!(
            "call-and-response",
            "the {party} sent a message with a method and a result or error; expected a call or a response",
            party = ctx.from;
            pointer = "/method"
        )),
        (false, false) => ruling.fail(fact!(
            "neither-call-nor-response",
            "the {party} sent a message without method, result and error; expected one of these",
            party = ctx.from
        )),
        _ => ruling.pass(),
    }
}

/// "id … MUST contain a String, Number, or NULL value"; ACP restricts numbers to integers.
///
/// Correct but unusual: ids that are negative, empty, large, null or a different type in each request. A fraction
/// violates a separate SHOULD.
fn request_id_type(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(id) = call.id {
        let good = id.is_null() || id.is_string() || id.is_number();
        ruling.decide(good, || {
            fact!(
                "wrong-id-type",
                "the {party} sent a request with the id {id}; expected a string, a number or null",
                party = ctx.from, id = id.to_string();
                pointer = "/id", method = call.method
            )
        });
    }
}

/// "The use of Null as a value for the id member in a Request is discouraged."
fn request_id_not_null(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(id) = call.id {
        ruling.decide(!id.is_null(), || {
            fact!(
                "null-id",
                "the {party} sent the request {method} with the id null; expected a string or a number",
                party = ctx.from, method = call.method;
                pointer = "/id"
            )
        });
    }
}

/// "Numbers SHOULD NOT contain fractional parts."
///
/// Correct but unusual: a program whose ids are all texts, which satisfies it with each of them.
fn request_id_integral(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(id) = call.id.filter(|id| id.is_number() || id.is_string()) else { return };
    ruling.decide(id.as_f64().is_none_or(|number| number.fract() == 0.0), || {
        fact!(
            "fractional-id",
            "the {party} sent a request with the id {id}; expected an integer or a string",
            party = ctx.from, id = id.to_string();
            pointer = "/id", method = call.method
        )
    });
}

/// An id identifies an answer only if no other open request has it.
fn request_id_unique(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(id) = call.id.filter(|id| !id.is_null()) {
        let open = ctx.conversation.open.get(&(ctx.from, RpcId::new(id)));
        match open {
            Some(other) => ruling.proved_by(&[other.n]).fail(fact!(
                "id-in-use",
                "the {party} reused the id {id} of its unanswered request {open_method}; expected an unused id",
                party = ctx.from, id = id.to_string(), open_method = other.method;
                pointer = "/id", method = call.method
            )),
            None => ruling.pass(),
        }
    }
}

/// "method: A String containing the name of the method to be invoked."
///
/// Correct but unusual: a response has no method. An absent member proves nothing here.
fn method_string(ctx: &CheckContext<'_>, message: &Value, envelope: Envelope<'_>, ruling: &mut Ruling<'_>) {
    // The method of a call is always a string.
    let unclear = Some(message).filter(|_| matches!(envelope, Envelope::Unclear));
    if let Some(method) = unclear.and_then(|message| message.member("method")).filter(|method| !method.is_string()) {
        ruling.fail(fact!(
            "method-not-string",
            "the {party} sent a message whose `method` is {actual}; expected a string",
            party = ctx.from, actual = method;
            pointer = "/method"
        ));
    }
}

/// A method in another spelling is not one of the protocol's methods.
///
/// Correct but unusual: an extension method that is a copy of one of the protocol's, such as `_session/prompt`. The
/// underscore makes it a custom method.
fn method_spelling(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let methods = &ctx.conversation.edition.methods;
    if call.known {
        return ruling.pass();
    }
    let plain = |name: &str| name.replace(['_', '-', '/', '.'], "").to_lowercase();
    let mut names = methods.names(ctx.from);
    let meant = names.find(|known| *known != call.method && plain(known) == plain(call.method));
    match meant {
        Some(known) if !call.method.starts_with('_') => ruling.fail(fact!(
            "misspelt-method",
            "the {party} called `{actual}`; expected the protocol's spelling `{expected}`",
            party = ctx.from, actual = call.method, expected = known;
            pointer = "/method"
        )),
        _ => ruling.pass(),
    }
}

/// "Method names that begin with the word rpc followed by a period character … MUST NOT be used for anything else."
///
/// Correct but unusual: names such as `_rpc.ping` and `rpc_ping`. Only the prefix `rpc.` is reserved.
fn reserved_prefix(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    ruling.decide(!call.method.starts_with("rpc."), || {
        fact!(
            "reserved-method",
            "the {party} called `{method}`; expected a name without the prefix `rpc.`, which JSON-RPC reserves",
            party = ctx.from, method = call.method;
            pointer = "/method"
        )
    });
}

/// ACP types all params as objects.
///
/// Correct but unusual: params that are absent, null or `{}`, also for extension methods. Only lists and scalars fail.
fn params_object(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(params) = call.params {
        ruling.decide(params.is_object() || params.is_null(), || {
            fact!(
                "params-not-object",
                "the {party} sent {method} with params that are neither an object nor null",
                party = ctx.from, method = call.method;
                pointer = "/params", actual = params
            )
        });
    }
}
