//! Area `jsonrpc`: responses, and the requests that they answer.

use serde_json::Value;

use crate::areas::support::{asks_first, waits_for_others};
use crate::areas::{Check, CheckContext, On, of_both};
use crate::conversation::timing::{LATE_RESPONSE, OPENING_SILENCE, OUTPUT_SILENCE, between};
use crate::conversation::{Answer, Conversation, Exchange, Session};
use crate::fact;
use crate::finding::Ruling;
use crate::requirement::Party;
use crate::trace::INVENTED;
use crate::wire::{Envelope, Members, RpcId};

pub(in crate::areas) const CHECKS: &[Check] = &[
    Check::agent("jsonrpc.response-always.agent", On::End(prompt_lost)),
    Check::agent("jsonrpc.response-always.agent", On::End(receipt_lost)),
    Check::agent("jsonrpc.response-always.agent", On::End(prompt_unanswered)),
];

pub(in crate::areas) const BOTH: &[[Check; 2]] = &[
    Check::both(of_both!("jsonrpc.notification-no-response"), On::Response(notification_no_response)),
    Check::both(of_both!("jsonrpc.notification-no-response"), On::CaseEnd(notification_unanswered)),
    Check::both(of_both!("jsonrpc.response-always"), On::Response(response_came)),
    Check::both(of_both!("jsonrpc.response-always"), On::End(response_always)),
    Check::both(of_both!("jsonrpc.response-once"), On::Response(response_once)),
    Check::both(of_both!("jsonrpc.response-id"), On::Response(response_id)),
    Check::both(of_both!("jsonrpc.response-id-known"), On::Response(response_id_known)),
    Check::both(of_both!("jsonrpc.response-xor"), On::Message(response_xor)),
];

/// "The Server MUST NOT reply to a Notification." An answer that fits no request and follows a notification is such a
/// reply.
///
/// Correct but unusual: an error with id null that belongs to something else: a line that could not be read, a request
/// that was wrong on purpose, or a request whose id has a fraction and was refused. Any of these leaves the check
/// undecided, as does a recording that begins in the middle.
fn notification_no_response(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let notifications = ctx.conversation.notifications.answered_by(answer, ctx.from.other());
    let unread = ctx.conversation.is_unclear(ctx.from.other());
    let deliberate = notifications.iter().any(|(n, _)| ctx.conversation.deliberate.contains(n));
    // Other requirements cover the two cancellations.
    let own = |method: &str| matches!(method, "session/cancel" | "$/cancel_request");
    if let Some((n, method)) = notifications.iter().rev().find(|(_, method)| !own(method) && !unread && !deliberate) {
        ruling.proved_by(&[*n]).fail(fact!(
            "notification-answered",
            "the {party} sent a response that fits no request after the notification {method}; expected no response",
            party = ctx.from,
            method
        ));
    }
}

/// Exercised when a notification was sent and a later request was answered without an answer in between.
fn notification_unanswered(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let served = ctx.areas.jsonrpc.fenced_notification(ctx.conversation, ctx.from.other());
    if served.is_some_and(|served| ctx.conversation.is_of_case(served)) {
        ruling.pass();
    }
}

/// "the Server MUST reply with a Response" to every request. This check only counts answers.
fn response_came(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if answer.exchange.is_some() {
        ruling.pass();
    }
}

/// A request was ignored if its limit passed and the party answered a later one meanwhile.
///
/// Correct but unusual: a party that waits for its user or a model ([`waits_for_others`], [`asks_first`]); an agent
/// that takes longer than the limit to open a session ([`is_stuck`]), and answers other requests meanwhile; an agent
/// that reports by custom notifications what it does before it answers `initialize`; a party that was stopped; a
/// recording that ends too early. All of these are inconclusive.
fn response_always(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let quick = |open: &&Exchange| !waits_for_others(&open.method);
    let has_sent = conversation.last_line.contains_key(&ctx.from);
    for open in conversation.open_of(ctx.from.other()).filter(|open| open.is_sound()).filter(quick) {
        let Some(&verdict) = conversation.timed_out.get(&open.n) else {
            if is_dropped(ctx, open) {
                ruling.proved_by(&[open.n]).fail(fact!(
                    "dropped",
                    "the {party} answered later requests, and never {method}",
                    party = ctx.from,
                    method = open.method
                ));
            } else {
                skipped_in_recording(ctx, open, ruling);
            }
            continue;
        };
        let later = conversation.fence.filter(|&fence| fence > open.n && !asks_first(&open.method));
        let unanswered = || {
            fact!(
                "unanswered",
                "the {party} did not answer {method} before the time limit",
                party = ctx.from,
                method = open.method
            )
        };
        let passed_over = || {
            fact!(
                "unanswered-before-later",
                "the {party} did not answer {method} before the time limit, but answered a later request",
                party = ctx.from,
                method = open.method
            )
        };
        match later {
            // `ext.custom-request-answered` uses the same evidence.
            None if open.method.starts_with('_') && conversation.answered_after(ctx.from, open.n) => {
                ruling.proved_by(&[open.n, verdict]).fail(passed_over());
            }
            // Opening a session includes the start of its MCP servers and of the agent's own services.
            Some(_) if open.opens_a_session() && !is_stuck(ctx, open) => {
                ruling.proved_by(&[open.n, verdict]).inconclusive(unanswered());
            }
            Some(fence) => ruling.proved_by(&[open.n, verdict, fence]).fail(passed_over()),
            // A party that has sent nothing may start slowly, and so may an agent that reports its progress meanwhile.
            None if open.method == "initialize"
                && conversation.stdout_ended.is_none()
                && has_sent
                && conversation.first_call.is_none() =>
            {
                ruling.proved_by(&[open.n, verdict]).fail(unanswered());
            }
            None => ruling.proved_by(&[open.n, verdict]).inconclusive(unanswered()),
        }
    }
}

/// Leaves the requirement open if the agent has sent nothing since a prompt whose limit passed: it may hang in each
/// prompt, and its answers to other requests say nothing about that.
fn prompt_unanswered(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let is_silent = |open: &&Exchange| conversation.last_line.get(&Party::Agent).is_some_and(|&(n, _)| n < open.n);
    for open in conversation.open_prompts().filter(is_silent) {
        if let Some(&limit) = conversation.timed_out.get(&open.n) {
            ruling.proved_by(&[open.n, limit]).stalled(fact!(
                "prompt-unanswered",
                "the agent did not answer {method} before the time limit, and sent nothing since",
                method = open.method
            ));
        }
    }
}

/// A prompt was lost if the agent ran a later one of the same session to its end, waits for nothing, and has been
/// silent for long: "the Server MUST reply with a Response".
///
/// Correct but unusual: the agent queues prompts, runs several at once, or refuses or cancels one; it answers each of
/// them. An agent that still works, waits for the client, or answers no fence leaves the check undecided.
fn prompt_lost(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    for open in conversation.open_prompts() {
        let Some((id, &limit)) = open.session().zip(conversation.timed_out.get(&open.n)) else { continue };
        let Some(session) = conversation.session(id) else { continue };
        let Some((turn, log)) = session.turn.as_ref().zip(session.log.as_ref()) else { continue };
        let Some(later) = turn.answered.filter(|&later| later > open.n) else { continue };
        let until = conversation.closed_us.unwrap_or(ctx.us);
        let silent = log.last_output_us.is_some_and(|last| between(last, until) > OUTPUT_SILENCE);
        let fact = fact!(
            "prompt-lost",
            "the agent answered a later prompt of the session, and never the prompt before it; expected one response \
            to each";
            method = open.method, session_id = id
        );
        let served = conversation.fence.is_some_and(|fence| fence > later);
        let idles = !is_waiting(conversation, id, session);
        ruling.proved_by(&[open.n, later, limit]).fail_if(silent && idles && served, fact);
    }
}

/// Whether the agent may wait for the client or for a tool before it goes on in the session.
fn is_waiting(conversation: &Conversation, id: &str, session: &Session) -> bool {
    let asks = conversation.open_of(Party::Agent).any(|request| request.session() == Some(id));
    asks || session.tools.values().any(|tool| !tool.is_final())
}

/// As above in version 2, where the agent reported the end of work after the prompt came.
///
/// Correct but unusual: an agent that holds a prompt until its work is over, and then needs long to begin. It does not
/// need longer than a model that pauses.
fn receipt_lost(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    for open in conversation.open_prompts() {
        let Some(id) = open.session() else { continue };
        let Some(session) = conversation.session(id).filter(|session| session.closed.is_none()) else { continue };
        let work = &session.work;
        let Some((idle, _)) = work.history.stopped.as_ref().filter(|(idle, _)| *idle > open.n) else { continue };
        let until = conversation.closed_us.unwrap_or(ctx.us);
        let silent = between(work.updated.1, until) > OUTPUT_SILENCE;
        let idles = !work.is_active() && !is_waiting(conversation, id, session);
        let served = conversation.fence.is_some_and(|fence| fence > *idle);
        if silent && idles && served {
            ruling.proved_by(&[open.n, *idle]).fail(fact!(
                "receipt-lost",
                "the agent reported the end of its work, then nothing, and never answered a prompt that came before \
                that; expected one response to each";
                method = open.method, session_id = id
            ));
        }
    }
}

/// Whether an agent that still lives does not open a session, and has opened others in no time.
///
/// Correct but unusual: an agent that waits for MCP servers, for the end of a running turn, or for an earlier session
/// that still opens.
fn is_stuck(ctx: &CheckContext<'_>, open: &Exchange) -> bool {
    let (least, times) = OPENING_SILENCE;
    let has_servers = open.params.member("mcpServers").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    let works = ctx.areas.jsonrpc.during_work.is_some_and(|n| n >= open.n);
    let mut earlier = ctx.conversation.open_of(Party::Client).filter(|other| other.n < open.n);
    let waits = has_servers || works || earlier.any(Exchange::opens_a_session);
    let usual = ctx.areas.jsonrpc.slowest_opening(&open.method).filter(|_| !waits);
    let lived = ctx.conversation.last_line.get(&Party::Agent).map(|&(_, us)| between(open.us, us));
    usual
        .zip(lived)
        .is_some_and(|(usual, lived)| lived >= least && lived.as_micros() >= usual.as_micros() * u128::from(times))
}

/// Whether a request that the tester invented has no answer at the end, and a later fence has. It needs no work and no
/// user, so parties answer it in the order of such requests, in milliseconds.
///
/// Correct but unusual: a busy machine, or a party that does one thing after another; then later requests wait too. A
/// recording may lack the answer.
fn is_dropped(ctx: &CheckContext<'_>, open: &Exchange) -> bool {
    let is_invented = open.method.starts_with(INVENTED) && open.cancel_requested.is_none();
    let lasted = between(open.us, ctx.us) >= LATE_RESPONSE;
    let is_later = ctx.conversation.fence.is_some_and(|fence| fence > open.n);
    ctx.conversation.whole && is_invented && lasted && is_later
}

/// Leaves open whether a request has an answer that is missing in the recording although a later answer is there. A
/// recording has no time limits, and answers may come in any order.
pub(in crate::areas) fn skipped_in_recording(ctx: &CheckContext<'_>, open: &Exchange, ruling: &mut Ruling<'_>) {
    let skipped = ctx.conversation.answered_after(ctx.from, open.n) && !asks_first(&open.method);
    if !ctx.conversation.whole && skipped {
        ruling.proved_by(&[open.n]).inconclusive(fact!(
            "unanswered-in-recording",
            "the {party} answered a later request, and the recording holds no answer to {method}",
            party = ctx.from,
            method = open.method
        ));
    }
}

/// Each request gets one answer.
///
/// Correct but unusual: a client that uses an id again, after the answer or, wrongly, before it; each of the requests
/// may have an answer. Answers with id null belong to lines that could not be read, and there may be several. A
/// recording that begins in the middle proves nothing.
fn response_once(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    // Each line that cannot be read may get an error response with id null.
    let Some(id) = answer.id.filter(|id| **id != RpcId::Null) else { return };
    if answer.exchange.is_some() {
        ruling.pass();
        return;
    }
    let key = (ctx.from.other(), id.clone());
    if let Some(&first) = ctx.conversation.answered.get(&key).filter(|_| !ctx.conversation.shared_ids.contains(&key)) {
        ruling.proved_by(&[first]).fail(fact!(
            "answered-twice",
            "the {party} answered the request with the id {id} a second time; expected one response",
            party = ctx.from, id = id.to_string();
            pointer = "/id"
        ));
    }
}

/// "id … MUST be the same as the value of the id member in the Request Object", in value and type.
///
/// Correct but unusual: `1.0` for `1`, or other escapes in a string, which are the same value; an answer to a broken
/// line whose id differs from that of an open request by its type alone; in a recording, an answer to a request from
/// before it.
fn response_id(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    // Null is the id of an answer to an unreadable line, and not another form of an id.
    let Some(id) = answer.id.filter(|id| **id != RpcId::Null) else { return };
    if let Some(exchange) = answer.exchange {
        // Nearly every program returns small integers correctly; only unusual ids prove something.
        let is_small = match &exchange.id {
            RpcId::Integer(number) => (-99..=999).contains(number),
            RpcId::Number(number) => number.len() < 4,
            _ => false,
        };
        if !is_small {
            ruling.pass();
        }
        return;
    }
    if is_read_in_garbage(ctx, id) {
        return;
    }
    let mut open = ctx.conversation.open_of(ctx.from.other());
    if let Some(meant) = open.find(|open| converted(&open.id) == converted(id)) {
        if ctx.conversation.holes.anywhere {
            return ruling.proved_by(&[meant.n]).inconclusive(fact!(
                "answer-to-unseen-request",
                "the {party} answered with the id {id}, maybe to a request that the recording does not hold",
                party = ctx.from,
                id = id.to_string();
                pointer = "/id"
            ));
        }
        ruling.proved_by(&[meant.n]).fail(fact!(
            "id-changed",
            "the {party} answered with the id {actual}; expected {expected}, the id of the request {method}",
            party = ctx.from,
            actual = id.to_string(),
            expected = meant.id.to_string(),
            method = meant.method;
            pointer = "/id"
        ));
    }
}

/// Returns what is left of an id in a program that takes it for a text, or a text of digits for a number.
fn converted(id: &RpcId) -> String {
    match id {
        RpcId::Text(text) => match text.trim().parse::<i64>() {
            Ok(number) => number.to_string(),
            Err(_) => text.trim().to_owned(),
        },
        RpcId::Integer(_) | RpcId::Number(_) | RpcId::Odd(_) => id.to_string(),
        RpcId::Null => String::new(),
    }
}

/// An answer names a request of the other party, or null if the request could not be read.
///
/// Correct but unusual: the id of a line that is not a valid request but has an id, and a number above 2^53 that comes
/// back rounded; other requirements cover both. The id of a request in another type is not its id, and
/// `jsonrpc.response-id` owns that mistake. A recording with gaps proves nothing.
fn response_id_known(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let other = ctx.from.other();
    let Some(id) = answer.id.filter(|id| **id != RpcId::Null) else { return };
    if answer.exchange.is_some() {
        return ruling.pass();
    }
    let answered = conversation.answered.contains_key(&(other, id.clone()));
    let is_rounded = conversation.open_of(other).any(|open| !open.id.is_exact() && !id.is_exact());
    if !answered && !is_rounded && !is_read_in_garbage(ctx, id) {
        ruling.fail(fact!(
            "unknown-id",
            "the {party} answered with the id {id}; expected the id of an open request",
            party = ctx.from, id = id.to_string();
            pointer = "/id"
        ));
    }
}

/// "Either the result member or error member MUST be included, but both members MUST NOT be included."
///
/// Correct but unusual: `"result": null`. Only absent members count as absent, so `"error": null` next to a result
/// fails.
fn response_xor(ctx: &CheckContext<'_>, message: &Value, envelope: Envelope<'_>, ruling: &mut Ruling<'_>) {
    let has = |name: &str| message.member(name).is_some();
    if let Envelope::Response { result, error, .. } = envelope {
        ruling.decide(result.is_some() != error.is_some(), || {
            fact!(
                "result-and-error",
                "the {party} sent a response with a result and an error; expected one of them",
                party = ctx.from
            )
        });
    } else if matches!(envelope, Envelope::Unclear) && has("id") && !has("method") {
        ruling.fail(fact!(
            "neither-result-nor-error",
            "the {party} sent a response without result and error; expected one of them",
            party = ctx.from
        ));
    }
}

/// Whether a line of the other party that is not a message holds this id, so that an answer with it may belong to that
/// line.
pub(super) fn is_read_in_garbage(ctx: &CheckContext<'_>, id: &RpcId) -> bool {
    ctx.areas.jsonrpc.garbled_by(ctx.from.other()).any(|line| line.id.as_ref() == Some(id))
}
