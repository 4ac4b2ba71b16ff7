//! Areas `cancel`, `close` and `toolcancel`: what comes after the end of the work, and how work ends by a cancel.

use crate::areas::background;
use crate::areas::common::{LOGIN, proper};
use crate::areas::state::{had_read, idle, watched};
use crate::areas::support::fail_in_case;
use crate::areas::{Check, Moment, On};
use crate::conversation::{Answer, CallSeen, EndedBy, Session, UpdateSeen, message_of};
use crate::fact;
use crate::finding::Ruling;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("cancel.not-an-error", On::Update(not_an_error)).only(&["state_update"]),
    Check::agent("cancel.updates-first", On::Update(late_update)).only(OUTPUT),
    Check::agent("cancel.updates-first", On::CaseEnd(silent_after_cancel)),
    Check::agent("toolcancel.state-unchanged", On::Update(idle_by_tool_cancel)).only(&["state_update"]),
    Check::agent("close.silent-after", On::Call(call_after_close)),
    Check::agent("close.silent-after", On::CaseEnd(silent_after_close)),
    Check::agent("close.pending-prompts", On::Response(prompt_at_close)).only(&["session/prompt"]),
];

/// The updates that show parts of a message or of a tool call.
const OUTPUT: &[&str] = &[
    "agent_message",
    "agent_message_chunk",
    "agent_thought",
    "agent_thought_chunk",
    "tool_call_update",
    "tool_call_content_chunk",
];

/// The error for a request that was cancelled before it was processed.
const WITHDRAWN: i64 = -32800;

/// "Exceptions raised by aborting are not reported as failure": cancelled work does not end with the stop reason `error`.
///
/// Correct but unusual: a model that fails while the cancel is on its way. That is inconclusive, as for any other stop reason.
fn not_an_error(moment: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(session), Some(reason)) = (update.known, idle(update)) else { return };
    let Some(ending) = session.work.ending.as_ref().filter(|ending| ending.by == EndedBy::Cancel) else { return };
    let fact = || {
        fact!(
            "cancelled-as-error",
            "the agent ended cancelled work with the stop reason error; expected cancelled";
            pointer = "/params/update/stopReason"
        )
    };
    match reason {
        Some("cancelled") => ruling.pass(),
        Some("error") if had_read(moment, session, ending, update) => ruling.fail(fact(), &[ending.n]),
        Some("error") => ruling.inconclusive(fact(), &[ending.n]),
        _ => {}
    }
}

/// Whether an update belongs to a message or tool call of the work with these events of its end and begin; `None` if that is
/// unknown.
fn is_live(session: &Session, update: &UpdateSeen<'_>, (ended, begun): (usize, usize)) -> Option<bool> {
    if let Some((kind, id)) = message_of(&update.update) {
        return Some(kind == "agent_message" && session.work.history.replies.contains(id));
    }
    let id = update.body.member("toolCallId")?.as_str()?;
    let listed = session.work.background.as_ref().map(|(_, list)| list.iter().filter_map(background::item));
    let is_listed = listed?.into_iter().any(|item| item == ("tool_call", id));
    let tool = session.tools.get(id)?;
    Some(!is_listed && tool.n > begun && tool.n < ended)
}

/// "The agent sends all final updates of the cancelled work before the idle state."
///
/// Correct but unusual: a tool call that goes on in the background, a new message, the work for the next prompt, and a patch of
/// anything but content and status, such as `_meta`. An agent that reports no background work does not show what goes on, so its
/// tool calls do not fail.
fn late_update(moment: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = update.known.filter(|session| session.resuming.is_none()) else { return };
    let Some(cancelled) = session.work.history.cancelled else { return };
    if ["content", "status"].iter().all(|name| update.body.member(name).is_none()) {
        return;
    }
    if is_live(session, update, cancelled) == Some(true) {
        let fact = fact!(
            "update-after-cancel",
            "the agent sent {update} of cancelled work after it reported the session as idle; expected it before",
            update = update.variant; session_id = update.session, pointer = "/params/update/sessionUpdate"
        );
        if moment.talk.may_miss_work(session) {
            ruling.inconclusive(fact, &[cancelled.0]);
        } else {
            fail_in_case(moment, fact, &[cancelled.0], ruling);
        }
    }
}

/// Passes cancelled work after whose end the agent answered a later request.
fn silent_after_cancel(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    for (_, session) in watched(moment) {
        let ended = session.work.history.cancelled.filter(|(ended, _)| moment.talk.is_of_case(*ended));
        if ended.is_some_and(|(ended, _)| moment.talk.fence.is_some_and(|fence| fence > ended)) {
            ruling.pass();
        }
    }
}

/// "Cancelling a tool call does not change the foreground state by itself."
///
/// Correct but unusual: foreground work that ends because its only tool call was cancelled. So only an idle state fails after
/// which the agent goes on with a message and reports the end of the work again.
fn idle_by_tool_cancel(moment: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(session), Some(Some(_))) = (update.known, idle(update)) else { return };
    let (work, history) = (&session.work, &session.work.history);
    let Some((cancel, (begun, _))) =
        history.tool_cancelled.zip(work.begun).filter(|(cancel, (begun, _))| cancel > begun)
    else {
        return;
    };
    let is_prompted = session.turn.is_some() || work.accepted.iter().any(|(n, _)| *n > cancel);
    let went_on = history.spoke.is_some_and(|spoke| spoke > history.idle);
    if work.is_active() {
        ruling.pass();
    } else if history.idle > cancel && went_on && !is_prompted && work.ending.is_none() {
        let fact = fact!(
            "idle-after-tool-cancel",
            "the agent reported idle after {method} and then went on with the same work; expected the state to stay",
            method = "tool_call/cancel"; session_id = update.session, pointer = "/params/update/state"
        );
        fail_in_case(moment, fact, &[cancel, begun, history.idle], ruling);
    }
}

/// "After the close response, the Agent sends no other messages for the session on that connection."
///
/// Correct but unusual: answers to prompts, which have no session, and a session that the client opens again. The last updates of
/// work that the agent had not ended before the response fail `close.updates-before-response`.
fn call_after_close(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let session = call.text("sessionId").and_then(|id| moment.talk.session(id));
    let Some(session) =
        session.filter(|session| session.resuming.is_none() && !session.deleted && !session.work.is_active())
    else {
        return;
    };
    if let Some(closed) = session.closed {
        let fact = fact!(
            "message-after-close",
            "the agent sent {method} for a session after it had answered session/close; expected no message",
            method = call.method; session_id = call.text("sessionId"), pointer = "/params/sessionId"
        );
        fail_in_case(moment, fact, &[closed], ruling);
    }
}

/// Passes a closed session after whose close the agent answered a later request.
fn silent_after_close(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    let talk = moment.talk;
    let closed = talk.sessions.values().filter_map(|session| session.closed).filter(|closed| talk.is_of_case(*closed));
    if closed.into_iter().any(|closed| talk.fence.is_some_and(|fence| fence > closed)) {
        ruling.pass();
    }
}

/// "If closing prevents a prompt's user message from being inserted, the Agent MUST answer that request with `-32800`. If the
/// message has already been inserted, the Agent MUST respond successfully with its `messageId`."
///
/// Correct but unusual: a prompt that the agent refuses for another reason while the close is on its way. So another error fails
/// only for a prompt that was still open when a fence before the close was answered.
fn prompt_at_close(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = proper(answer, "session/prompt") else { return };
    let Some(session) = exchange.session().and_then(|id| moment.talk.session(id)) else { return };
    let Some(close) = session.work.history.close_asked.filter(|close| *close > exchange.n) else { return };
    let held = moment.talk.fence.is_some_and(|fence| exchange.n < fence && fence < close);
    let result = answer.result_of("session/prompt");
    let id = result.and_then(|(_, result)| result.member("messageId")?.as_str());
    let fact = |expected: &str| {
        fact!(
            "prompt-at-close",
            "the agent answered a prompt of a session that was closed with {answer}; expected {expected}",
            answer = answer.outcome.describe(), expected; code = answer.outcome.error_code()
        )
    };
    match (answer.outcome.error_code(), id) {
        (Some(WITHDRAWN), _) => ruling.pass(),
        (Some(LOGIN), _) => {}
        (Some(_), _) if held => fail_in_case(moment, fact("error -32800"), &[exchange.n, close], ruling),
        (None, Some(id)) if session.work.user_messages.contains_key(id) => ruling.pass(),
        // After the response to the close, the agent cannot report the message any more.
        (None, Some(_)) if session.closed.is_some_and(|closed| closed > close) => {
            let expected = "error -32800, since it reported no message for the prompt";
            fail_in_case(moment, fact(expected), &[exchange.n, close], ruling);
        }
        _ => ruling.inconclusive(fact("error -32800, or the id of the inserted message"), &[exchange.n, close]),
    }
}
