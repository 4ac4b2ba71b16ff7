//! Area `prompt`: the receipt of a prompt, and its user message.

use crate::fact;
use crate::judge::check::{Check, On};
use crate::judge::checks::common::proper;
use crate::judge::moment::Moment;
use crate::judge::ruling::Ruling;
use crate::judge::seen::Answer;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("prompt.no-stop-reason-in-result", On::Response(no_stop_reason)).only(&[PROMPT]),
    Check::agent("prompt.distinct-ids", On::Response(distinct_ids)).only(&[PROMPT]),
    Check::agent("prompt.user-message-reported", On::CaseEnd(user_message_seen)),
    Check::agent("prompt.user-message-reported", On::End(user_message_missing)),
    Check::client("cancel.answers-cancelled-request", On::Response(cancelled_permission))
        .only(&["session/request_permission"]),
];

const PROMPT: &str = "session/prompt";

/// "This response does not indicate … that the agent has finished processing it", so it has no stop reason.
fn no_stop_reason(_: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((_, result)) = answer.result_of(PROMPT) else { return };
    ruling.decide(result.member("stopReason").is_none(), || {
        fact!(
            "stop-reason-in-receipt",
            "the agent answered {method} with a `stopReason`; expected it in a state update",
            method = PROMPT; pointer = "/result/stopReason"
        )
    });
}

/// Two prompts are two messages.
///
/// Correct but unusual: the same id in another session. Ids belong to a session.
fn distinct_ids(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, result)) = answer.result_of(PROMPT) else { return };
    let session = exchange.session().and_then(|id| moment.talk.session(id));
    let Some((session, id)) = session.zip(result.member("messageId").and_then(|id| id.as_str())) else { return };
    match session.work.accepted.iter().find(|(_, known)| known == id) {
        Some((n, _)) => {
            let fact = fact!(
                "message-id-of-earlier-prompt",
                "the agent answered {method} with the messageId `{actual}` of an earlier prompt; expected a new id",
                method = PROMPT, actual = id; pointer = "/result/messageId"
            );
            ruling.fail(fact, &[*n]);
        }
        None if !session.work.accepted.is_empty() => ruling.pass(),
        None => {}
    }
}

/// Passes a prompt whose message the agent reported with the id of the receipt.
fn user_message_seen(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    for session in moment.talk.sessions.values() {
        let mut receipts = session.work.accepted.iter().filter(|(n, _)| moment.talk.is_of_case(*n));
        if receipts.any(|(_, id)| session.work.user_messages.contains_key(id)) {
            ruling.pass();
        }
    }
}

/// "The corresponding user-message session update carries this same identifier and may arrive before or after this response."
///
/// Correct but unusual: an agent that reports the message late. So only a case fails it, in which the agent ended the work of
/// the prompt and then answered a later request.
fn user_message_missing(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    let talk = moment.talk;
    for session in talk.sessions.values().filter(|session| !session.work.overflown && session.closed.is_none()) {
        let work = &session.work;
        let missing = work.accepted.iter().find(|(_, id)| !work.user_messages.contains_key(id));
        let Some((n, id)) = missing.filter(|_| work.state.as_deref() == Some("idle")) else { continue };
        let later = talk.fence.filter(|&fence| fence > work.state_at && work.state_at > *n);
        let fact = fact!(
            "user-message-not-reported",
            "the agent accepted a prompt as the message `{expected}` and reported no user message with this id",
            expected = id
        );
        match later {
            Some(fence) if talk.whole => ruling.fail(fact, &[*n, work.state_at, fence]),
            _ => ruling.inconclusive(fact, &[*n]),
        }
    }
}

/// A permission request that the agent cancels with `$/cancel_request` is answered with the outcome `cancelled`.
///
/// Correct but unusual: the user had chosen an option before the client read the cancellation. That is inconclusive, as is an
/// error for a request whose work has ended.
fn cancelled_permission(_: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = proper(answer, "session/request_permission") else { return };
    let Some(cancel) = exchange.cancel_requested else { return };
    let result = answer.result_of("session/request_permission");
    let outcome = result.and_then(|(_, result)| result.member("outcome")?.member("outcome")?.as_str());
    let fact = || {
        fact!(
            "not-cancelled",
            "the client answered a cancelled permission request with {answer}; expected the outcome cancelled",
            answer = answer.outcome.describe(); pointer = "/result/outcome"
        )
    };
    match (outcome, answer.outcome.error_code()) {
        (Some("cancelled"), _) => ruling.pass(),
        (None, Some(-32601 | -32603)) => ruling.fail(fact(), &[exchange.n, cancel]),
        _ => ruling.inconclusive(fact(), &[exchange.n, cancel]),
    }
}
