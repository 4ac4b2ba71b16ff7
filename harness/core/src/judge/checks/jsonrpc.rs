//! Area `jsonrpc`: the envelope of messages, and how answers belong to requests.

use serde_json::Value;

use super::support::{asks_first, waits_for_others};
use crate::judge::check::{Check, On};
use crate::judge::conversation::Exchange;
use crate::judge::moment::{Answer, CallSeen, Moment, Outcome};
use crate::judge::ruling::Ruling;
use crate::requirement::Party;
use crate::wire::{Envelope, RpcId};

pub(super) const CHECKS: &[Check] = &[
    Check::agent("jsonrpc.version-member.agent", On::Message(version_member)),
    Check::agent("jsonrpc.kind-unambiguous.agent", On::Message(kind_unambiguous)),
    Check::agent("jsonrpc.request-id-type.agent", On::Call(request_id_type)),
    Check::agent("jsonrpc.request-id-not-null.agent", On::Call(request_id_not_null)),
    Check::agent("jsonrpc.request-id-integral.agent", On::Call(request_id_integral)),
    Check::agent("jsonrpc.request-id-unique.agent", On::Call(request_id_unique)),
    Check::agent("jsonrpc.method-string.agent", On::Message(method_string)),
    Check::agent("jsonrpc.method-string.agent", On::Call(method_spelling)),
    Check::agent("jsonrpc.reserved-rpc-prefix.agent", On::Call(reserved_prefix)),
    Check::agent("jsonrpc.params-object.agent", On::Call(params_object)),
    Check::agent("jsonrpc.notification-no-response.agent", On::Response(notification_no_response)),
    Check::agent("jsonrpc.notification-no-response.agent", On::End(notification_unanswered)),
    Check::agent("jsonrpc.response-always.agent", On::Response(response_came)),
    Check::agent("jsonrpc.response-always.agent", On::End(response_always)),
    Check::agent("jsonrpc.response-once.agent", On::Response(response_once)),
    Check::agent("jsonrpc.response-id.agent", On::Response(response_id)),
    Check::agent("jsonrpc.response-id-known.agent", On::Response(response_id_known)),
    Check::agent("jsonrpc.response-xor.agent", On::Message(response_xor)),
    Check::agent("jsonrpc.error-shape.agent", On::Response(error_shape)),
    Check::agent("jsonrpc.error-null-id.agent", On::Response(error_null_id)),
    Check::agent("jsonrpc.error-message-concise.agent", On::Response(error_message_concise)),
    Check::agent("jsonrpc.error-code-range.agent", On::Response(error_code_range)),
    Check::client("jsonrpc.version-member.client", On::Message(version_member)),
    Check::client("jsonrpc.kind-unambiguous.client", On::Message(kind_unambiguous)),
    Check::client("jsonrpc.request-id-type.client", On::Call(request_id_type)),
    Check::client("jsonrpc.request-id-not-null.client", On::Call(request_id_not_null)),
    Check::client("jsonrpc.request-id-integral.client", On::Call(request_id_integral)),
    Check::client("jsonrpc.request-id-unique.client", On::Call(request_id_unique)),
    Check::client("jsonrpc.method-string.client", On::Message(method_string)),
    Check::client("jsonrpc.method-string.client", On::Call(method_spelling)),
    Check::client("jsonrpc.reserved-rpc-prefix.client", On::Call(reserved_prefix)),
    Check::client("jsonrpc.params-object.client", On::Call(params_object)),
    Check::client("jsonrpc.notification-no-response.client", On::Response(notification_no_response)),
    Check::client("jsonrpc.notification-no-response.client", On::End(notification_unanswered)),
    Check::client("jsonrpc.response-always.client", On::Response(response_came)),
    Check::client("jsonrpc.response-always.client", On::End(response_always)),
    Check::client("jsonrpc.response-once.client", On::Response(response_once)),
    Check::client("jsonrpc.response-id.client", On::Response(response_id)),
    Check::client("jsonrpc.response-id-known.client", On::Response(response_id_known)),
    Check::client("jsonrpc.response-xor.client", On::Message(response_xor)),
    Check::client("jsonrpc.error-shape.client", On::Response(error_shape)),
    Check::client("jsonrpc.error-null-id.client", On::Response(error_null_id)),
    Check::client("jsonrpc.error-message-concise.client", On::Response(error_message_concise)),
    Check::client("jsonrpc.error-code-range.client", On::Response(error_code_range)),
];

/// "jsonrpc: … MUST be exactly \"2.0\"."
///
/// Correct but unusual: the member stands last, or its value is spelled with escapes. The parsed value is compared.
fn version_member(_: &Moment<'_>, message: &Value, _: Envelope<'_>, ruling: &mut Ruling<'_>) {
    let version = message.get("jsonrpc");
    ruling.decide(version == Some(&Value::from("2.0")), || match version {
        None => "the member `jsonrpc` is missing".to_owned(),
        Some(other) => format!("`jsonrpc` is {other}, and not \"2.0\""),
    });
}

/// A message is exactly one of request, notification and response.
///
/// Correct but unusual: a result that is null, a result with a `method` inside it, and a call with members of its own. Only
/// the members `method`, `result` and `error` at the root count.
fn kind_unambiguous(_: &Moment<'_>, message: &Value, _: Envelope<'_>, ruling: &mut Ruling<'_>) {
    let has = |name: &str| message.get(name).is_some();
    let answers = has("result") || has("error");
    match (has("method"), answers) {
        (true, true) => ruling.fail("the message has a method and is an answer as well", &[]),
        (false, false) => ruling.fail("the message has neither method nor result nor error", &[]),
        _ => ruling.pass(),
    }
}

/// "id … MUST contain a String, Number, or NULL value"; ACP narrows numbers to integers.
///
/// Correct but unusual: ids that are negative, empty, large, null or a different type in each request. A fraction breaks a
/// SHOULD of its own.
fn request_id_type(_: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(id) = call.id {
        let good = id.is_null() || id.is_string() || id.is_number();
        ruling.decide(good, || format!("the id {id} is no string, number or null"));
    }
}

/// "The use of Null as a value for the id member in a Request is discouraged."
fn request_id_not_null(_: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(id) = call.id {
        ruling.decide(!id.is_null(), || "a request has the id null".to_owned());
    }
}

/// "Numbers SHOULD NOT contain fractional parts."
fn request_id_integral(_: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(number) = call.id.and_then(Value::as_f64) {
        ruling.decide(number.fract() == 0.0, || format!("the id {number} has a fraction"));
    }
}

/// An id tells answers apart only as long as it is not in use twice.
fn request_id_unique(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(id) = call.id.filter(|id| !id.is_null()) {
        let open = moment.talk.open.get(&(moment.from, RpcId::new(id)));
        match open {
            Some(other) => ruling.fail(format!("the id {id} is in use by an unanswered {}", other.method), &[other.n]),
            None => ruling.pass(),
        }
    }
}

/// "method: A String containing the name of the method to be invoked."
///
/// Correct but unusual: a response has no method at all. An absent member says nothing here.
fn method_string(_: &Moment<'_>, message: &Value, _: Envelope<'_>, ruling: &mut Ruling<'_>) {
    if let Some(method) = message.get("method").filter(|method| !method.is_string()) {
        ruling.fail(format!("the method is {method}, and no string"), &[]);
    }
}

/// A method in another spelling than the protocol's is none of its methods.
///
/// Correct but unusual: an extension method that is a copy of one of the protocol's, such as `_session/prompt`. The underscore
/// makes it a custom method.
fn method_spelling(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let methods = &moment.talk.edition.methods;
    if methods.knows(moment.from, call.method) {
        return ruling.pass();
    }
    let plain = |name: &str| name.replace(['_', '-', '/', '.'], "").to_lowercase();
    let mut names = methods.names(moment.from);
    let meant = names.find(|known| *known != call.method && plain(known) == plain(call.method));
    match meant {
        Some(known) if !call.method.starts_with('_') => {
            ruling.fail(format!("the method `{}` is spelt `{known}` in the protocol", call.method), &[]);
        }
        _ => ruling.pass(),
    }
}

/// "Method names that begin with the word rpc followed by a period character … MUST NOT be used for anything else."
///
/// Correct but unusual: names such as `_rpc.ping` and `rpc_ping`. Only the prefix `rpc.` is reserved.
fn reserved_prefix(_: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    ruling.decide(!call.method.starts_with("rpc."), || format!("the method `{}` is reserved by JSON-RPC", call.method));
}

/// ACP types all params as objects.
///
/// Correct but unusual: params that are absent, null or `{}`, also for extension methods. Only lists and scalars fail.
fn params_object(_: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(params) = call.params {
        ruling.decide(params.is_object() || params.is_null(), || "params are neither an object nor null".to_owned());
    }
}

/// "The Server MUST NOT reply to a Notification." An answer that fits no request, behind a notification, is one.
///
/// Correct but unusual: an error with id null that belongs to something else: a line that could not be read, a request that
/// was wrong on purpose, or a request whose id has a fraction and was refused. Any of these leaves the check undecided, as
/// does a recording that begins in the middle.
fn notification_no_response(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let told = moment.talk.told.answered_by(answer, moment.from.other());
    let unread = moment.talk.is_unclear(moment.from.other());
    let deliberate = told.iter().any(|(n, _)| moment.talk.deliberate.contains(n));
    // The two cancellations have requirements of their own about this.
    let own = |method: &str| matches!(method, "session/cancel" | "$/cancel_request");
    if let Some((n, method)) = told.iter().rev().find(|(_, method)| !own(method) && !unread && !deliberate) {
        ruling.fail(format!("an answer without a request came after the notification {method}"), &[*n]);
    }
}

/// Exercised when a notification was sent and a later request was answered without an answer in between.
fn notification_unanswered(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    let told = moment.talk.last_notification.get(&moment.from.other());
    if told.zip(moment.talk.fence).is_some_and(|((told, _), fence)| *told < fence) {
        ruling.pass();
    }
}

/// "the Server MUST reply with a Response" to every request. This half only counts answers.
fn response_came(_: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if answer.exchange.is_some() {
        ruling.pass();
    }
}

/// A request is passed over when it was waited for until its limit, and the party answered a later one meanwhile.
///
/// Correct but unusual: a party that waits for its user or a model ([`waits_for_others`], [`asks_first`]); an agent that takes
/// longer than the limit to open a session, and answers other requests meanwhile; an agent that reports by custom
/// notifications what it does before it answers `initialize`; a party that was stopped; a recording that ends too early.
/// All of these are inconclusive.
fn response_always(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    let talk = moment.talk;
    let quick = |open: &&Exchange| !waits_for_others(&open.method);
    let has_spoken = talk.course.last_line.contains_key(&moment.from);
    for open in talk.open_of(moment.from.other()).filter(|open| open.is_sound()).filter(quick) {
        let Some(&verdict) = talk.timed_out.get(&open.n) else {
            skipped_in_recording(moment, open, ruling);
            continue;
        };
        let later = talk.fence.filter(|&fence| fence > open.n && !asks_first(&open.method));
        let waited = "had no answer before its time limit";
        match later {
            // `ext.custom-request-answered` rests on the same evidence.
            None if open.method.starts_with('_') && talk.answered_after(moment.from, open.n) => {
                let message = format!("{} {waited}, though a later request was answered", open.method);
                ruling.fail(message, &[open.n, verdict]);
            }
            // To open a session takes as long as its MCP servers and the agent's own services take to start.
            Some(_) if opens_a_session(&open.method) => {
                ruling.inconclusive(format!("{} {waited}", open.method), &[open.n, verdict]);
            }
            Some(fence) => {
                let message = format!("{} {waited}, though a later request was answered", open.method);
                ruling.fail(message, &[open.n, verdict, fence]);
            }
            // Who has said nothing at all may be slow to start, and so may an agent that reports what it does meanwhile.
            None if open.method == "initialize"
                && talk.stdout_ended.is_none()
                && has_spoken
                && talk.course.first_call.is_none() =>
            {
                ruling.fail(format!("initialize {waited}"), &[open.n, verdict]);
            }
            None => ruling.inconclusive(format!("{} {waited}", open.method), &[open.n, verdict]),
        }
    }
}

/// Whether the request opens a session, new or old.
fn opens_a_session(method: &str) -> bool {
    matches!(method, "session/new" | "session/load" | "session/resume" | "session/fork")
}

/// Leaves open whether a request has an answer that the recording does not hold although it holds the answer to a later one.
/// A recording knows no time limits, and answers may come in any order.
pub(super) fn skipped_in_recording(moment: &Moment<'_>, open: &Exchange, ruling: &mut Ruling<'_>) {
    let skipped = moment.talk.answered_after(moment.from, open.n) && !asks_first(&open.method);
    if !moment.talk.whole && skipped {
        let message = format!("the recording holds no answer to {}, though a later request was answered", open.method);
        ruling.inconclusive(message, &[open.n]);
    }
}

/// One request, one answer.
///
/// Correct but unusual: a client that uses an id again, after the answer or, wrongly, before it; each of the requests may have
/// an answer. Answers with id null belong to lines that could not be read, and there may be several. A recording that begins
/// in the middle shows nothing.
fn response_once(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    // Each line that cannot be read may get an error response with id null.
    let Some(id) = answer.id.filter(|id| **id != RpcId::Null) else { return };
    if answer.exchange.is_some() {
        ruling.pass();
        return;
    }
    let key = (moment.from.other(), id.clone());
    if let Some(&first) = moment.talk.answered.get(&key).filter(|_| !moment.talk.shared_ids.contains(&key)) {
        ruling.fail(format!("the request with id {id} was answered before"), &[first]);
    }
}

/// "id … MUST be the same as the value of the id member in the Request Object", in value and type.
///
/// Correct but unusual: `1.0` for `1`, or other escapes in a string, which are the same value; an answer to a broken line
/// whose id differs from that of an open request by its type alone; in a recording, an answer to a request from before it.
fn response_id(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    // Null is the id of an answer to what could not be read, and no form of another id.
    let Some(id) = answer.id.filter(|id| **id != RpcId::Null) else { return };
    if let Some(exchange) = answer.exchange {
        // Small integers come back right from nearly everything; only ids that tempt to convert show something.
        if !matches!(&exchange.id, RpcId::Number(number) if number.len() < 4) {
            ruling.pass();
        }
        return;
    }
    if is_read_in_garbage(moment, id) {
        return;
    }
    let mut open = moment.talk.open_of(moment.from.other());
    if let Some(meant) = open.find(|open| converted(&open.id) == converted(id)) {
        if moment.talk.holes.anywhere {
            let message = format!("the answer with the id {id} may be to a request that the recording does not hold");
            return ruling.inconclusive(message, &[meant.n]);
        }
        ruling.fail(format!("the request has the id {}, and its answer {id}", meant.id), &[meant.n]);
    }
}

/// Whether a line of the other party that is not a message holds this id, so that an answer with it may be to that line.
fn is_read_in_garbage(moment: &Moment<'_>, id: &RpcId) -> bool {
    let lines = moment.talk.course.garbled.get(&moment.from.other());
    lines.into_iter().flatten().any(|line| line.id.as_ref() == Some(id))
}

fn converted(id: &RpcId) -> String {
    match id {
        RpcId::Text(text) => text.trim().to_owned(),
        RpcId::Number(text) | RpcId::Odd(text) => text.clone(),
        RpcId::Null => String::new(),
    }
}

/// An answer names a request of the other party, or null where the request could not be read.
///
/// Correct but unusual: the id of a line that is not a valid request but has an id, and a number above 2^53 that comes back
/// rounded, which other requirements are about. A recording with gaps shows nothing.
fn response_id_known(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let talk = moment.talk;
    let other = moment.from.other();
    let Some(id) = answer.id.filter(|id| **id != RpcId::Null) else { return };
    let answered = talk.answered.contains_key(&(other, id.clone()));
    let same = |open: &Exchange| converted(&open.id) == converted(id) || !open.id.is_exact() && !id.is_exact();
    let converted_one = talk.open_of(other).any(same);
    if answer.exchange.is_some() {
        ruling.pass();
    } else if !answered && !converted_one && !is_read_in_garbage(moment, id) {
        ruling.fail(format!("no request had the id {id}"), &[]);
    }
}

/// "Either the result member or error member MUST be included, but both members MUST NOT be included."
///
/// Correct but unusual: `"result": null`. Only absent members count as absent, so `"error": null` next to a result fails.
fn response_xor(_: &Moment<'_>, message: &Value, envelope: Envelope<'_>, ruling: &mut Ruling<'_>) {
    let has = |name: &str| message.get(name).is_some();
    if let Envelope::Response { result, error, .. } = envelope {
        ruling.decide(result.is_some() != error.is_some(), || "the answer has a result and an error".to_owned());
    } else if matches!(envelope, Envelope::Unclear) && has("id") && !has("method") {
        ruling.fail("the answer has neither a result nor an error", &[]);
    }
}

/// "code: … MUST be an integer"; "message: A String".
///
/// Correct but unusual: `-32601.0`, an empty message, `data` of any kind, and a code of the program's own.
fn error_shape(_: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Outcome::Error(error) = answer.outcome else { return };
    let code = error.get("code").is_some_and(|code| code.is_i64() || code.is_u64());
    let message = error.get("message").is_some_and(Value::is_string);
    ruling
        .decide(code && message, || format!("the error object {error} wants an integer `code` and a string `message`"));
}

/// "If there was an error in detecting the id in the Request object …, it MUST be Null."
///
/// Correct but unusual: silence, and an answer with the id of a line that is JSON but not a request: that id could be read.
fn error_null_id(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(&unread) = moment.talk.unreadable.get(&moment.from.other()) else { return };
    let code = answer.outcome.error_code();
    match answer.id {
        _ if answer.exchange.is_some() => {}
        Some(RpcId::Null) => ruling.pass(),
        // Some clients leave the member out, which no agent can take for an answer to anything else.
        None if moment.from == Party::Client => ruling.note("the answer to an unreadable line has no member `id`"),
        None => ruling.fail("the answer to an unreadable line has no member `id`", &[unread]),
        Some(id) if code == Some(-32700) && !is_read_in_garbage(moment, id) => {
            ruling.fail(format!("the answer to an unreadable line has the id {id}, and not null"), &[unread]);
        }
        Some(_) => {}
    }
}

/// "The message SHOULD be limited to a concise single sentence."
fn error_message_concise(_: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    const LONGEST: usize = 300;
    let Outcome::Error(error) = answer.outcome else { return };
    if let Some(text) = error.get("message").and_then(Value::as_str) {
        let good = !text.trim().is_empty() && !text.trim().contains('\n') && text.chars().count() <= LONGEST;
        ruling.decide(good, || "the error message is empty, long or has line breaks".to_owned());
    }
}

/// "The error codes from and including -32768 to -32000 are reserved."
fn error_code_range(_: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if let Some(code) = answer.outcome.error_code() {
        let reserved = (-32768..=-32000).contains(&code);
        let defined = matches!(code, -32700 | -32603..=-32600 | -32099..=-32000);
        ruling.decide(!reserved || defined, || format!("the code {code} is reserved and not defined"));
    }
}
