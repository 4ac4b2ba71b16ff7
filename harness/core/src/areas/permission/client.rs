//! Area `permission`, the client's half: its answers to permission requests, also of cancelled turns.

use serde_json::Value;

use crate::areas::common::{BAD_PARAMS, NO_METHOD, is_passed_over, proper};
use crate::areas::{Check, CheckContext, On, with};
use crate::conversation::timing::{LATER_TURN_OVER, USER_CROSSING, between, millis};
use crate::conversation::{Answer, CallSeen, Conversation, Decision, Exchange, Outcome, TurnLog};
use crate::fact;
use crate::finding::Ruling;
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::client("permission.implemented", On::Response(implemented)).only(&[ASK]),
    Check::client("permission.option-offered", On::Response(option_offered)).alone().only(&[ASK]),
    Check::client("permission.toolcall-minimal", On::Response(tool_call_minimal)).only(&[ASK]),
    Check::client("permission.cancelled-on-cancel", On::Response(answered_on_cancel)).only(&[ASK]),
    Check::client("permission.cancelled-on-cancel", On::Call(answered_before_cancel)).only(&["session/cancel"]),
    Check::client("permission.cancelled-on-cancel", On::End(|ctx, ruling| left_open(ctx, When::Pending, ruling))),
    Check::client("permission.cancelled-not-error", On::Response(with!(outcome_after_cancel, When::Pending)))
        .only(&[ASK]),
    Check::client("permission.late-request", On::Response(with!(outcome_after_cancel, When::Late))).only(&[ASK]),
    Check::client("permission.late-request", On::End(|ctx, ruling| left_open(ctx, When::Late, ruling))),
    Check::client("permission.other-session", On::Response(kept_for_other_session)).only(&[ASK]),
    Check::client("permission.other-session", On::Call(swept_before_prompt)).only(&["session/prompt"]),
    Check::client("permission.other-session", On::End(swept_before_fence)),
    Check::client("permission.cancel-not-sticky", On::Response(decided_after_cancel)).only(&[ASK]),
    Check::client("permission.cancel-not-sticky", On::Call(cancelled_before_prompt)).only(&["session/prompt"]),
    Check::client("permission.cancel-not-sticky", On::End(cancelled_before_fence)),
];

const ASK: &str = "session/request_permission";

/// The time at which the agent sent a permission request of a cancelled turn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// Before the cancel.
    Pending,
    /// After the cancel.
    Late,
}

impl When {
    const fn of(request: &Exchange, cancel: usize) -> Self {
        if cancel < request.n { Self::Late } else { Self::Pending }
    }
}

/// Every client has the method. An error other than -32601 may be caused by the request.
///
/// Correct but unusual: the client answers with another error, since it does not know the session or its user is away.
fn implemented(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(request) = proper(answer, ASK) else { return };
    match (answer.outcome, answer.outcome.error_code()) {
        (Outcome::Result(result), _) if result.is_object() => ruling.pass(),
        (_, Some(NO_METHOD)) => ruling.proved_by(&[request.n]).fail(fact!(
            "method-not-found",
            "the client answered {method} with error -32601; expected it to implement the method",
            method = ASK; code = NO_METHOD
        )),
        (Outcome::Error(_), _) if request.turn_cancelled.is_none() => {
            ruling.proved_by(&[request.n]).inconclusive(fact!(
                "error-response",
                "the client answered {method} with {answer}, which may have another reason",
                method = ASK, answer = answer.outcome.describe(); code = answer.outcome.error_code()
            ))
        }
        _ => {}
    }
}

/// Returns the option that a result chooses.
fn chosen<'m>(outcome: Outcome<'m>) -> Option<&'m str> {
    let Outcome::Result(result) = outcome else { return None };
    let outcome = result.member("outcome").filter(|outcome| is_selected(outcome))?;
    outcome.member("optionId")?.as_str()
}

fn is_selected(outcome: &Value) -> bool {
    outcome.text("outcome") == Some("selected")
}

/// Returns the options of a request, by their ids.
fn offered(request: &Exchange) -> Vec<&str> {
    request.params.list("options").iter().filter_map(|option| option.text("optionId")).collect()
}

/// "optionId: The ID of the option the user selected", of those in the request.
///
/// Correct but unusual: two open requests of a careless agent have the same id, so the answer may be to either; or an
/// option's id is not a text, and the client converts it to one. Both are inconclusive.
fn option_offered(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((request, id)) = proper(answer, ASK).zip(chosen(answer.outcome)) else { return };
    let offered = offered(request);
    let all = request.params.member("options").and_then(Value::as_array).map_or(0, Vec::len);
    let doubled = ctx.conversation.shared_ids.contains(&(request.from, request.id.clone()));
    if offered.contains(&id) {
        ruling.pass();
    } else if doubled || offered.len() < all {
        ruling.proved_by(&[request.n]).inconclusive(fact!(
            "option-of-unclear-request",
            "the client selected the option `{option_id}`; the request is unclear, so this may be correct",
            option_id = id; pointer = "/result/outcome/optionId", expected = offered
        ));
    } else {
        ruling.proved_by(&[request.n]).fail(fact!(
            "unknown-option",
            "the client selected the option `{option_id}`; expected one of {expected}",
            option_id = id, expected = offered; pointer = "/result/outcome/optionId"
        ));
    }
}

/// The id is enough for a tool call that was reported before.
///
/// Correct but unusual: the client refuses the request because it does not know the session any more, or an option of a
/// kind of its own. So only a case fails, in which neither happens.
fn tool_call_minimal(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(request) = proper(answer, ASK) else { return };
    let call = request.params.member("toolCall").and_then(Value::as_object);
    let id = call.filter(|call| call.len() == 1).and_then(|call| call.text("toolCallId"));
    let session = request.session().and_then(|id| ctx.conversation.session(id));
    let known = session.zip(id).and_then(|(session, id)| session.tools.get(id)).is_some_and(|tool| tool.announced);
    if !known || offered(request).is_empty() {
        return;
    }
    match answer.outcome {
        Outcome::Result(result) if result.is_object() => ruling.pass(),
        _ if answer.outcome.error_code() == Some(BAD_PARAMS) => ruling.proved_by(&[request.n]).fail_in_case(fact!(
            "minimal-tool-call-refused",
            "the client answered a request with only the id of a known tool call with {answer}; expected a result",
            answer = answer.outcome.describe(); code = BAD_PARAMS, tool_call_id = id
        )),
        _ => {}
    }
}

/// Returns the permission request that this answers, if its turn was cancelled; with the event of the cancel.
fn stopped<'m>(answer: &Answer<'m>, when: When) -> Option<(&'m Exchange, usize)> {
    let request = proper(answer, ASK)?;
    let cancel = request.turn_cancelled?;
    (When::of(request, cancel) == when).then_some((request, cancel))
}

/// "The Client MUST respond to all pending `session/request_permission` requests with the `cancelled` outcome."
fn answered_on_cancel(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    if let Some((request, _)) = stopped(answer, When::Pending)
        && Decision::of(&request.params, answer.outcome) == Decision::Cancelled
    {
        ruling.pass();
    }
}

/// As above; the answer may come right before the cancel.
fn answered_before_cancel(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(id) = call.text_of("session/cancel", "sessionId") else { return };
    let turn = ctx.conversation.session(id).and_then(|session| session.turn.as_ref());
    let answered = turn.filter(|turn| turn.cancelled.is_none()).and_then(|turn| turn.permission_cancelled);
    let last = ctx.conversation.last_line.get(&ctx.from).map(|(n, _)| *n);
    if answered.is_some() && answered == last {
        ruling.pass();
    }
}

/// Returns the open permission requests of cancelled turns, with the event of the cancel.
fn unanswered(conversation: &Conversation) -> impl Iterator<Item = (&Exchange, usize)> {
    let open = conversation.open_of(Party::Agent).filter(|open| open.method == ASK && !open.deliberate);
    open.filter(|open| open.cancel_requested.is_none()).filter_map(|open| Some((open, open.turn_cancelled?)))
}

/// As above, at the end: the specification sets no deadline, so an answer may come at any time before. Only the answer
/// to a later request, or a later turn that was over long ago, proves that a request was ignored.
///
/// Correct but unusual: the client answers at its next turn, or the agent cancelled the request itself. Neither fails.
fn left_open(ctx: &CheckContext<'_>, when: When, ruling: &mut Ruling<'_>) {
    for (request, cancel) in unanswered(ctx.conversation).filter(|(request, cancel)| When::of(request, *cancel) == when)
    {
        if is_passed_over(ctx.conversation, request, cancel) {
            ruling.proved_by(&[request.n, cancel]).fail(fact!(
                "request-ignored",
                "the client did not answer a permission request of a cancelled turn, but answered a later request";
                id = request.id.to_string()
            ));
        } else if when == When::Pending
            && let Some(ended) = later_turn_over(ctx, request)
        {
            ruling.proved_by(&[request.n, cancel, ended]).fail(fact!(
                "request-ignored",
                "the client did not answer a permission request of a cancelled turn within {limit_ms} after a \
                later turn",
                limit_ms = millis(LATER_TURN_OVER);
                id = request.id.to_string()
            ));
        } else {
            ruling.proved_by(&[request.n, cancel]).inconclusive(fact!(
                "request-unanswered",
                "the client had not answered a permission request of a cancelled turn when the trace ended";
                id = request.id.to_string()
            ));
        }
    }
}

/// Returns the end of a turn that came after that of the request, if it was over long before the conversation ended.
fn later_turn_over(ctx: &CheckContext<'_>, request: &Exchange) -> Option<usize> {
    let last = ctx.conversation.session(request.session()?)?.log.as_ref()?;
    let (ended, us) = last.ended.filter(|_| request.turn.is_some_and(|turn| turn < last.n))?;
    let until = ctx.conversation.closed_us.unwrap_or(ctx.us);
    (between(us, until) > LATER_TURN_OVER).then_some(ended)
}

/// "If the current prompt turn gets cancelled, the Client MUST respond with the `cancelled` outcome." The table of
/// shapes decides on a result without an outcome.
///
/// Correct but unusual: the user chooses an option and stops the turn at the same time, and the client sends the cancel
/// first; the agent cancelled the request; or the session was closed. In a recording an option right after the cancel
/// is inconclusive.
fn outcome_after_cancel(ctx: &CheckContext<'_>, answer: &Answer<'_>, when: When, ruling: &mut Ruling<'_>) {
    let Some((request, cancel)) = stopped(answer, when) else { return };
    let code = answer.outcome.error_code();
    let session = request.session().and_then(|id| ctx.conversation.session(id));
    let gone = session.is_none_or(|session| {
        session.closed.is_some() || session.turn.as_ref().is_some_and(|turn| turn.closed.is_some())
    });
    match answer.outcome {
        Outcome::Result(_) if Decision::of(&request.params, answer.outcome) == Decision::Cancelled => ruling.pass(),
        Outcome::Result(result) if !result.member("outcome").is_some_and(is_selected) => {}
        Outcome::Error(_) if code == Some(NO_METHOD) => {}
        Outcome::Error(_) if request.cancel_requested.is_some() => ruling.note(fact!(
            "cancelled-request",
            "the client answered a request that the agent had cancelled with $/cancel_request with {answer}",
            answer = answer.outcome.describe(); code = code
        )),
        Outcome::Error(_) if gone => ruling.proved_by(&[request.n, cancel]).inconclusive(fact!(
            "error-in-closed-session",
            "the client answered a permission request of a closed session with {answer} after the cancel",
            answer = answer.outcome.describe(); code = code
        )),
        _ if when == When::Pending && may_cross(ctx, request, answer.outcome, cancel) => {
            ruling.proved_by(&[request.n, cancel]).inconclusive(fact!(
                "decision-crossed-cancel",
                "the client answered a permission request of a cancelled turn with {answer}, perhaps before the cancel",
                answer = answer.outcome.describe(); option_id = chosen(answer.outcome), code = code
            ));
        }
        _ => {
            let fact = match chosen(answer.outcome) {
                Some(id) => fact!(
                    "option-after-cancel",
                    "the client selected the option `{option_id}` after it cancelled the turn; expected the outcome \
                    cancelled",
                    option_id = id;
                    pointer = "/result/outcome"
                ),
                None => fact!(
                    "error-after-cancel",
                    "the client answered a permission request of a cancelled turn with {answer}; expected the \
                    outcome cancelled",
                    answer = answer.outcome.describe();
                    code = code
                ),
            };
            ruling.proved_by(&[request.n, cancel]).fail(fact);
        }
    }
}

/// Whether request, cancel and answer came so close that the client may have decided before it was cancelled. In a
/// recording, the user may choose an option at any time, even for a request that has been open for long.
fn may_cross(ctx: &CheckContext<'_>, request: &Exchange, outcome: Outcome<'_>, cancel: usize) -> bool {
    let log = request.session().and_then(|id| ctx.conversation.session(id)?.log.as_ref());
    let Some(at) = log.and_then(|turn| turn.at_cancel.as_ref()).filter(|at| at.n == cancel) else { return false };
    let fresh = between(request.us, at.us) < USER_CROSSING;
    let by_user = !ctx.conversation.whole && chosen(outcome).is_some();
    (fresh || by_user) && between(at.us, ctx.us) < USER_CROSSING
}

/// "Cancels an ongoing prompt turn" of one session: a question in another session stays open.
fn kept_for_other_session(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(request) = proper(answer, ASK).filter(|request| request.turn_cancelled.is_none()) else { return };
    let others = ctx.conversation.turn_logs().filter(|(id, _)| request.session() != Some(id));
    let mut cancels = others.filter_map(|(_, turn)| Some(turn.at_cancel.as_ref()?.n));
    if chosen(answer.outcome).is_some() && cancels.any(|n| n > request.n) {
        ruling.pass();
    }
}

/// "If the current prompt turn gets cancelled": a question in a later turn is for the user again.
fn decided_after_cancel(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(request) = proper(answer, ASK).filter(|request| request.turn_cancelled.is_none()) else { return };
    let session = request.session().and_then(|id| ctx.conversation.session(id));
    let follows_cancel =
        session.and_then(|session| session.ended.as_ref()).is_some_and(|ended| ended.cancelled.is_some());
    if chosen(answer.outcome).is_some() && follows_cancel {
        ruling.pass();
    }
}

/// As above. A user may dismiss a question at any time, and a client may decline all of them. So only an answer at once
/// counts, in a session whose user selected an option before the cancel, and without a cancel of this turn.
fn cancelled_before_prompt(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(id) = call.text_of("session/prompt", "sessionId") {
        decide_still_cancelled(ctx.conversation, id, ctx.n, ruling);
    }
}

/// As above, until a later request was answered.
fn cancelled_before_fence(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let Some(fence) = ctx.conversation.fence else { return };
    for id in ctx.conversation.sessions.keys() {
        decide_still_cancelled(ctx.conversation, id, fence, ruling);
    }
}

/// Fails a turn that ended before the event `now` without a cancel although its permission request was answered as
/// cancelled, like one of the turn before.
fn decide_still_cancelled(conversation: &Conversation, id: &str, now: usize, ruling: &mut Ruling<'_>) {
    let Some(turn) = spared_turn(conversation, id, now) else { return };
    if let Some((cancel, answer)) = turn.still_cancelled {
        let fact = fact!(
            "later-turn-swept",
            "the client answered a permission request as cancelled at once, although it had cancelled only an earlier \
            turn; expected the decision of its user";
            session_id = id, pointer = "/result/outcome"
        );
        ruling.proved_by(&[answer, cancel]).fail_if(conversation.whole, fact);
    }
}

/// Returns the last turn of a session, if it ended before the event `now` and nothing cancelled it.
fn spared_turn<'c>(conversation: &'c Conversation, id: &str, now: usize) -> Option<&'c TurnLog> {
    let session =
        conversation.session(id).filter(|session| session.closed.is_none() && session.idle_cancel.is_none())?;
    let turn = session.log.as_ref()?;
    let spared = turn.at_cancel.is_none() && turn.disturbed.is_none() && !turn.cancel_requested;
    (spared && turn.ended.is_some_and(|(ended, _)| ended < now)).then_some(turn)
}

/// As [`kept_for_other_session`]. A user may dismiss a question at any time, so only an answer right after the cancel
/// of another session counts, without a cancel of its own session until the client continues there.
fn swept_before_prompt(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(id) = call.text_of("session/prompt", "sessionId") {
        decide_sweep(ctx.conversation, id, ctx.n, ruling);
    }
}

/// As above, until a later request was answered.
fn swept_before_fence(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let Some(fence) = ctx.conversation.fence else { return };
    for id in ctx.conversation.sessions.keys() {
        decide_sweep(ctx.conversation, id, fence, ruling);
    }
}

/// Fails a turn that ended before the event `now` without a cancel although its permission request was answered as
/// cancelled.
///
/// Correct but unusual: a user who stops everything, and whose client answers the open requests before it cancels each
/// session; a turn may be over by then. A case knows the acts of its user; a recording does not.
fn decide_sweep(conversation: &Conversation, id: &str, now: usize, ruling: &mut Ruling<'_>) {
    let Some(turn) = spared_turn(conversation, id, now) else { return };
    if let Some((cancel, answer)) = turn.swept {
        let fact = fact!(
            "other-session-swept",
            "the client answered a permission request of `{session_id}` as cancelled when it cancelled another session",
            session_id = id; pointer = "/result/outcome"
        );
        ruling.proved_by(&[answer, cancel]).fail_if(conversation.whole, fact);
    }
}
