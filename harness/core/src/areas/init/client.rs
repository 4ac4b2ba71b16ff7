//! The client's half of the area `init`: its `initialize`, and its use of the answer.

use serde_json::Value;

use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Answer, CallSeen, Outcome};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::{Feature, Kind, NEWEST_MAJOR};
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::client("init.first", On::Call(first)),
    Check::client("init.once", On::Call(once)),
    Check::client("init.version-present", On::Call(version_present)).alone().only(&["initialize"]),
    Check::client("init.capabilities-sent", On::Call(capabilities_sent)).alone().only(&["initialize"]),
    Check::client("init.capabilities-declared.client", On::Response(capabilities_declared)),
    Check::client("init.client-info", On::Call(client_info)).alone().only(&["initialize"]),
    Check::client("init.version.unsupported-not-used", On::Call(unsupported_not_used)),
    Check::client("init.version.unsupported-not-used", On::End(unsupported_left)),
    Check::client("init.baseline-methods.client", On::Response(baseline_methods)).only(&["session/request_permission"]),
];

/// Whether the call needs an initialized connection: all calls about sessions and logins.
fn needs_initialized(call: &CallSeen<'_>) -> bool {
    call.method.starts_with("session/")
        || matches!(call.method, "authenticate" | "logout" | "auth/login" | "auth/logout")
}

fn initialize<'v>(call: &CallSeen<'v>) -> Option<&'v Value> {
    (call.method == "initialize" && call.kind == Kind::Request).then(|| call.params.unwrap_or(&Value::Null))
}

/// Returns the params of `initialize`, unless it is for another version, which has other members.
fn initialize_here<'v>(ctx: &CheckContext<'_>, call: &CallSeen<'v>) -> Option<&'v Value> {
    let here = u64::from(ctx.conversation.edition.major);
    let version = |params: &Value| params.member("protocolVersion").and_then(Value::as_u64);
    initialize(call).filter(|params| version(params).is_none_or(|version| version == here))
}

/// "Before a Session can be created, Clients MUST initialize the connection by calling the initialize method."
///
/// Correct but unusual: a client that sends custom messages or `$/cancel_request` early, retries after an error, or
/// calls `initialize` a second time, whose first call a recording may lack. These do not fail.
fn first(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let early = || conversation.methods_of(Party::Client).find(|method| method.starts_with("session/"));
    let waits = || conversation.open_of(Party::Client).find(|open| open.method == "initialize");
    if call.method == "initialize" && conversation.initialize.is_none() {
        match early() {
            Some(method) if conversation.whole => {
                ruling.fail(fact!("call-before-initialize", "the client sent {method} before initialize", method));
            }
            // A recording may begin after the first initialize, and then this is the second one.
            Some(method) => ruling.inconclusive(fact!(
                "initialize-after-call",
                "the client sent initialize after {method}, maybe for the second time",
                method
            )),
            None => {}
        }
    } else if needs_initialized(call) && conversation.initialized.is_some() {
        ruling.pass();
    } else if conversation.whole && needs_initialized(call) && conversation.initialize.is_none() {
        ruling.fail(fact!(
            "not-initialized",
            "the client sent {method} on a connection without initialize",
            method = call.method
        ));
    } else if let Some(open) = waits().filter(|_| needs_initialized(call)) {
        let fact = fact!(
            "call-before-initialized",
            "the client sent {method} before the agent answered initialize",
            method = call.method
        );
        // Earlier messages in a recording show that another `initialize` may have come even earlier.
        let others = conversation.methods_of(Party::Agent).next().is_some()
            || conversation.methods_of(Party::Client).any(|method| method != "initialize");
        ruling.proved_by(&[open.n]).fail_if(conversation.whole || !others, fact);
    }
}

/// A connection is initialized once. A request after a refusal is a retry.
fn once(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let open = conversation.open_of(Party::Client).find(|open| open.method == "initialize").map(|open| open.n);
    let done = conversation.initialized.as_ref().map(|(n, _)| *n);
    match open.or(done) {
        Some(n) if call.method == "initialize" => {
            let fact = fact!("initialized-twice", "the client sent initialize a second time on one connection");
            ruling.proved_by(&[n]).fail(fact);
        }
        Some(_) if needs_initialized(call) && done.is_some() => ruling.pass(),
        _ => {}
    }
}

/// "The latest protocol version supported" is part of the client's `initialize`.
///
/// Correct but unusual: a client that offers a later version than this edition, or 0.
fn version_present(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(params) = initialize(call) {
        ruling.decide(params.member("protocolVersion").is_some(), || {
            fact!(
                "no-version",
                "the client sent initialize without `protocolVersion`";
                pointer = "/params/protocolVersion"
            )
        });
    }
}

/// "The capabilities supported" are also part of the client's `initialize`. By the schema's default a client has none,
/// so omitting them is meaningful; the table of shapes handles other types.
///
/// Correct but unusual: a client without capabilities leaves them out, or sends null or `{}`. That is noted or passes.
fn capabilities_sent(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(params) = initialize_here(ctx, call)
        && params.member("clientCapabilities").is_none_or(Value::is_null)
    {
        ruling.note(fact!(
            "no-capabilities",
            "the client sent initialize without `clientCapabilities`, which advertises none";
            pointer = "/params/clientCapabilities"
        ));
    }
}

/// "The Client SHOULD specify whether it supports the following capabilities": capabilities that work must be
/// announced.
fn capabilities_declared(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange.filter(|exchange| !exchange.deliberate && !ctx.conversation.is_foreign())
    else {
        return;
    };
    let (conversation, edition) = (ctx.conversation, ctx.conversation.edition);
    let feature = Feature::Method(&exchange.method);
    let Some(needed) = edition.adapter.capability(Party::Client, feature) else { return };
    let method = edition.methods.find(Party::Agent, Kind::Request, &exchange.method);
    let definition = method.and_then(|method| method.result.as_deref()).unwrap_or_default();
    // Some programs answer every request with an empty object or a refusal; neither proves that the method works.
    let works = |result: &Value| {
        result.as_object().is_some_and(|members| !members.is_empty())
            && edition.stable.problems(definition, result).is_empty()
            && result.member("action").is_none_or(|action| action == "accept")
    };
    match answer.outcome {
        Outcome::Result(_) if conversation.client_has(feature) => ruling.pass(),
        Outcome::Result(result) if conversation.client_lacks(feature) && works(result) => {
            ruling.proved_by(&[exchange.n]).fail(fact!(
                "capability-not-advertised",
                "the client answered {method} with a result; expected it to advertise `{capability}`",
                method = exchange.method,
                capability = needed.name()
            ));
        }
        Outcome::Error(_) if conversation.client_lacks(feature) && answer.outcome.error_code() == Some(-32601) => {
            ruling.pass()
        }
        _ => {}
    }
}

/// "It SHOULD also provide a name and version to the Agent as well."
fn client_info(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(params) = initialize_here(ctx, call) {
        let name = ctx.conversation.edition.adapter.info_member(ctx.from);
        let given = params.member(name).is_some_and(|info| !info.is_null());
        ruling.decide(given, || {
            fact!(
                "no-client-info",
                "the client sent initialize without `{name}`; expected a name and a version",
                name;
                pointer = format!("/params/{name}")
            )
        });
    }
}

/// Returns the version in the answer to `initialize`, if the client does not support it: the version that it asked for
/// is "the latest protocol version supported". A client that asked for none supports no version that does not exist.
fn unsupported(ctx: &CheckContext<'_>) -> Option<(usize, u64)> {
    let (n, _) = ctx.conversation.initialized.as_ref()?;
    let offered = ctx.conversation.asked_version();
    let version = ctx.conversation.version()?;
    // A client may ask for version 0, which no program speaks.
    (version > offered.filter(|&offered| offered > 0).unwrap_or(NEWEST_MAJOR)).then_some((*n, version))
}

/// "If the Client does not support this version, the Client SHOULD close the connection and inform the user": at least
/// it does not continue as if it did.
///
/// Correct but unusual: a client that supports later versions than this program. It offers them in `initialize`.
fn unsupported_not_used(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some((n, version)) = unsupported(ctx).filter(|_| needs_initialized(call)) {
        ruling.proved_by(&[n]).fail(fact!(
            "unsupported-version-used",
            "the client sent {method} after the agent chose version {version}; expected it to close the connection",
            method = call.method,
            version
        ));
    }
}

/// As above: the connection ended, and no session was used on it.
fn unsupported_left(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let over = ctx.conversation.stdout_ended.or(ctx.conversation.shutting_down);
    if unsupported(ctx).is_some() && over.is_some() {
        ruling.pass();
    }
}

/// `session/request_permission` is the baseline method of clients, which no capability announces.
///
/// Correct but unusual: a client that answers with an error because the turn is over, or because it does not know the
/// session.
fn baseline_methods(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let permission = |method: &str| method == "session/request_permission";
    let asked = answer.exchange.filter(|exchange| !exchange.deliberate && permission(&exchange.method));
    let known = ctx.conversation.initialized.is_some() && !ctx.conversation.is_foreign();
    let Some(exchange) = asked.filter(|_| known) else { return };
    match answer.outcome {
        Outcome::Result(_) => ruling.pass(),
        Outcome::Error(_) if answer.outcome.error_code() == Some(-32601) => {
            ruling.proved_by(&[exchange.n]).fail(fact!(
                "not-implemented",
                "the client answered {method} with error -32601; expected every client to implement it",
                method = exchange.method;
                code = -32601
            ))
        }
        Outcome::Error(_) => {}
    }
}
