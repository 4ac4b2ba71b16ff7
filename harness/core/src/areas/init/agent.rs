//! The agent's half of the area `init`: its answers to `initialize`.

use serde_json::Value;

use crate::areas::{Check, CheckContext, On, with};
use crate::conversation::{Answer, Conversation, Exchange, Outcome};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::{Feature, Kind, NEWEST_MAJOR, Site};
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("init.respond", On::Response(with!(accepted, Trait::Ordinary))).only(&["initialize"]),
    Check::agent("init.minimal-accepted.agent", On::Response(with!(accepted, Trait::Minimal))).only(&["initialize"]),
    Check::agent("init.unknown-capability-tolerated.agent", On::Response(with!(accepted, Trait::Unknown)))
        .only(&["initialize"]),
    Check::agent("init.version.no-error", On::Response(version_no_error)).only(&["initialize"]),
    Check::agent("init.version.same", On::Response(version_same)).alone().only(&["initialize"]),
    Check::agent("init.version.fallback", On::Response(version_fallback)).alone().only(&["initialize"]),
    Check::agent("init.agent-info", On::Response(agent_info)).alone().only(&["initialize"]),
    Check::agent("init.capabilities-declared.agent", On::Response(capabilities_declared)),
    Check::agent("init.silent-before", On::Response(silent_before)).only(&["initialize"]),
    Check::agent("init.baseline-methods.agent", On::Response(baseline_methods))
        .only(&["session/new", "session/prompt"]),
];

/// A special property of a valid `initialize`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::areas) enum Trait {
    /// None: clients usually send it like this.
    Ordinary,
    /// It has only the version.
    Minimal,
    /// It has capabilities that no schema contains, or `_meta` inside them.
    Unknown,
    /// It has nulls.
    Nulls,
}

/// Returns the first `initialize` of a connection, unless the tester broke it on purpose.
fn first<'m>(ctx: &CheckContext<'m>, answer: &Answer<'m>) -> Option<(&'m Exchange, Option<u64>)> {
    let exchange = answer.exchange.filter(|exchange| exchange.method == "initialize" && !exchange.deliberate)?;
    // A recording begins a connection with each `initialize`, and may lack the first one.
    let again = !ctx.conversation.whole && answer.outcome.error_code() == Some(-32600);
    let first = !again && ctx.conversation.initialize.as_ref().is_some_and(|(n, _)| *n == exchange.n);
    let valid = ctx.conversation.edition.stable.problems("InitializeRequest", &exchange.params).is_empty();
    (first && valid).then(|| (exchange, exchange.params.member("protocolVersion").and_then(Value::as_u64)))
}

/// Returns the special properties of a valid `initialize`.
fn traits(conversation: &Conversation, params: &Value) -> Vec<Trait> {
    let parts = conversation.edition.stable.parts("InitializeRequest", params);
    let inside = |at: &str| at.starts_with("/clientCapabilities/");
    let unknown = |name: &str, known: &Site| *known != Site::Defined || name == "_meta";
    let found = [
        (Trait::Minimal, params.as_object().is_some_and(|params| params.len() == 1)),
        (Trait::Unknown, parts.members.iter().any(|m| inside(&m.at()) && unknown(m.name, &m.known))),
        (Trait::Nulls, parts.members.iter().any(|m| m.known == Site::Defined && m.value.is_null())),
    ];
    let traits: Vec<Trait> = found.into_iter().filter(|(_, found)| *found).map(|(unusual, _)| unusual).collect();
    if traits.is_empty() { vec![Trait::Ordinary] } else { traits }
}

/// "The Agent MUST respond with the chosen protocol version and the capabilities it supports", whatever of the optional
/// members the request has: capabilities are optional, new ones are "not a breaking change", and null means absent.
///
/// Correct but unusual: a result without `agentCapabilities`, and an agent that already requires a login here (-32000).
pub(in crate::areas) fn accepted(ctx: &CheckContext<'_>, answer: &Answer<'_>, unusual: Trait, ruling: &mut Ruling<'_>) {
    let Some((exchange, version)) = first(ctx, answer) else { return };
    let traits = traits(ctx.conversation, &exchange.params);
    if version != Some(u64::from(ctx.conversation.edition.major)) || !traits.contains(&unusual) {
        return;
    }
    let refused = || {
        fact!(
            "initialize-refused",
            "the agent answered a valid initialize with {answer}; expected a result",
            answer = answer.outcome.describe();
            code = answer.outcome.error_code()
        )
    };
    match answer.outcome {
        Outcome::Result(result) if result.is_object() => {
            if result.member("agentCapabilities").is_none() {
                ruling.note(fact!(
                    "no-capabilities",
                    "the agent answered initialize without `agentCapabilities`, which advertises none";
                    pointer = "/result/agentCapabilities"
                ));
            }
            ruling.pass();
        }
        Outcome::Result(Value::Null) => ruling.proved_by(&[exchange.n]).fail(fact!(
            "null-result",
            "the agent answered initialize with null; expected a result object";
            pointer = "/result"
        )),
        Outcome::Result(_) => {}
        Outcome::Error(_) if answer.outcome.error_code() == Some(-32000) || traits.len() > 1 => {
            ruling.proved_by(&[exchange.n]).inconclusive(refused());
        }
        Outcome::Error(_) => ruling.proved_by(&[exchange.n]).fail(refused()),
    }
}

/// "Otherwise, the Agent MUST respond with the latest version it supports": a result and not an error.
///
/// Correct but unusual: an agent that also supports version 2, and answers in the format of that version.
fn version_no_error(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, Some(version))) = first(ctx, answer) else { return };
    if version == u64::from(ctx.conversation.edition.major) {
        return;
    }
    let Outcome::Error(error) = answer.outcome else { return ruling.pass() };
    let code = answer.outcome.error_code();
    let refused = || {
        fact!(
            "version-refused",
            "the agent answered a request for version {requested} with {answer}; expected its latest version in a \
            result",
            requested = version, answer = answer.outcome.describe();
            code = code
        )
    };
    let refused_as_in_2 = || {
        fact!(
            "version-refused-as-in-version-2",
            "the agent answered a request for version {requested} with {answer}, as version 2 defines; expected a \
            result",
            requested = version, answer = answer.outcome.describe();
            code = code
        )
    };
    let text = error.to_string();
    // An agent that also supports version 2 may expect a request for it in the format of version 2.
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    let other_shape = version == 2 || words.any(|word| word == "info");
    match code {
        Some(-32000) => ruling.proved_by(&[exchange.n]).inconclusive(refused()),
        Some(-32602) if other_shape => ruling.proved_by(&[exchange.n]).inconclusive(refused()),
        // Version 2 defines this answer, and an agent that supports both need not guess that the client uses version 1.
        Some(-32022) if supports_later(error, ctx.conversation.edition.major) => {
            ruling.proved_by(&[exchange.n]).inconclusive(refused_as_in_2());
        }
        Some(-32022) => ruling.proved_by(&[exchange.n]).fail(refused_as_in_2()),
        _ => ruling.proved_by(&[exchange.n]).fail(refused()),
    }
}

/// Whether the error lists a supported version above this one.
fn supports_later(error: &Value, major: u16) -> bool {
    let supported = error.pointer("/data/supported").and_then(Value::as_array);
    supported.into_iter().flatten().filter_map(Value::as_u64).any(|version| version > u64::from(major))
}

/// "If the Agent supports the requested version, it MUST respond with the same version." A result in the format of a
/// version proves that the agent supports it.
///
/// Correct but unusual: an agent that supports only version 2, and answers 2 in the format of version 2.
fn version_same(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, Some(asked))) = first(ctx, answer) else { return };
    let Outcome::Result(result) = answer.outcome else { return };
    let Some(given) = result.member("protocolVersion").and_then(Value::as_u64) else { return };
    let adapter = ctx.conversation.edition.adapter;
    let members = [adapter.capabilities_member(Party::Agent), adapter.info_member(Party::Agent)];
    let shape = members.iter().any(|name| result.member(name).is_some());
    match asked == u64::from(ctx.conversation.edition.major) {
        true if given == asked => ruling.pass(),
        true if shape => ruling.proved_by(&[exchange.n]).fail(fact!(
            "other-version-in-this-shape",
            "the agent answered a request for version {expected} with version {actual}, in the shape of version \
            {expected}",
            expected = asked, actual = given;
            pointer = "/result/protocolVersion"
        )),
        true => ruling.not_applicable(fact!(
            "other-version",
            "the agent answered a request for version {expected} with version {actual}",
            expected = asked,
            actual = given
        )),
        false => {}
    }
}

/// "Otherwise, the Agent MUST respond with the latest version it supports": never with one that does not exist.
///
/// Correct but unusual: an agent that answers with a later version that exists, or with 0 for a draft of its own.
fn version_fallback(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, Some(asked))) = first(ctx, answer) else { return };
    let Outcome::Result(result) = answer.outcome else { return };
    let Some(given) = result.member("protocolVersion").and_then(Value::as_u64) else { return };
    match given {
        _ if (1..=NEWEST_MAJOR).contains(&asked) => {}
        1..=NEWEST_MAJOR => ruling.pass(),
        _ if given == asked && asked > NEWEST_MAJOR => ruling.proved_by(&[exchange.n]).fail(fact!(
            "unknown-version",
            "the agent answered with version {actual}, which was requested and does not exist; expected its \
            latest version",
            actual = given;
            pointer = "/result/protocolVersion"
        )),
        _ => ruling.proved_by(&[exchange.n]).inconclusive(fact!(
            "other-unknown-version",
            "the agent answered a request for version {requested} with version {actual}",
            requested = asked, actual = given;
            pointer = "/result/protocolVersion"
        )),
    }
}

/// "It SHOULD also provide a name and version to the Client as well."
fn agent_info(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((_, result)) = answer.result_of("initialize") else { return };
    if result.member("protocolVersion").and_then(Value::as_u64) == Some(u64::from(ctx.conversation.edition.major)) {
        let name = ctx.conversation.edition.adapter.info_member(ctx.from);
        let given = result.member(name).is_some_and(|info| !info.is_null());
        ruling.decide(given, || {
            fact!(
                "no-agent-info",
                "the agent answered initialize without `{name}`; expected a name and a version",
                name;
                pointer = format!("/result/{name}")
            )
        });
    }
}

/// "The Agent SHOULD specify whether it supports the following capabilities": capabilities that work must be announced.
fn capabilities_declared(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange.filter(|exchange| !exchange.deliberate) else { return };
    let edition = ctx.conversation.edition;
    let feature = Feature::Method(&exchange.method);
    let needed = edition.adapter.capability(Party::Agent, feature).filter(|_| ctx.conversation.initialized.is_some());
    let Some(needed) = needed else { return };
    let method = edition.methods.find(Party::Client, Kind::Request, &exchange.method);
    let definition = method.and_then(|method| method.result.as_deref()).unwrap_or_default();
    // Some agents answer every request with null; only an answer that fits the method proves that it works.
    let fits = |result: &Value| result.is_object() && edition.stable.problems(definition, result).is_empty();
    match answer.outcome {
        Outcome::Result(_) if ctx.conversation.agent_has(feature) => ruling.pass(),
        Outcome::Result(result) if fits(result) => ruling.proved_by(&[exchange.n]).fail(fact!(
            "capability-not-advertised",
            "the agent answered {method} with a result; expected it to advertise `{capability}`",
            method = exchange.method,
            capability = needed.name()
        )),
        Outcome::Error(_) if !ctx.conversation.agent_has(feature) && answer.outcome.error_code() == Some(-32601) => {
            ruling.pass()
        }
        _ => {}
    }
}

/// Before the answer to `initialize`, the parties have not agreed on anything.
fn silent_before(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let Some(exchange) = answer.exchange.filter(|exchange| exchange.method == "initialize") else { return };
    // A recording that begins in the middle proves nothing about the beginning.
    if conversation.initialized.is_some() || !conversation.methods_of(Party::Client).eq(["initialize"]) {
        return;
    }
    match conversation.first_call {
        Some(call) => {
            let method = conversation.methods_of(Party::Agent).next().unwrap_or("a call");
            ruling.proved_by(&[call, exchange.n]).fail(fact!(
                "call-before-initialized",
                "the agent sent {method} before it answered initialize",
                method
            ));
        }
        None => ruling.pass(),
    }
}

/// "As a baseline, all Agents MUST support session/new, session/prompt, session/cancel, and session/update."
///
/// Correct but unusual: an agent behind a login, and one whose model cannot be reached. Only -32601 shows a missing
/// method, and not even that after a part of the turn: an agent may pass on the client's error to one of its requests.
fn baseline_methods(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange.filter(|exchange| !exchange.deliberate) else { return };
    let baseline = matches!(exchange.method.as_str(), "session/new" | "session/prompt");
    if !baseline || ctx.conversation.version() != Some(u64::from(ctx.conversation.edition.major)) {
        return;
    }
    let turn = exchange.session().and_then(|id| ctx.conversation.session(id)?.turn.as_ref());
    let has_begun = turn.is_some_and(|turn| turn.first_output.is_some() || !turn.refused.is_empty());
    match answer.outcome.error_code() {
        Some(-32601) if has_begun && exchange.method == "session/prompt" => {}
        Some(-32601) => ruling.proved_by(&[exchange.n]).fail(fact!(
            "not-implemented",
            "the agent answered {method} with error -32601; expected every agent to implement it",
            method = exchange.method;
            code = -32601
        )),
        Some(-32000) => ruling.proved_by(&[exchange.n]).inconclusive(fact!(
            "login-needed",
            "the agent answered {method} with error -32000, which asks for a login",
            method = exchange.method;
            code = -32000
        )),
        None if exchange.method == "session/prompt" => ruling.pass(),
        _ => {}
    }
}
