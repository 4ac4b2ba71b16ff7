//! Area `close`: closing a session ends its work, and has no effect on other sessions.

use crate::areas::cancel::agent::{cancelled_elsewhere, earlier_cancel, fails_when_stopped};
use crate::areas::common::{LOGIN, NO_METHOD, note_null, proper};
use crate::areas::support::Finish;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::timing::{CANCEL_LIMIT, CLEAN_UP, TURN_AFTER_CLOSE, between, millis};
use crate::conversation::{Answer, CallSeen, Decision, Exchange, Opening, Outcome, StoppedBy};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::Feature;
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("close.implemented", On::Response(implemented)).alone().only(&[CLOSE]),
    Check::agent("close.empty-result", On::Response(empty_result)).only(&[CLOSE]),
    Check::agent("close.cancels-turn", On::Response(cancels_turn)).only(&["session/prompt"]),
    Check::agent("close.cancels-turn", On::End(errors_when_closed)),
    Check::agent("close.cancels-turn", On::End(turn_left_open)),
    Check::agent("close.frees-resources", On::CaseEnd(freed_terminals)),
    Check::agent("close.frees-resources", On::End(frees_terminals)),
    Check::agent("close.other-sessions-unaffected", On::Response(others_unaffected)).only(&["session/prompt"]),
    Check::client("close.pending-permissions", On::Call(permissions_answered_first)).only(&[CLOSE]),
    Check::client("close.pending-permissions", On::Response(permission_answered)).only(&["session/request_permission"]),
    Check::client("close.pending-permissions", On::End(permissions_passed_over)),
];

const CLOSE: &str = "session/close";
/// The error of a request that `$/cancel_request` ended.
const CANCELLED: i64 = -32800;
const CAPABILITY: Feature<'static> = Feature::Method(CLOSE);

/// "Agents MAY return an error if the session does not exist or is not currently active": not for a session that was
/// created on this connection and not closed.
///
/// Correct but unusual: two requests to close the session cross, or one to delete it does; an agent keeps only one
/// session active, or closes sessions that are idle for long. So an error fails only in a case in which no other
/// session was opened and no other event ends the session.
fn implemented(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = proper(answer, CLOSE).filter(|_| ctx.conversation.agent_has(CAPABILITY)) else { return };
    let Some(session) = exchange.session().and_then(|id| ctx.conversation.session(id)) else { return };
    let ends = |open: &Exchange| matches!(open.method.as_str(), CLOSE | "session/delete") && open.n != exchange.n;
    let mut open = ctx.conversation.open_of(ctx.from.other());
    let crossed = open.any(|open| ends(open) && open.session() == exchange.session());
    let active =
        session.opening == Opening::New && !session.was_ended && !crossed && exchange.cancel_requested.is_none();
    let newest = ctx.conversation.sessions.values().all(|other| other.known <= session.known);
    let code = answer.outcome.error_code();
    let unclear = || {
        fact!(
            "error-response",
            "the agent answered {method} for an active session with {answer}, which may have another reason",
            method = CLOSE, answer = answer.outcome.describe(); code = code
        )
    };
    match code {
        None if matches!(answer.outcome, Outcome::Result(_)) => ruling.pass(),
        Some(NO_METHOD) => ruling.proved_by(&[exchange.n]).fail(fact!(
            "method-not-found",
            "the agent answered {method} with error -32601; expected it to implement the method that it advertises",
            method = CLOSE; code = code
        )),
        Some(LOGIN) => ruling.proved_by(&[exchange.n]).inconclusive(unclear()),
        _ if active && newest && ctx.conversation.whole => ruling.proved_by(&[exchange.n]).fail(fact!(
            "active-session-refused",
            "the agent answered {method} for an active session with {answer}; expected a result",
            method = CLOSE, answer = answer.outcome.describe(); code = code
        )),
        _ if active => ruling.proved_by(&[exchange.n]).inconclusive(unclear()),
        _ => {}
    }
}

/// "On success, the Agent responds with an empty result object."
///
/// Correct but unusual: null, the older form, or an object with only `_meta`.
fn empty_result(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    note_null(answer, CLOSE, ruling);
}

/// "The Agent MUST cancel any ongoing work for that session as if `session/cancel` had been called."
///
/// Correct but unusual: the turn ends by itself at the time of the close, and the two answers come in either order; or
/// `$/cancel_request` came as well, and the prompt is answered with -32800. After the close, another stop reason fails
/// only if the turn continued: it sent more content, a tool call was still in progress, or five seconds passed.
fn cancels_turn(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = proper(answer, "session/prompt") else { return };
    let Some(session) = exchange.session().and_then(|id| ctx.conversation.session(id)) else { return };
    let Some(turn) =
        session.turn.as_ref().filter(|turn| turn.n == exchange.n && turn.cancelled.is_none() && !turn.overlapped)
    else {
        return;
    };
    let Some(request) = turn.closed else { return };
    let reason = match answer.outcome {
        Outcome::Result(result) => result.text("stopReason"),
        Outcome::Error(_) => None,
    };
    let tools = turn.tools.iter().filter_map(|id| session.tools.get(id));
    let during = exchange.session().and_then(|id| ctx.areas.close.during(id, turn));
    let still_ran = during.is_some_and(|(us, output)| output || between(us, ctx.us) > TURN_AFTER_CLOSE);
    let went_on = still_ran || tools.into_iter().any(|tool| tool.status == "in_progress");
    match (reason, session.closed) {
        (Some("cancelled"), _) => ruling.pass(),
        (Some(reason), Some(closed)) if went_on => ruling.proved_by(&[exchange.n, request, closed]).fail(fact!(
            "wrong-stop-reason",
            "the agent ended the turn of a closed session as {actual}; expected cancelled",
            actual = reason; expected = "cancelled", pointer = "/result/stopReason"
        )),
        (Some(reason), _) => ruling.proved_by(&[request]).inconclusive(fact!(
            "close-crossed-response",
            "the agent ended the turn as {actual}, perhaps before it read the close",
            actual = reason; expected = "cancelled", pointer = "/result/stopReason"
        )),
        (None, _) if exchange.cancel_requested.is_some() && answer.outcome.error_code() == Some(CANCELLED) => {}
        // A cancelled turn ends with its stop reason.
        (None, _) if answer.outcome.error_code() == Some(CANCELLED) => {
            ruling.proved_by(&[exchange.n, request]).fail(fact!(
                "error-for-closed-turn",
                "the agent answered the prompt of a closed session with {answer}; expected the stop reason cancelled",
                answer = answer.outcome.describe(); code = answer.outcome.error_code()
            ));
        }
        (None, _) => ruling.proved_by(&[request]).inconclusive(fact!(
            "error-response",
            "the agent answered the prompt of a closed session with {answer}, which may have another reason",
            answer = answer.outcome.describe(); code = answer.outcome.error_code()
        )),
    }
}

/// As above, for turns that fail with an error whenever the client closes their session: stopping work often throws an
/// exception, which agents must catch after a cancel.
fn errors_when_closed(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let Some((trial, events)) = fails_when_stopped(ctx, StoppedBy::Close) else { return };
    ruling.proved_by(&events).fail(fact!(
        "error-for-closed-turns",
        "the agent ended each turn of a session that was closed with an error, and no other turn; expected cancelled";
        code = trial.error
    ));
}

/// The prompt of the closed session still gets its answer.
///
/// Correct but unusual: an agent that takes seconds to stop a command or a request to its model. The time limit of the
/// prompt may have passed by then, so the time since the close counts.
fn turn_left_open(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let until = conversation.closed_us.unwrap_or(ctx.us);
    for (session, turn) in conversation.turns().filter(|(_, turn)| !turn.overlapped) {
        let (Some(closed), Some(request)) = (session.closed, turn.closed) else { continue };
        let waited = conversation.timed_out.get(&turn.n);
        let passed = session.closed_us.map(|us| between(us, until)).unwrap_or_default();
        match waited {
            Some(&verdict) if passed > CANCEL_LIMIT && conversation.fence.is_some_and(|fence| fence > closed) => {
                ruling.proved_by(&[turn.n, request, closed, verdict]).fail(fact!(
                    "turn-not-ended",
                    "the agent had not answered the prompt of a closed session {after_ms} after the close; expected at \
                    most {limit_ms}",
                    after_ms = millis(passed),
                    limit_ms = millis(CANCEL_LIMIT)
                ));
            }
            Some(&verdict) => ruling.proved_by(&[turn.n, request, verdict]).inconclusive(fact!(
                "prompt-timed-out",
                "the agent did not answer the prompt of a closed session within the time limit of the case"
            )),
            None => {}
        }
    }
}

/// "then free the resources associated with the session": this covers terminals of the client.
///
/// Correct but unusual: the agent releases its terminals some time after it answered, or one whose creation crossed the
/// close. A terminal fails only ten seconds after the close, and only if it existed before.
fn frees_terminals(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    for (id, terminal) in &conversation.terminals {
        let Some(session) = conversation.session(&terminal.session) else { continue };
        let Some(closed) = session.closed else { continue };
        let settled = session.closed_us.filter(|&us| conversation.settled_since(us).is_some());
        match (terminal.released, settled) {
            (Some(_), _) => {}
            (None, Some(us)) if terminal.created < closed => ruling.proved_by(&[terminal.created, closed]).fail(fact!(
                "terminal-not-released",
                "the agent had not released the terminal `{terminal_id}` of a closed session {after_ms} after the \
                close; expected at most {limit_ms}",
                terminal_id = id,
                after_ms = millis(between(us, conversation.fence_us)),
                limit_ms = millis(CLEAN_UP);
                session_id = terminal.session
            )),
            (None, _) => ruling.proved_by(&[terminal.created, closed]).inconclusive(fact!(
                "terminal-open-at-end",
                "the agent had not released the terminal `{terminal_id}` of a closed session when the trace ended",
                terminal_id = id; session_id = terminal.session
            )),
        }
    }
}

/// As [`frees_terminals`], for the terminals that were released.
fn freed_terminals(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let is_closed = |id: &str| conversation.session(id).is_some_and(|session| session.closed.is_some());
    let freed =
        conversation.terminals.values().filter(|terminal| terminal.released.is_some() && is_closed(&terminal.session));
    freed.filter(|terminal| conversation.is_of_case(terminal.created)).for_each(|_| ruling.pass());
}

/// Closing one session does not cancel another.
///
/// Correct but unusual: the other turn ends as cancelled for another reason, such as a permission that the user
/// refused, a second prompt, or the cancel of a third session. All of that is inconclusive.
fn others_unaffected(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(ctx, answer).filter(|finish| !finish.was_cancelled()) else { return };
    let Some(closed) = finish.turn.other_closed else { return };
    let excused = finish.turn.permission_refused.or(finish.log.disturbed).or(cancelled_elsewhere(ctx, &finish));
    match finish.reason() {
        Some("cancelled") if excused.is_some() || earlier_cancel(&finish) => {
            ruling.proved_by(&[finish.exchange.n, closed]).inconclusive(fact!(
                "maybe-other-cause",
                "the agent ended a turn as {actual} after another session was closed, maybe for another reason",
                actual = "cancelled"; pointer = "/result/stopReason"
            ));
        }
        Some("cancelled") => ruling.proved_by(&[finish.exchange.n, closed]).fail(fact!(
            "other-turn-cancelled",
            "the agent ended a turn as {actual} after another session was closed; expected the turn to continue",
            actual = "cancelled"; pointer = "/result/stopReason"
        )),
        Some(_) => ruling.pass(),
        None => {}
    }
}

/// Whether this is a permission request about a session, which the agent has not cancelled.
fn is_permission(open: &Exchange) -> bool {
    open.method == "session/request_permission" && !open.deliberate && open.cancel_requested.is_none()
}

/// Closing ends the work "as if `session/cancel` had been called", and with that "the Client MUST respond to all
/// pending `session/request_permission` requests with the `cancelled` outcome"; it may do so directly before.
///
/// Correct but unusual: the client answers before it closes, or the request crosses the close, and the client no longer
/// knows the session. A request that came after the close was sent is inconclusive; so is an answer that crosses the
/// close, and a missing one if the client shows no sign of running.
fn permissions_answered_first(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(id) = call.text_of(CLOSE, "sessionId") else { return };
    let turn = ctx.conversation.session(id).and_then(|session| session.turn.as_ref());
    if turn.is_some_and(|turn| turn.permission_cancelled.is_some()) {
        ruling.pass();
    }
}

/// As above; the answer comes after the request to close.
fn permission_answered(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(request) = answer.exchange.filter(|exchange| is_permission(exchange)) else { return };
    let Some(session) = request.session().and_then(|id| ctx.conversation.session(id)) else { return };
    let mut open = ctx.conversation.open_of(ctx.from);
    let closing = open.find(|open| open.method == CLOSE && open.n > request.n && open.session() == request.session());
    let unclear = || {
        fact!(
            "answer-crossed-close",
            "the client answered a permission request of a closed session with {answer}, which may have crossed the \
            close",
            answer = answer.outcome.describe();
            code = answer.outcome.error_code()
        )
    };
    match (Decision::of(&request.params, answer.outcome), session.closed, closing) {
        (Decision::Cancelled, Some(closed), _) if closed > request.n => ruling.pass(),
        (Decision::Cancelled, _, Some(_)) => ruling.pass(),
        (_, Some(closed), _) if closed > request.n && ctx.areas.close.was_asked_after(request.session(), request.n) => {
            ruling.proved_by(&[request.n, closed]).fail(fact!(
                "wrong-outcome-after-close",
                "the client answered a permission request of a closed session with {answer}; expected the outcome \
                cancelled",
                answer = answer.outcome.describe();
                code = answer.outcome.error_code(), pointer = "/result/outcome"
            ));
        }
        (_, Some(closed), _) if closed > request.n => ruling.proved_by(&[request.n, closed]).inconclusive(unclear()),
        (_, _, Some(closing)) => ruling.proved_by(&[request.n, closing.n]).inconclusive(unclear()),
        _ => {}
    }
}

/// As above, for requests that are still open at the end: the specification sets no deadline, so an answer may come at
/// any time before. Only a later answer, long before the end or before a time limit, proves that one was ignored.
fn permissions_passed_over(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let until = conversation.closed_us.unwrap_or(ctx.us);
    for open in conversation.open_of(Party::Agent).filter(|open| is_permission(open)) {
        let Some(session) = open.session().and_then(|id| conversation.session(id)) else { continue };
        let Some(closed) = session.closed.filter(|closed| *closed > open.n) else { continue };
        let waited = conversation.timed_out.contains_key(&open.n)
            || between(session.closed_us.unwrap_or(until), until) > CANCEL_LIMIT;
        let crossed = !ctx.areas.close.was_asked_after(open.session(), open.n);
        if waited && !crossed && conversation.answered_after(Party::Client, closed) {
            ruling.proved_by(&[open.n, closed]).fail(fact!(
                "request-ignored",
                "the client did not answer a permission request of a closed session, but answered a later request";
                id = open.id.to_string()
            ));
        } else {
            ruling.proved_by(&[open.n, closed]).inconclusive(fact!(
                "request-unanswered",
                "the client had not answered a permission request of a closed session when the trace ended";
                id = open.id.to_string()
            ));
        }
    }
}
