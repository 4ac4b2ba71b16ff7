//! Area `cancelreq`: `$/cancel_request`, in both directions.

use serde_json::Value;

use super::common::NO_METHOD;
use super::support::{Finish, died_after, late_for, waits_for_others};
use crate::areas::cancel::agent::{fails_when_stopped, replied_to};
use crate::areas::{Check, CheckContext, On, of_both};
use crate::conversation::timing::{CANCEL_CROSSING, WRONG_CANCEL, between};
use crate::conversation::{Answer, CallSeen, CancelRequest, Exchange, Outcome, StoppedBy, Trial, UpdateSeen};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::Kind;
use crate::requirement::Party;
use crate::trace::ProcessEvent;
use crate::wire::{Members, RpcId};

pub(super) const CHECKS: &[Check] = &[
    Check::agent("cancelreq.unsupported-ignored.agent", On::CaseEnd(served_after_any)),
    Check::agent("cancelreq.unsupported-ignored.agent", On::Process(died)),
    Check::agent("cancelreq.code.agent", On::End(|ctx, ruling| decide_codes(ctx, StoppedBy::CancelRequest, ruling))),
    Check::agent("cancelreq.internal.agent", On::Response(internal)).only(&["session/prompt"]),
    Check::agent("cancelreq.internal.agent", On::End(|ctx, ruling| decide_codes(ctx, StoppedBy::Close, ruling))),
    Check::agent("cancelreq.flush-first", On::Response(flushed)).only(&["session/prompt"]),
    Check::agent("cancelreq.flush-first", On::Update(flushed_late)),
    Check::client("cancelreq.internal.client", On::Response(gave_up)),
    Check::client("cancelreq.internal.client", On::End(gave_up_otherwise)),
];

/// The requirements of both parties.
pub(super) const BOTH: &[[Check; 2]] = &[
    Check::both(of_both!("cancelreq.response"), On::Response(response)),
    Check::both(of_both!("cancelreq.response"), On::End(no_response)),
    Check::both(of_both!("cancelreq.code"), On::Response(code)),
    Check::both(of_both!("cancelreq.no-reply"), On::Response(no_reply)),
    Check::both(of_both!("cancelreq.no-reply"), On::CaseEnd(served_after_any)),
    Check::both(of_both!("cancelreq.unknown-id"), On::Response(unknown_id)),
    Check::both(of_both!("cancelreq.unknown-id"), On::CaseEnd(served_after_unknown)),
    Check::both(of_both!("cancelreq.own-requests"), On::Call(own_requests)),
    Check::both(of_both!("cancelreq.params"), On::Call(params)),
    Check::both(of_both!("cancelreq.scope"), On::Response(scope)),
];

/// The code of an error for a cancelled request.
const CANCELLED: i64 = -32800;

/// Returns the `$/cancel_request`s that the party received.
fn received<'m>(ctx: &CheckContext<'m>) -> impl DoubleEndedIterator<Item = &'m CancelRequest> {
    ctx.conversation.cancel_requests_of(ctx.from.other())
}

/// Whether this ends a turn whose prompt was cancelled, and the agent had read the cancel: its answer reports the
/// cancel, or it has answered a later request long before. Otherwise the turn may have ended by itself meanwhile, which
/// proves nothing. An agent that ends the turn because of the cancel, but reports another reason, answers the two
/// requests in any order.
fn gave_up_turn(ctx: &CheckContext<'_>, answer: &Answer<'_>) -> bool {
    let Some(cancel) = answer.exchange.and_then(|exchange| exchange.cancel_requested) else { return false };
    let us = received(ctx).find(|known| known.n == cancel).map_or(ctx.us, |known| known.us);
    let continued = || ctx.conversation.answered_after(ctx.from, cancel) && between(us, ctx.us) > CANCEL_CROSSING;
    says_cancelled(answer) || continued()
}

/// Whether the answer reports a cancelled request.
fn says_cancelled(answer: &Answer<'_>) -> bool {
    match answer.outcome {
        Outcome::Result(result) => result.text("stopReason") == Some("cancelled"),
        Outcome::Error(_) => answer.outcome.error_code() == Some(-32800),
    }
}

/// "MUST send one of these responses for the original request."
fn response(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange.filter(|exchange| exchange.cancel_requested.is_some()) else { return };
    let fits = matches!(answer.outcome.error_code(), None | Some(-32800));
    if fits && (exchange.method != "session/prompt" || gave_up_turn(ctx, answer)) {
        ruling.pass();
    }
}

/// As above: the answer did not come within its limit, and a later request was answered meanwhile.
///
/// Correct but unusual: the party does not know `$/cancel_request`, and its answer still waits for a model, a user or a
/// command. Only a request without any of these waits fails, and a question after its turn was cancelled.
fn no_response(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    for open in conversation.open_of(ctx.from.other()).filter(|open| !open.deliberate) {
        let Some((cancel, &verdict)) = open.cancel_requested.zip(conversation.timed_out.get(&open.n)) else { continue };
        let fact = fact!(
            "no-response",
            "the {party} did not answer {method}, which was cancelled with $/cancel_request; expected a response",
            party = ctx.from, method = open.method; id = open.id.to_string()
        );
        // After a cancel of its turn, a question no longer waits for a user.
        let stopped = open.turn_cancelled.filter(|_| open.method == "session/request_permission");
        let since = stopped.map_or(cancel, |stopped| stopped.max(cancel));
        let waits = waits_for_others(&open.method) && stopped.is_none();
        let served = conversation.fence.is_some_and(|fence| fence > since);
        ruling.proved_by(&[open.n, cancel, verdict]).fail_if(!waits && served, fact);
    }
}

/// "An error response with code -32800 (Request Cancelled)."
fn code(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(cancel) = answer.exchange.and_then(|exchange| exchange.cancel_requested) else { return };
    if let Outcome::Error(_) = answer.outcome {
        decide_code(ctx, answer.outcome, cancel, ruling);
    }
}

/// As above: fails another code than -32800 where turns fail whenever the client stops them in this way.
fn decide_codes(ctx: &CheckContext<'_>, by: StoppedBy, ruling: &mut Ruling<'_>) {
    let Some((trial, events)) = fails_when_stopped(ctx, by) else { return };
    if let Some(code) = trial.error.filter(|code| *code != CANCELLED) {
        ruling.proved_by(&events).fail(fact!(
            "wrong-error-code",
            "the agent ended each turn that the client stopped with error {actual}, and no other turn; expected \
            {expected}",
            actual = code, expected = CANCELLED;
            pointer = "/error/code"
        ));
    }
}

/// Passes an error with -32800. Another error may have a reason of its own, whatever its words are.
fn decide_code(ctx: &CheckContext<'_>, outcome: Outcome<'_>, cause: usize, ruling: &mut Ruling<'_>) {
    let code = outcome.error_code();
    if code == Some(CANCELLED) {
        ruling.pass();
    } else {
        ruling.proved_by(&[cause]).inconclusive(fact!(
            "other-error",
            "the {party} answered the cancelled request with {answer}, which may have another reason",
            party = ctx.from, answer = outcome.describe();
            actual = code, pointer = "/error/code"
        ));
    }
}

/// `$/cancel_request` is a notification.
///
/// Correct but unusual: an error without an id that is not about the cancel. See [`replied_to`].
fn no_reply(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    replied_to(ctx, answer, "$/cancel_request", ruling);
}

/// Exercised when a later request was answered.
fn served_after_any(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    if served(ctx).next().is_some() {
        ruling.pass();
    }
}

/// "Cancellation remains optional": an agent without support ignores the notification.
fn died(ctx: &CheckContext<'_>, process: &ProcessEvent, ruling: &mut Ruling<'_>) {
    if let Some(cancel) = received(ctx).next_back().filter(|cancel| died_after(ctx, process, cancel.n)) {
        ruling.proved_by(&[cancel.n]).fail(fact!(
            "exit-after-cancel",
            "the agent exited after {method}; expected no effect",
            method = "$/cancel_request"
        ));
    }
}

/// A `$/cancel_request` for an id without an open request has no request to answer.
fn unknown_id(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let stray = received(ctx).find(|cancel| !cancel.open && Some(&cancel.id) == answer.id);
    if let Some(cancel) = stray.filter(|_| answer.exchange.is_none() && answer.outcome.error_code() == Some(-32800)) {
        ruling.proved_by(&[cancel.n]).fail(fact!(
            "unknown-id-answered",
            "the {party} answered a $/cancel_request for the unknown id {id}; expected no response",
            party = ctx.from, id = cancel.id.to_string(); pointer = "/id"
        ));
    }
}

/// Exercised when a later request was answered.
fn served_after_unknown(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    if served(ctx).any(|cancel| !cancel.open) {
        ruling.pass();
    }
}

/// Returns the cancel requests of the current case after which a fence was answered.
fn served<'m>(ctx: &'m CheckContext<'m>) -> impl Iterator<Item = &'m CancelRequest> {
    let (conversation, fence) = (ctx.conversation, ctx.conversation.fence);
    received(ctx).filter(move |cancel| conversation.is_of_case(cancel.n) && fence.is_some_and(|fence| fence > cancel.n))
}

/// Returns the id in a `$/cancel_request`, if its type is one for requests.
fn cancelled_id<'v>(call: &CallSeen<'v>) -> Option<&'v Value> {
    let id = call.params?.member("requestId")?;
    (call.method == "$/cancel_request" && (id.is_string() || id.is_number())).then_some(id)
}

/// Whether the party sent a request with this id.
fn sent(ctx: &CheckContext<'_>, id: &RpcId) -> bool {
    let key = (ctx.from, id.clone());
    ctx.conversation.open.contains_key(&key) || ctx.conversation.answered.contains_key(&key)
}

/// Returns the same id with the other type: `5` for `"5"`.
fn retyped(id: &Value) -> RpcId {
    match id {
        Value::String(text) => text.parse::<i64>().map_or(RpcId::Null, |number| RpcId::new(&Value::from(number))),
        other => RpcId::new(&Value::from(other.to_string())),
    }
}

/// `requestId` is "the ID of the request to cancel", which its sender sent.
///
/// Correct but unusual: a request that was answered long ago, and an id that comes back in another spelling of its
/// number.
fn own_requests(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(id) = cancelled_id(call).filter(|id| !sent(ctx, &retyped(id)) || sent(ctx, &RpcId::new(id))) else {
        return;
    };
    if ctx.conversation.initialized.is_some() {
        ruling.decide(sent(ctx, &RpcId::new(id)), || {
            fact!(
                "unknown-request-id",
                "the {party} cancelled the request {id}, which it did not send; expected a request of its own",
                party = ctx.from, id; pointer = "/params/requestId"
            )
        });
    }
}

/// A notification with the id in its own type; the table of shapes decides on a missing member.
///
/// Correct but unusual: the party has two requests whose ids differ only in type, and cancels either. That passes.
fn params(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if call.method != "$/cancel_request" {
        return;
    }
    if call.kind == Kind::Request {
        ruling.fail(fact!(
            "sent-as-request",
            "the {party} sent {method} with an id; expected a notification",
            party = ctx.from, method = call.method; pointer = "/id"
        ));
    }
    if let Some(id) = cancelled_id(call).filter(|id| sent(ctx, &retyped(id)) && !sent(ctx, &RpcId::new(id))) {
        ruling.fail(fact!(
            "id-of-other-type",
            "the {party} sent the requestId {id} in another type than the request has; expected the same type",
            party = ctx.from, id; pointer = "/params/requestId"
        ));
    }
}

/// `$/cancel_request` cancels "the corresponding request"and no other request.
///
/// Correct but unusual: a party that cancels another request for other reasons, such as a time limit: "When internal
/// cancellation occurs, the executing party SHOULD send the same -32800". So does one that closes a session or logs
/// out. In a recording, the reason may be missing, such as a user who cancels both.
fn scope(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = answer.exchange.filter(|exchange| exchange.cancel_requested.is_none()) else { return };
    let mut cancels = received(ctx).filter(|cancel| cancel.open && cancel.n > exchange.n);
    let Some(cancel) = cancels.next_back() else { return };
    let ended = match ctx.from {
        Party::Agent => {
            let finish = Finish::of(ctx, answer);
            finish.is_some_and(|finish| finish.was_cancelled() || finish.log.disturbed.is_some())
                || exchange.session().is_some_and(|id| ctx.conversation.is_overlapped(id))
                || closed_under(ctx, exchange).is_some()
                || ctx.conversation.open_of(Party::Client).any(|open| open.method == "logout")
        }
        Party::Client => may_give_up(ctx, exchange),
    };
    match answer.outcome {
        Outcome::Error(_) if answer.outcome.error_code() == Some(-32800) && !ended => {
            let fact = fact!(
                "other-request-cancelled",
                "the {party} answered {method} as cancelled, but only another request was cancelled",
                party = ctx.from, method = exchange.method; pointer = "/error/code", id = cancel.id.to_string()
            );
            let is_certain = ctx.conversation.whole && between(cancel.us, ctx.us) <= WRONG_CANCEL;
            ruling.proved_by(&[exchange.n, cancel.n]).fail_if(is_certain, fact);
        }
        Outcome::Error(_) => {}
        Outcome::Result(_) => ruling.pass(),
    }
}

/// "When internal cancellation occurs, the executing party SHOULD send the same -32800 (Cancelled) error response."
fn internal(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(ctx, answer) else { return };
    let Some(closed) = finish.turn.closed.filter(|_| finish.turn.cancelled.is_none()) else { return };
    let Outcome::Error(_) = finish.outcome else {
        return if finish.reason() == Some("cancelled") {
            ruling.pass()
        };
    };
    decide_code(ctx, finish.outcome, closed, ruling);
}

/// Whether the client had other reasons to cancel a request of the agent: its turn was cancelled or is over, its
/// session was closed, the connection ends, or a user had to answer.
fn may_give_up(ctx: &CheckContext<'_>, exchange: &Exchange) -> bool {
    let conversation = ctx.conversation;
    let turn_goes_on = exchange
        .session()
        .and_then(|id| conversation.session(id)?.turn.as_ref())
        .is_some_and(|turn| Some(turn.n) == exchange.turn && turn.cancelled.is_none() && turn.closed.is_none());
    let in_turn = exchange.turn.is_some();
    (in_turn && !turn_goes_on)
        || closed_under(ctx, exchange).is_some()
        || conversation.shutting_down.is_some()
        || matches!(exchange.method.as_str(), "session/request_permission" | "elicitation/create")
}

/// Returns the event at which the client closed the session of a request that was open then.
fn closed_under(ctx: &CheckContext<'_>, exchange: &Exchange) -> Option<usize> {
    let session = exchange.session()?;
    let closing = ctx.conversation.open_of(Party::Client).find(|open| is_closing(open, session) && open.n > exchange.n);
    let closed = || ctx.conversation.session(session)?.closed.filter(|&closed| closed > exchange.n);
    closing.map(|open| open.n).or_else(closed)
}

fn is_closing(open: &Exchange, session: &str) -> bool {
    open.method == "session/close" && open.session() == Some(session)
}

/// As above, for a client that closes a session while a request of the agent is open in it.
fn gave_up(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let own = |exchange: &&Exchange| !exchange.deliberate && exchange.cancel_requested.is_none();
    let Some(exchange) = answer.exchange.filter(own) else { return };
    if let (Some(closed), Outcome::Error(_)) = (closed_under(ctx, exchange), answer.outcome) {
        decide_code(ctx, answer.outcome, closed, ruling);
    }
}

/// As above, for requests that fail with another error whenever the client closes their session.
fn gave_up_otherwise(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let is_refused = |trial: &Trial| trial.error.is_some_and(|code| code != CANCELLED && code != NO_METHOD);
    let alike = |one: &Trial, other: &Trial| {
        one.exchange.from == Party::Agent
            && other.exchange.from == Party::Agent
            && one.exchange.method == other.exchange.method
            && one.exchange.cancel_requested.is_none()
            && other.exchange.cancel_requested.is_none()
    };
    if let Some((trial, events)) = ctx.conversation.trials.contrast(|trial| trial.closed, is_refused, alike) {
        ruling.proved_by(&events).fail(fact!(
            "wrong-error-code",
            "the client answered each {method} of a session that it closed with error {actual}, and no other; \
            expected {expected}",
            method = trial.exchange.method, actual = trial.error, expected = CANCELLED;
            pointer = "/error/code"
        ));
    }
}

/// "MAY finish sending any pending notifications before responding": before, and not after.
fn flushed_late(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(turn) = late_for(ctx, update).filter(|turn| turn.cancel_requested && turn.at_cancel.is_none()) {
        let ended = turn.ended.map(|(n, _)| n);
        ruling.proved_by(ended.as_slice()).fail(fact!(
            "update-after-response",
            "the agent sent {update} after its response to the cancelled request; expected it before the response",
            update = update.variant; session_id = update.session, pointer = "/params/update/sessionUpdate"
        ));
    }
}

/// Exercised by a turn that had output and ended as cancelled; one that continues to its own end proves nothing.
fn flushed(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let cancelled = answer.exchange.is_some_and(|exchange| exchange.cancel_requested.is_some());
    let finish = Finish::of(ctx, answer).filter(|_| cancelled && says_cancelled(answer));
    if finish.is_some_and(|finish| finish.turn.first_output.is_some()) {
        ruling.pass();
    }
}
