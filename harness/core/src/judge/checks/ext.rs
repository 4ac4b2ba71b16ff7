//! Area `ext`: a party's additions to the protocol, and its reaction to additions of the other.

use serde_json::Value;

use super::common::{LOGIN, NO_METHOD, mentions};
use super::jsonrpc::response::skipped_in_recording;
use crate::fact;
use crate::judge::check::{Check, On};
use crate::judge::moment::Moment;
use crate::judge::outcome::Outcome;
use crate::judge::ruling::Ruling;
use crate::judge::seen::{Answer, CallSeen, Payload};
use crate::judge::timing::{EXIT_AFTER_MESSAGE, between};
use crate::protocol::{Member, ProblemKind, Site};
use crate::requirement::Party;
use crate::trace::{INVENTED, ProcessEvent};
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("ext.meta-ignored.agent", On::Response(meta_ignored)),
    Check::agent("ext.result-meta-tolerated.agent", On::Response(result_meta_tolerated)).only(&["session/prompt"]),
    Check::agent("ext.capability-checked.agent", On::Response(did_without)),
    Check::client("ext.capability-checked.client", On::Call(went_on)).only(&["session/prompt"]),
];

pub(super) const BOTH: &[[Check; 2]] = &[
    Check::both(
        ["ext.no-custom-root-fields.agent", "ext.no-custom-root-fields.client"],
        On::Payload(no_custom_root_fields),
    ),
    Check::both(["ext.trace-keys.agent", "ext.trace-keys.client"], On::Payload(trace_keys)),
    Check::both(["ext.method-underscore.agent", "ext.method-underscore.client"], On::Call(method_underscore)),
    Check::both(["ext.direction.agent", "ext.direction.client"], On::Call(direction)),
    Check::both(
        ["ext.custom-request-answered.agent", "ext.custom-request-answered.client"],
        On::Response(custom_request_answered),
    ),
    Check::both(
        ["ext.custom-request-answered.agent", "ext.custom-request-answered.client"],
        On::End(custom_request_passed_over),
    ),
    Check::both(
        ["ext.unknown-custom-request.agent", "ext.unknown-custom-request.client"],
        On::Response(unknown_custom_request),
    ),
    Check::both(
        ["ext.unknown-notification.agent", "ext.unknown-notification.client"],
        On::Response(unknown_notification),
    ),
    Check::both(["ext.capability-in-meta.agent", "ext.capability-in-meta.client"], On::Call(capability_in_meta)),
    Check::both(["ext.capability-checked.agent", "ext.capability-checked.client"], On::Process(broke_off)),
];

/// Members of messages in earlier schemas. They are legacy, and not names of extensions.
const WITHDRAWN: [&str; 20] = [
    "authMethods",
    "authRequired",
    "availableCommands",
    "clientTools",
    "commandName",
    "connectionId",
    "diff",
    "label",
    "link",
    "meta",
    "modelId",
    "models",
    "nes",
    "optional",
    "planCapabilities",
    "positionEncoding",
    "positionEncodings",
    "stop",
    "userMessageId",
    "vars",
];

/// Methods of earlier drafts; those of clients first.
const WITHDRAWN_METHODS: [&str; 11] = [
    "mcp/connect",
    "mcp/disconnect",
    "session/elicitation",
    "session/elicitation/complete",
    "nes/accept",
    "nes/close",
    "nes/reject",
    "nes/start",
    "nes/suggest",
    "session/set_model",
    "session/stop",
];

/// The prefix of a family of methods in earlier drafts.
const WITHDRAWN_FAMILY: &str = "document/did";

/// Whether earlier drafts had the method.
pub(super) fn is_withdrawn(method: &str) -> bool {
    WITHDRAWN_METHODS.contains(&method) || method.starts_with(WITHDRAWN_FAMILY)
}

/// "Implementations MUST NOT add any custom fields at the root of a type that's part of the specification."
///
/// Correct but unusual: members of drafts and of earlier schemas, and any member in `_meta`, `rawInput`, `rawOutput`, the
/// schema of a form or the params of an extension method. All of these are allowed or only noted.
fn no_custom_root_fields(moment: &Moment<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    let mut clean = !payload.parts.members.is_empty();
    for member in payload.parts.members.iter().filter(|member| member.known == Site::Custom) {
        let drafted = payload.drafts.contains(&member.at()) || moment.talk.edition.draft_names.contains(member.name);
        if drafted || WITHDRAWN.contains(&member.name) || is_for_older_agents(payload, member) {
            ruling.note(fact!(
                "draft-member",
                "the {party} sent the member {pointer} in {method}, which only a draft or an earlier version has",
                party = moment.from,
                pointer = member.at(),
                method = payload.method
            ));
        } else if is_explained(payload, member) || has_own_mode(moment, payload) {
            clean = false;
        } else {
            clean = false;
            let fact = fact!(
                "custom-member",
                "the {party} sent the custom member {pointer} in {part} of {method}; expected custom data in `_meta`",
                party = moment.from,
                pointer = member.at(),
                part = if payload.is_result { "the result" } else { "the params" },
                method = payload.method
            );
            ruling.fail(fact, &[]);
        }
    }
    if clean {
        ruling.pass();
    }
}

/// Whether an elicitation has a mode of the agent's own, which brings members of its own.
fn has_own_mode(moment: &Moment<'_>, payload: &Payload<'_>) -> bool {
    let mode = payload.value.member("mode").and_then(Value::as_str).filter(|_| payload.method == "elicitation/create");
    moment.talk.edition.adapter.reserves_values() && mode.is_some_and(|mode| mode.starts_with('_'))
}

/// Whether a client that offers version 2 sends a member of version 1, so that an older agent can read the request.
fn is_for_older_agents(payload: &Payload<'_>, member: &Member<'_>) -> bool {
    let is_offer = payload.method == "initialize" && !payload.is_result;
    is_offer && matches!(member.at().as_str(), "/clientCapabilities" | "/clientInfo")
}

/// Whether another requirement explains the member: its object lacks a required member, which this one probably replaces, it is
/// the `options` of a boolean option, or the result of a client is nested or flat where it must not be.
fn is_explained(payload: &Payload<'_>, member: &Member<'_>) -> bool {
    let parent = |at: &str| at.rsplit_once('/').map_or(String::new(), |(parent, _)| parent.to_owned());
    let object = parent(&member.at());
    let misnamed = payload.problems.iter().any(|p| p.kind == ProblemKind::Missing && parent(&p.at) == object);
    let kind = payload.value.pointer(&object).and_then(|object| object.member("type"));
    let misplaced = payload.is_result
        && matches!(
            (payload.method, member.at().as_str()),
            ("terminal/wait_for_exit", "/exitStatus") | ("session/request_permission", "/optionId")
        );
    misnamed || misplaced || member.name == "options" && kind == Some(&Value::from("boolean"))
}

/// Unknown keys in `_meta` change nothing: "Implementations MUST NOT make assumptions about values at these keys."
///
/// Correct but unusual: an error for another reason that repeats the request with its `_meta`, and, in a recording, an error
/// about a key that the agent may have defined itself. Both are inconclusive.
fn meta_ignored(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange.filter(|exchange| !exchange.deliberate) else { return };
    let carried = exchange.params.member("_meta").and_then(Value::as_object).is_some_and(|meta| !meta.is_empty());
    match answer.outcome {
        _ if !carried => {}
        Outcome::Result(_) => ruling.pass(),
        Outcome::Error(error) if mentions(answer.outcome, "_meta") => {
            let refused = || {
                fact!(
                    "meta-refused",
                    "the {party} answered {method} with `_meta` with {answer}; expected it to ignore unknown keys",
                    party = moment.from,
                    method = exchange.method,
                    answer = answer.outcome.describe();
                    code = answer.outcome.error_code()
                )
            };
            let maybe_refused = || {
                fact!(
                    "refused-with-meta",
                    "the {party} answered {method} with `_meta` with {answer}, maybe for another reason",
                    party = moment.from,
                    method = exchange.method,
                    answer = answer.outcome.describe();
                    code = answer.outcome.error_code()
                )
            };
            let keys =
                exchange.params.member("_meta").and_then(Value::as_object).into_iter().flat_map(|meta| meta.keys());
            let own = !moment.talk.whole && keys.into_iter().any(|key| mentions(answer.outcome, key));
            if own || repeats_meta(error, &exchange.params) || answer.outcome.error_code() == Some(LOGIN) {
                ruling.inconclusive(maybe_refused(), &[exchange.n]);
            } else {
                ruling.fail(refused(), &[exchange.n]);
            }
        }
        Outcome::Error(_) => {}
    }
}

/// Whether the data of an error contains the `_meta` of the request unchanged.
fn repeats_meta(error: &Value, params: &Value) -> bool {
    fn holds(value: &Value, meta: &Value) -> bool {
        match value {
            Value::Object(members) => {
                members.iter().any(|(key, value)| key == "_meta" && value == meta || holds(value, meta))
            }
            Value::Array(items) => items.iter().any(|item| holds(item, meta)),
            _ => false,
        }
    }
    error.member("data").zip(params.member("_meta")).is_some_and(|(data, meta)| holds(data, meta))
}

/// `traceparent`, `tracestate` and `baggage` "SHOULD be reserved for W3C trace context".
fn trace_keys(moment: &Moment<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for meta in payload.parts.members.iter().filter(|member| member.name == "_meta") {
        for key in ["traceparent", "tracestate", "baggage"] {
            let Some(value) = meta.value.member(key) else { continue };
            let good = value.as_str().is_some_and(|text| key != "traceparent" || is_traceparent(text));
            ruling.decide(good, || {
                fact!(
                    "malformed-trace-context",
                    "the {party} sent {actual} as `{key}` in `_meta`; expected the form of W3C trace context",
                    party = moment.from,
                    actual = value.to_string(),
                    key;
                    pointer = meta.at()
                )
            });
        }
    }
}

/// Whether a text has the form `version-traceid-parentid-flags`, in lower-case hexadecimal digits.
fn is_traceparent(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let hex = |part: &str| part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let long = |part: &&str, length| part.len() == length && hex(part);
    matches!(parts.as_slice(), [version, trace, parent, flags, ..]
        if long(version, 2) && long(trace, 32) && long(parent, 16) && long(flags, 2))
}

/// Custom methods are allowed "as long as their name starts with an underscore (`_`)".
///
/// Correct but unusual: methods of drafts and of earlier schemas, which are only noted, and `_` alone.
fn method_underscore(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let edition = moment.talk.edition;
    if call.known {
        return ruling.pass();
    }
    let plain = |name: &str| name.replace(['_', '-', '/', '.'], "").to_lowercase();
    let parties = [moment.from, moment.from.other()];
    let drafted = parties.iter().any(|&party| edition.draft_methods.knows(party, call.method));
    let known = parties.iter().any(|&party| edition.methods.knows(party, call.method));
    let misspelt = edition.methods.names(moment.from).any(|name| plain(name) == plain(call.method));
    match call.method {
        method if method.starts_with('_') => ruling.pass(),
        _ if known => ruling.pass(),
        // The area `jsonrpc` has requirements on these.
        method if method.starts_with("rpc.") || misspelt => {}
        method if drafted || is_withdrawn(method) => {
            ruling.note(fact!("draft-method", "the {party} called {method}, which only a draft or an earlier version has", party = moment.from, method));
        }
        method => ruling.fail(fact!("custom-method-without-underscore", "the {party} called {method}; expected a method of the protocol or a leading underscore", party = moment.from, method; pointer = "/method"), &[]),
    }
}

/// A party calls what the other one implements, and not its own methods.
///
/// Correct but unusual: `$/cancel_request`, which both parties send, and an extension named after a method of the other party,
/// such as `_session/prompt`.
fn direction(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if call.known {
        ruling.pass();
    } else if moment.talk.edition.methods.knows(moment.from.other(), call.method) {
        ruling.fail(fact!("wrong-direction", "the {party} called {method}, which only {owner}s call", party = moment.from, method = call.method, owner = moment.from.other(); pointer = "/method"), &[]);
    }
}

/// "Upon receiving a custom request, implementations MUST respond accordingly with the provided `id`." This check only counts
/// answers.
fn custom_request_answered(_: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if answer.exchange.is_some_and(|exchange| exchange.method.starts_with('_')) {
        ruling.pass();
    }
}

/// A custom request was ignored if its time limit passed and a later request has an answer.
///
/// Correct but unusual: an extension method that waits for a user or for the end of a turn. The tester's own methods are
/// unknown to a subject, and a recording has no time limits, so such a method cannot fail.
fn custom_request_passed_over(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    let talk = moment.talk;
    for open in talk.open_of(moment.from.other()).filter(|open| open.method.starts_with('_') && open.is_sound()) {
        let Some(&verdict) = talk.timed_out.get(&open.n) else {
            skipped_in_recording(moment, open, ruling);
            continue;
        };
        if talk.answered_after(moment.from, open.n) {
            let fact = fact!(
                "unanswered-before-later",
                "the {party} did not answer {method} before the time limit, but answered a later request",
                party = moment.from,
                method = open.method
            );
            ruling.fail(fact, &[open.n, verdict]);
        } else {
            let fact = fact!(
                "unanswered",
                "the {party} did not answer {method} before the time limit",
                party = moment.from,
                method = open.method
            );
            ruling.inconclusive(fact, &[open.n, verdict]);
        }
    }
}

/// An unknown custom request "should" be answered with the error "Method not found".
fn unknown_custom_request(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange.filter(|exchange| exchange.method.starts_with(INVENTED)) else { return };
    match answer.outcome.error_code() {
        Some(NO_METHOD) => ruling.pass(),
        None if matches!(answer.outcome, Outcome::Result(_)) => {
            ruling.fail(fact!("unknown-request-accepted", "the {party} answered the unknown request {method} with a result; expected error {expected}", party = moment.from, method = exchange.method, expected = NO_METHOD), &[exchange.n]);
        }
        _ => ruling.note(fact!("other-code", "the {party} answered an unknown request with {answer}; expected error {expected}", party = moment.from, answer = answer.outcome.describe(), expected = NO_METHOD; code = answer.outcome.error_code())),
    }
}

/// "Unlike with custom requests, implementations SHOULD ignore unrecognized notifications."
fn unknown_notification(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let (talk, other) = (moment.talk, moment.from.other());
    let unknown = |n: usize, method: &str| !talk.edition.methods.knows(other, method) && !talk.deliberate.contains(&n);
    let last = talk.last_notification.get(&other).filter(|(n, method)| unknown(*n, method));
    if last.zip(answer.exchange).is_some_and(|((n, _), exchange)| exchange.n > *n) {
        ruling.pass();
    }
    let notifications = talk.notifications.answered_by(answer, other);
    let only = !talk.is_unclear(other) && notifications.iter().all(|(n, method)| unknown(*n, method));
    if let Some((n, method)) = notifications.last().filter(|_| only) {
        let answered = answer.outcome.describe();
        ruling.fail(fact!("notification-answered", "the {party} answered the unknown notification {method} with {answer}; expected it to ignore this", party = moment.from, method, answer = answered; code = answer.outcome.error_code()), &[*n]);
    }
}

/// "Implementations SHOULD use the `_meta` field in capability objects to advertise support for extensions."
fn capability_in_meta(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let (from_agent, talk) = (moment.from == Party::Agent, moment.talk);
    let said = if from_agent { &talk.initialized } else { &talk.initialize };
    let (true, Some((n, said))) = (call.method.starts_with('_'), said) else { return };
    if said.to_string().contains("\"_meta\":{\"") {
        ruling.pass();
    } else {
        let place = if from_agent { "the result" } else { "the params" };
        ruling.fail(
            fact!(
                "extension-not-advertised",
                "the {party} called {method}; expected `_meta` in {place} of initialize to advertise it",
                party = moment.from,
                method = call.method,
                place
            ),
            &[*n],
        );
    }
}

/// Whether the error of this method reports that the other side lacks an extension of the party.
fn is_own_and_missing(moment: &Moment<'_>, method: &str, code: i64) -> bool {
    let used = || moment.talk.has_sent(moment.from, method);
    code == NO_METHOD && method.starts_with('_') && used()
}

/// An unknown custom request is answered with "Method not found", and its sender continues without it: its next message proves
/// that.
fn went_on(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let mut errors = moment.talk.errors.values();
    if call.method == "session/prompt" && errors.any(|(method, code)| is_own_and_missing(moment, method, *code)) {
        ruling.pass();
    }
}

/// As above, for an agent: its answer to a waiting request of the client proves that.
fn did_without(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange.filter(|exchange| !exchange.method.starts_with('_')) else { return };
    let mut errors = moment.talk.errors.range(exchange.n..);
    let Some((n, (method, _))) = errors.find(|(_, (method, code))| is_own_and_missing(moment, method, *code)) else {
        return;
    };
    match answer.outcome {
        Outcome::Result(_) => ruling.pass(),
        Outcome::Error(_) if mentions(answer.outcome, method) => {
            let answered = answer.outcome.describe();
            ruling
                .fail(fact!("failed-without-extension", "the agent answered {method} with {answer}, since the client lacks {extension}", method = exchange.method, answer = answered, extension = method; code = answer.outcome.error_code()), &[*n]);
        }
        Outcome::Error(_) => {}
    }
}

/// As above, for a party that exits with a failure directly after the answer.
fn broke_off(moment: &Moment<'_>, process: &ProcessEvent, ruling: &mut Ruling<'_>) {
    // Higher codes are those of shells for signals, which have another cause.
    let failed = matches!(process, ProcessEvent::Exited { code: Some(1..=127), signal: None });
    let last = moment.talk.course.last_line.get(&moment.from.other());
    let Some(&(n, us)) = last.filter(|_| failed && moment.talk.shutting_down.is_none()) else { return };
    let refused = moment.talk.errors.get(&n).filter(|(method, code)| is_own_and_missing(moment, method, *code));
    if let Some((method, _)) = refused.filter(|_| between(us, moment.us) < EXIT_AFTER_MESSAGE) {
        // Another error that it got may also be the reason.
        let own = |method: &str| moment.talk.has_sent(moment.from, method);
        let mut earlier = moment.talk.errors.range(..n);
        if let Some((other, (method, code))) = earlier.find(|(_, (method, _))| !method.starts_with('_') && own(method))
        {
            let fact = fact!(
                "failed-after-errors",
                "the {party} failed after several errors, such as {code} for {method}",
                party = moment.from,
                code,
                method
            );
            return ruling.inconclusive(fact, &[n, *other]);
        }
        ruling.fail(
            fact!(
                "failed-without-extension",
                "the {party} failed after {method} was answered with error -32601",
                party = moment.from,
                method
            ),
            &[n],
        );
    }
}

/// Results may carry `_meta`, as all types of the protocol may.
///
/// Correct but unusual: a tool call or a turn that fails for another reason. Only an error that names `_meta` fails.
fn result_meta_tolerated(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let prompt = answer.exchange.filter(|exchange| exchange.method == "session/prompt");
    let session = prompt.and_then(|prompt| moment.talk.session(prompt.session()?));
    let Some((session, turn)) = session.and_then(|session| Some((session, session.turn.as_ref()?))) else { return };
    let Some(carried) = turn.meta_answer else { return };
    let mut tools = turn.tools.iter().filter_map(|id| session.tools.get(id));
    match answer.outcome {
        Outcome::Result(_) if tools.all(|tool| tool.status == "completed") => ruling.pass(),
        Outcome::Error(_) if mentions(answer.outcome, "_meta") => {
            let fact = fact!("turn-failed-after-meta", "the agent ended the turn with {answer} after a result with `_meta`; expected it to ignore unknown keys", answer = answer.outcome.describe(); code = answer.outcome.error_code());
            ruling.fail(fact, &[carried]);
        }
        _ => ruling.inconclusive(
            fact!("not-completed-after-meta", "the agent did not complete a tool call or the turn after a result with `_meta`, maybe for another reason"),
            &[carried],
        ),
    }
}
