//! Area `ext`: a party's additions to the protocol, and its reaction to additions of the other.

mod state;

use serde_json::Value;

pub use self::state::State;
use super::common::{BAD_PARAMS, LOGIN, NO_METHOD};
use super::jsonrpc::response::skipped_in_recording;
use super::support::is_withdrawn;
use crate::areas::{Check, CheckContext, On, of_both};
use crate::conversation::timing::{EXIT_AFTER_MESSAGE, between};
use crate::conversation::{Answer, CallSeen, Outcome, Payload, Trial, has_entries};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::{Member, ProblemKind, Site, WITHDRAWN_MEMBERS, is_former_draft};
use crate::requirement::Party;
use crate::trace::{INVENTED, ProcessEvent};
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("ext.meta-ignored.agent", On::Response(meta_ignored)),
    Check::agent("ext.meta-ignored.agent", On::End(meta_refused)),
    Check::agent("ext.result-meta-tolerated.agent", On::Response(result_meta_tolerated)).only(&["session/prompt"]),
    Check::agent("ext.result-meta-tolerated.agent", On::End(result_meta_refused)),
    Check::agent("ext.capability-checked.agent", On::Response(did_without)),
    Check::agent("ext.capability-checked.agent", On::End(failed_without)),
    Check::client("ext.capability-checked.client", On::Call(went_on)).only(&["session/prompt"]),
];

pub(super) const BOTH: &[[Check; 2]] = &[
    Check::both(of_both!("ext.no-custom-root-fields"), On::Payload(no_custom_root_fields)),
    Check::both(of_both!("ext.trace-keys"), On::Payload(trace_keys)),
    Check::both_alone(of_both!("ext.method-underscore"), On::Call(method_underscore)),
    Check::both_alone(of_both!("ext.direction"), On::Call(direction)),
    Check::both(of_both!("ext.custom-request-answered"), On::Response(custom_request_answered)),
    Check::both(of_both!("ext.custom-request-answered"), On::End(custom_request_passed_over)),
    Check::both(of_both!("ext.unknown-custom-request"), On::Response(unknown_custom_request)),
    Check::both(of_both!("ext.unknown-notification"), On::Response(unknown_notification)),
    Check::both_alone(of_both!("ext.capability-in-meta"), On::Call(capability_in_meta)),
    Check::both(of_both!("ext.capability-checked"), On::Process(broke_off)),
];

/// "Implementations MUST NOT add any custom fields at the root of a type that's part of the specification."
///
/// Correct but unusual: members of drafts and of earlier schemas, any `_meta`, also where the schema does not list it,
/// members of another variant of the same union, such as `content` next to `action: decline`, and any member in
/// `_meta`, `rawInput`, `rawOutput`, the schema of a form or the params of an extension method. All of these are
/// allowed or only noted.
fn no_custom_root_fields(ctx: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    let mut clean = !payload.parts.members.is_empty();
    for member in payload.parts.members.iter().filter(|member| is_custom(payload, member)) {
        let drafted = payload.drafts.contains(&member.at())
            || ctx.conversation.edition.draft_names.contains(member.name)
            || payload.method == "initialize" && is_former_draft(member.name);
        if drafted || WITHDRAWN_MEMBERS.contains(&member.name) || is_for_older_agents(payload, member) {
            ruling.note(fact!(
                "draft-member",
                "the {party} sent the member {pointer} in {method}, which only a draft or an earlier version has",
                party = ctx.from,
                pointer = member.at(),
                method = payload.method
            ));
        } else if is_explained(payload, member) || has_own_mode(ctx, payload) {
            clean = false;
        } else if payload.of_other_revision.contains(&member.at())
            || ctx.conversation.edition.other_revision_has_name(member.name)
        {
            clean = false;
            ruling.note(fact!(
                "newer-member",
                "the {party} sent the member {pointer} in {method}, which schema {revision} has; this edition does \
                not judge it",
                party = ctx.from,
                pointer = member.at(),
                method = payload.method,
                revision = payload.revision
            ));
        } else {
            clean = false;
            ruling.fail(fact!(
                "custom-member",
                "the {party} sent the custom member {pointer} in {part} of {method}; expected custom data in `_meta`",
                party = ctx.from,
                pointer = member.at(),
                part = if payload.is_result { "the result" } else { "the params" },
                method = payload.method
            ));
        }
    }
    for member in payload.parts.members.iter().filter(|member| member.known == Site::OtherVariant) {
        if !is_custom(payload, member) {
            ruling.note(fact!(
                "member-of-other-variant",
                "the {party} sent the member {pointer} in {method}, which only another variant of the object has",
                party = ctx.from,
                pointer = member.at(),
                method = payload.method
            ));
        }
    }
    if clean {
        ruling.pass();
    }
}

/// Whether the member is part of no type at this place. Each kind of update is a type of its own, so only a null may
/// come from another one there.
fn is_custom(payload: &Payload<'_>, member: &Member<'_>) -> bool {
    let of_update =
        payload.method == "session/update" && member.at().rsplit_once('/').is_some_and(|(at, _)| at == "/update");
    match member.known {
        Site::Custom => true,
        Site::OtherVariant => of_update && !member.value.is_null(),
        Site::Defined | Site::Misspelt(_) => false,
    }
}

/// Whether an elicitation has a mode of the agent's own, which brings members of its own.
fn has_own_mode(ctx: &CheckContext<'_>, payload: &Payload<'_>) -> bool {
    let mode = payload.value.text("mode").filter(|_| payload.method == "elicitation/create");
    ctx.conversation.edition.adapter.reserves_values() && mode.is_some_and(|mode| mode.starts_with('_'))
}

/// Whether a client that offers version 2 sends a member of version 1, so that an older agent can read the request.
fn is_for_older_agents(payload: &Payload<'_>, member: &Member<'_>) -> bool {
    let is_offer = payload.method == "initialize" && !payload.is_result;
    is_offer && matches!(member.at().as_str(), "/clientCapabilities" | "/clientInfo")
}

/// Whether another requirement explains the member: its object lacks a required member, which this one probably
/// replaces, it is the `options` of a boolean option, or the result of a client is nested or flat where it must not be.
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
/// Correct but unusual: an error for another reason. The words of an error decide nothing: see [`meta_refused`].
fn meta_ignored(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange.filter(|exchange| !exchange.deliberate) else { return };
    match (answer.outcome, answer.outcome.error_code()) {
        _ if !has_entries(&exchange.params, "_meta") => {}
        (Outcome::Result(_), _) => ruling.pass(),
        (_, Some(BAD_PARAMS | -32600)) => ruling.proved_by(&[exchange.n]).inconclusive(fact!(
            "refused-with-meta",
            "the {party} answered {method} with `_meta` with {answer}, maybe for another reason",
            party = ctx.from,
            method = exchange.method,
            answer = answer.outcome.describe();
            code = answer.outcome.error_code()
        )),
        _ => {}
    }
}

/// As above: `_meta` is the reason for a refusal if the agent refuses each request with it, and accepts the same
/// request each time without it.
fn meta_refused(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let has = |trial: &Trial| has_entries(&trial.exchange.params, "_meta");
    let is_refused = |trial: &Trial| {
        let accepted = trial.turn.as_ref().is_some_and(|turn| turn.acted);
        trial.exchange.from == Party::Client && matches!(trial.error, Some(BAD_PARAMS | -32600)) && !accepted
    };
    let alike = |one: &Trial, other: &Trial| {
        let none = other.exchange.params.member("_meta").is_none();
        (has(other) || none) && one.is_like(other, "_meta")
    };
    if let Some((trial, events)) = ctx.conversation.trials.contrast(has, is_refused, alike) {
        ruling.proved_by(&events).fail(fact!(
            "meta-refused",
            "the agent refused each {method} with `_meta`, and none without; expected it to ignore unknown keys",
            method = trial.exchange.method; code = trial.error
        ));
    }
}

/// `traceparent`, `tracestate` and `baggage` "SHOULD be reserved for W3C trace context".
fn trace_keys(ctx: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for meta in payload.parts.members.iter().filter(|member| member.name == "_meta") {
        for key in ["traceparent", "tracestate", "baggage"] {
            let Some(value) = meta.value.member(key) else { continue };
            let good = value.as_str().is_some_and(|text| key != "traceparent" || is_traceparent(text));
            ruling.decide(good, || {
                fact!(
                    "malformed-trace-context",
                    "the {party} sent {actual} as `{key}` in `_meta`; expected the form of W3C trace context",
                    party = ctx.from,
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
fn method_underscore(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let edition = ctx.conversation.edition;
    if call.known {
        return ruling.pass();
    }
    let plain = |name: &str| name.replace(['_', '-', '/', '.'], "").to_lowercase();
    let parties = [ctx.from, ctx.from.other()];
    let drafted = parties.iter().any(|&party| edition.draft_methods.knows(party, call.method));
    let known = parties.iter().any(|&party| edition.methods.knows(party, call.method));
    let misspelt = edition.methods.names(ctx.from).any(|name| plain(name) == plain(call.method));
    match call.method {
        method if method.starts_with('_') => ruling.pass(),
        _ if known => ruling.pass(),
        // The area `jsonrpc` has requirements on these.
        method if method.starts_with("rpc.") || misspelt => {}
        method if drafted || is_withdrawn(method) => ruling.note(fact!(
            "draft-method",
            "the {party} called {method}, which only a draft or an earlier version has",
            party = ctx.from,
            method
        )),
        method if parties.iter().any(|&party| edition.other_revision_has_method(party, method)) => ruling.note(fact!(
            "newer-method",
            "the {party} called {method}, which only another revision has; this edition does not judge it",
            party = ctx.from,
            method
        )),
        method => ruling.fail(fact!(
            "custom-method-without-underscore",
            "the {party} called {method}; expected a method of the protocol or a leading underscore",
            party = ctx.from, method;
            pointer = "/method"
        )),
    }
}

/// A party calls what the other one implements, and not its own methods.
///
/// Correct but unusual: `$/cancel_request`, which both parties send, and an extension named after a method of the other
/// party, such as `_session/prompt`.
fn direction(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if call.known {
        ruling.pass();
    } else if ctx.conversation.edition.methods.knows(ctx.from.other(), call.method) {
        ruling.fail(fact!(
            "wrong-direction",
            "the {party} called {method}, which only {owner}s call",
            party = ctx.from, method = call.method, owner = ctx.from.other();
            pointer = "/method"
        ));
    }
}

/// "Upon receiving a custom request, implementations MUST respond accordingly with the provided `id`." This check only
/// counts answers.
fn custom_request_answered(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if answer.exchange.is_some_and(|exchange| exchange.method.starts_with('_')) {
        ruling.pass();
    }
}

/// A custom request was ignored if its time limit passed and a later request has an answer.
///
/// Correct but unusual: an extension method that waits for a user or for the end of a turn. The tester's own methods
/// are unknown to a subject, and a recording has no time limits, so such a method cannot fail.
fn custom_request_passed_over(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    for open in conversation.open_of(ctx.from.other()).filter(|open| open.method.starts_with('_') && open.is_sound()) {
        let Some(&verdict) = conversation.timed_out.get(&open.n) else {
            skipped_in_recording(ctx, open, ruling);
            continue;
        };
        if conversation.answered_after(ctx.from, open.n) {
            ruling.proved_by(&[open.n, verdict]).fail(fact!(
                "unanswered-before-later",
                "the {party} did not answer {method} before the time limit, but answered a later request",
                party = ctx.from,
                method = open.method
            ));
        } else {
            ruling.proved_by(&[open.n, verdict]).inconclusive(fact!(
                "unanswered",
                "the {party} did not answer {method} before the time limit",
                party = ctx.from,
                method = open.method
            ));
        }
    }
}

/// An unknown custom request "should" be answered with the error "Method not found".
fn unknown_custom_request(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange.filter(|exchange| exchange.method.starts_with(INVENTED)) else { return };
    match answer.outcome.error_code() {
        Some(NO_METHOD) => ruling.pass(),
        None if matches!(answer.outcome, Outcome::Result(_)) => ruling.proved_by(&[exchange.n]).fail(fact!(
            "unknown-request-accepted",
            "the {party} answered the unknown request {method} with a result; expected error {expected}",
            party = ctx.from,
            method = exchange.method,
            expected = NO_METHOD
        )),
        _ => ruling.note(fact!(
            "other-code",
            "the {party} answered an unknown request with {answer}; expected error {expected}",
            party = ctx.from, answer = answer.outcome.describe(), expected = NO_METHOD;
            code = answer.outcome.error_code()
        )),
    }
}

/// "Unlike with custom requests, implementations SHOULD ignore unrecognized notifications."
fn unknown_notification(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let (conversation, other) = (ctx.conversation, ctx.from.other());
    let unknown = |n: usize, method: &str| {
        !conversation.edition.methods.knows(other, method) && !conversation.deliberate.contains(&n)
    };
    let last = ctx.areas.ext.last_notification.get(&other).filter(|(n, method)| unknown(*n, method));
    if last.zip(answer.exchange).is_some_and(|((n, _), exchange)| exchange.n > *n) {
        ruling.pass();
    }
    let notifications = conversation.notifications.answered_by(answer, other);
    let only = !conversation.is_unclear(other) && notifications.iter().all(|(n, method)| unknown(*n, method));
    if let Some((n, method)) = notifications.last().filter(|_| only) {
        let answered = answer.outcome.describe();
        ruling.proved_by(&[*n]).fail(fact!(
            "notification-answered",
            "the {party} answered the unknown notification {method} with {answer}; expected it to ignore this",
            party = ctx.from, method, answer = answered;
            code = answer.outcome.error_code()
        ));
    }
}

/// Whether a capability object, or one within it, has something in `_meta`.
fn has_meta(capabilities: &Value) -> bool {
    let Some(members) = capabilities.as_object() else { return false };
    let own = members.get("_meta").and_then(Value::as_object);
    own.is_some_and(|meta| !meta.is_empty()) || members.iter().any(|(key, inner)| key != "_meta" && has_meta(inner))
}

/// "Implementations SHOULD use the `_meta` field in capability objects to advertise support for extensions."
fn capability_in_meta(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let said = ctx.conversation.introduced(ctx.from).filter(|_| call.method.starts_with('_'));
    let Some((n, _)) = said else { return };
    if ctx.conversation.capabilities(ctx.from).is_some_and(has_meta) {
        ruling.pass();
    } else {
        let place =
            if ctx.from == Party::Agent { "the capabilities in the result" } else { "the capabilities in the params" };
        ruling.proved_by(&[*n]).fail(fact!(
            "extension-not-advertised",
            "the {party} called {method}; expected `_meta` in {place} of initialize to advertise it",
            party = ctx.from,
            method = call.method,
            place
        ));
    }
}

/// Whether the error of this method reports that the other side lacks an extension of the party.
fn is_own_and_missing(ctx: &CheckContext<'_>, method: &str, code: i64) -> bool {
    let used = || ctx.conversation.has_sent(ctx.from, method);
    code == NO_METHOD && method.starts_with('_') && used()
}

/// An unknown custom request is answered with "Method not found", and its sender continues without it: its next message
/// proves that.
fn went_on(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let mut errors = ctx.conversation.errors.values();
    if call.method == "session/prompt" && errors.any(|(method, code)| is_own_and_missing(ctx, method, *code)) {
        ruling.pass();
    }
}

/// As above, for an agent: its answer to a waiting request of the client proves that.
fn did_without(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange.filter(|exchange| !exchange.method.starts_with('_')) else { return };
    let mut errors = ctx.conversation.errors.range(exchange.n..);
    let missing = errors.any(|(_, (method, code))| is_own_and_missing(ctx, method, *code));
    if missing && matches!(answer.outcome, Outcome::Result(_)) {
        ruling.pass();
    }
}

/// As above: the extension is required if each turn fails in which the client does not know it, and no other turn with
/// the same prompt. The words of an error decide nothing.
fn failed_without(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let has = |trial: &Trial| trial.turn.as_ref().is_some_and(|turn| turn.lacked_extension);
    let alike = |one: &Trial, other: &Trial| is_same_turn(one, other) && (has(other) || was_served(other));
    if let Some((trial, events)) = ctx.conversation.trials.contrast(has, is_failed_turn, alike) {
        ruling.proved_by(&events).fail(fact!(
            "failed-without-extension",
            "the agent failed each turn in which the client lacked its extension, and no other one; expected it to \
            continue";
            code = trial.error
        ));
    }
}

/// Whether a turn ended with an error that does not ask for a login.
fn is_failed_turn(trial: &Trial) -> bool {
    trial.turn.as_ref().is_some_and(|turn| turn.stop.is_none()) && trial.error.is_some_and(|code| code != LOGIN)
}

/// Whether two turns of one session have the same prompt.
fn is_same_turn(one: &Trial, other: &Trial) -> bool {
    one.is_turn_beside(other) && one.is_like(other, "")
}

/// Whether the client answered a request of the turn with a result.
fn was_served(trial: &Trial) -> bool {
    trial.turn.as_ref().is_some_and(|turn| turn.served)
}

/// As above, for a party that exits with a failure directly after the answer.
///
/// Correct but unusual: a party that calls its extension again and again, and exits for another reason. It went on
/// after the same error before.
fn broke_off(ctx: &CheckContext<'_>, process: &ProcessEvent, ruling: &mut Ruling<'_>) {
    // Higher codes are those of shells for signals, which have another cause.
    let failed = matches!(process, ProcessEvent::Exited { code: Some(1..=127), signal: None });
    let last = ctx.conversation.last_line.get(&ctx.from.other());
    let Some(&(n, us)) = last.filter(|_| failed && ctx.conversation.shutting_down.is_none()) else { return };
    let refused = ctx.conversation.errors.get(&n).filter(|(method, code)| is_own_and_missing(ctx, method, *code));
    if let Some((method, _)) = refused.filter(|_| between(us, ctx.us) < EXIT_AFTER_MESSAGE) {
        // Another error that it got may also be the reason.
        let own = |method: &str| ctx.conversation.has_sent(ctx.from, method);
        let mut earlier = ctx.conversation.errors.range(..n);
        if earlier.clone().any(|(_, (other, _))| other == method) {
            return;
        }
        if let Some((other, (method, code))) = earlier.find(|(_, (method, _))| !method.starts_with('_') && own(method))
        {
            return ruling.proved_by(&[n, *other]).inconclusive(fact!(
                "failed-after-errors",
                "the {party} failed after several errors, such as {code} for {method}",
                party = ctx.from,
                code,
                method
            ));
        }
        ruling.proved_by(&[n]).fail(fact!(
            "failed-without-extension",
            "the {party} failed after {method} was answered with error -32601",
            party = ctx.from,
            method
        ));
    }
}

/// Results may carry `_meta`, as all types of the protocol may.
///
/// Correct but unusual: a tool call or a turn that fails for another reason. See [`result_meta_refused`].
fn result_meta_tolerated(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let prompt = answer.exchange.filter(|exchange| exchange.method == "session/prompt");
    let session = prompt.and_then(|prompt| ctx.conversation.session(prompt.session()?));
    let Some((session, turn)) = session.and_then(|session| Some((session, session.turn.as_ref()?))) else { return };
    let Some(carried) = turn.meta_answer else { return };
    let mut tools = turn.tools.iter().filter_map(|id| session.tools.get(id));
    match answer.outcome {
        Outcome::Result(_) if tools.all(|tool| tool.status == "completed") => ruling.pass(),
        _ => ruling.proved_by(&[carried]).inconclusive(fact!(
            "not-completed-after-meta",
            "the agent did not complete a tool call or the turn after a result with `_meta`, maybe for another \
            reason"
        )),
    }
}

/// As above: `_meta` is the reason for a failure if each turn fails in which a result has it, and no other turn with
/// the same prompt. The words of an error decide nothing.
fn result_meta_refused(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let has = |trial: &Trial| trial.turn.as_ref().is_some_and(|turn| turn.meta_answer);
    let alike = |one: &Trial, other: &Trial| is_same_turn(one, other) && was_served(other);
    if let Some((trial, events)) = ctx.conversation.trials.contrast(has, is_failed_turn, alike) {
        ruling.proved_by(&events).fail(fact!(
            "turns-failed-after-meta",
            "the agent failed each turn with a result that had `_meta`, and no other one; expected it to ignore \
            unknown keys";
            code = trial.error
        ));
    }
}
