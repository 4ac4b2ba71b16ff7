//! Area `close`: closed sessions of version 2.

use crate::areas::cancel::v2::reason;
use crate::areas::common::{LOGIN, WITHDRAWN, proper};
use crate::areas::state::STATE;
use crate::areas::{Check, CheckContext, On, with};
use crate::conversation::timing::{CANCEL_LIMIT, between, millis};
use crate::conversation::{Answer, CallSeen, EndedBy, Outcome};
use crate::fact;
use crate::finding::Ruling;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("close.silent-after", On::Call(call_after_close)),
    Check::agent("close.silent-after", On::CaseEnd(silent_after_close)),
    Check::agent("close.pending-prompts", On::Response(prompt_at_close)).only(&["session/prompt"]),
    Check::agent("close.pending-prompts", On::End(prompt_left)),
    Check::agent("close.cancels-work", On::Update(with!(reason, EndedBy::Close))).only(&[STATE]),
    Check::agent("close.updates-before-response", On::Response(closed_at_work)).only(&[CLOSE]),
];

const CLOSE: &str = "session/close";

/// "All final updates … are sent before the close response."
///
/// Correct but unusual: a session that was idle when it was closed, and one that another request closes at the same
/// time.
fn closed_at_work(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = proper(answer, CLOSE).filter(|_| matches!(answer.outcome, Outcome::Result(_))) else { return };
    let Some(session) = exchange.session().and_then(|id| ctx.conversation.session(id)) else { return };
    let work = &session.work;
    if work.is_active() {
        let fact = fact!(
            "closed-at-work",
            "the agent answered {method} while its last state is {actual}; expected the state idle before the response",
            method = CLOSE, actual = work.state; session_id = exchange.session()
        );
        let sure = ctx.conversation.whole && !ctx.conversation.may_miss_work(session) && session.closed.is_none();
        ruling.proved_by(&[exchange.n]).fail_if(sure, fact);
    } else if work.state_at > exchange.n {
        ruling.pass();
    }
}

/// "After the close response, the Agent sends no other messages for the session on that connection."
///
/// Correct but unusual: answers to prompts, which have no session, and a session that the client opens again, or
/// prompts in spite of the close. The last updates of work that the agent had not ended before the response fail
/// `close.updates-before-response`.
fn call_after_close(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let session = call.text("sessionId").and_then(|id| ctx.conversation.session(id));
    let Some(session) =
        session.filter(|session| session.resuming.is_none() && !session.deleted && !session.work.is_active())
    else {
        return;
    };
    let id = call.text("sessionId").unwrap_or_default();
    let is_prompted = |closed: &usize| ctx.areas.cancel.prompts(id).any(|(n, _)| n > *closed);
    if let Some(closed) = session.closed.filter(|closed| !is_prompted(closed)) {
        ruling.proved_by(&[closed]).fail_in_case(fact!(
            "message-after-close",
            "the agent sent {method} for a session after it had answered session/close; expected no message",
            method = call.method; session_id = call.text("sessionId"), pointer = "/params/sessionId"
        ));
    }
}

/// As in [`prompt_at_close`]: a prompt that came before the close is answered.
///
/// Correct but unusual: an agent that answers it some time after the close.
fn prompt_left(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let until = conversation.closed_us.unwrap_or(ctx.us);
    for open in conversation.open_prompts() {
        let session = open.session().and_then(|id| conversation.session(id));
        let Some((closed, us)) = session.and_then(|session| session.closed.zip(session.closed_us)) else { continue };
        let is_served = conversation.fence.is_some_and(|fence| fence > closed);
        if open.n < closed && between(us, until) > CANCEL_LIMIT && is_served && conversation.whole {
            ruling.proved_by(&[open.n, closed]).fail_in_case(fact!(
                "prompt-left-at-close",
                "the agent closed a session and did not answer its prompt within {limit_ms}; expected error -32800, or \
                the id of the inserted message",
                limit_ms = millis(CANCEL_LIMIT); session_id = open.session().unwrap_or_default()
            ));
        }
    }
}

/// Passes a closed session after whose close the agent answered a later request.
fn silent_after_close(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let closed = conversation
        .sessions
        .values()
        .filter_map(|session| session.closed)
        .filter(|closed| conversation.is_of_case(*closed));
    if closed.into_iter().any(|closed| conversation.fence.is_some_and(|fence| fence > closed)) {
        ruling.pass();
    }
}

/// "If closing prevents a prompt's user message from being inserted, the Agent MUST answer that request with `-32800`.
/// If the message has already been inserted, the Agent MUST respond successfully with its `messageId`."
///
/// Correct but unusual: an agent that refuses prompts while it works, or one prompt for another reason, while the close
/// is on its way. So another error fails only for a prompt that was still open when a fence before the close was
/// answered, and of an agent that took a prompt before which had to wait.
fn prompt_at_close(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = proper(answer, "session/prompt") else { return };
    let Some(id) = exchange.session() else { return };
    let Some(session) = ctx.conversation.session(id) else { return };
    let Some(close) = ctx.areas.close.asked(id).filter(|close| *close > exchange.n) else { return };
    let held = ctx.conversation.fence.is_some_and(|fence| exchange.n < fence && fence < close);
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
        (Some(_), _) if held && ctx.conversation.holds_prompts => {
            ruling.proved_by(&[exchange.n, close]).fail_in_case(fact("error -32800"))
        }
        (None, Some(id)) if session.work.user_messages.contains_key(id) => ruling.pass(),
        // After the response to the close, the agent cannot report the message any more.
        (None, Some(_)) if session.closed.is_some_and(|closed| closed > close) => {
            let expected = "error -32800, since it reported no message for the prompt";
            ruling.proved_by(&[exchange.n, close]).fail_in_case(fact(expected));
        }
        _ => {
            ruling.proved_by(&[exchange.n, close]).inconclusive(fact("error -32800, or the id of the inserted message"))
        }
    }
}
