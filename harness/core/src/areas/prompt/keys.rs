//! Area `prompt`: `idempotencyKey`, by which a client marks the attempts at one prompt.

use super::state::{Insertion, Keys, digest, key_of};
use crate::areas::common::{BAD_PARAMS, proper};
use crate::areas::state::{DISTINCTIVE, end_of, served};
use crate::areas::{Check, CheckContext, On};
use crate::conversation::timing::{HELD_BACK, between};
use crate::conversation::{Answer, CallSeen, Exchange, Outcome, UpdateSeen, message_of, text_of_content};
use crate::fact;
use crate::finding::Ruling;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("prompt.idempotent-retry", On::Response(retry)).only(&[PROMPT]),
    Check::agent("prompt.idempotent-retry", On::Update(retry_inserted)).only(&["user_message"]),
    Check::agent("prompt.idempotent-restart", On::Response(retry_after_resume)).only(&[PROMPT]),
    Check::agent("prompt.key-case", On::Response(other_case)).only(&[PROMPT]),
    Check::agent("prompt.key-scope", On::CaseEnd(inserted_in_both)),
    Check::agent("prompt.key-scope", On::End(inserted_in_one)),
    Check::client("prompt.key-per-submission", On::Call(key_again)).only(&[PROMPT]),
    Check::client("prompt.key-per-submission", On::End(no_keys)),
    Check::client("prompt.key-shape", On::End(no_keys)),
];

const PROMPT: &str = "session/prompt";

/// Returns the answered prompt, the keys of its session, and the message that an earlier attempt with its key inserted.
fn attempt<'m>(ctx: &CheckContext<'m>, answer: &Answer<'m>) -> Option<(&'m Exchange, &'m Keys, &'m Insertion)> {
    let exchange = proper(answer, PROMPT)?;
    let keys = ctx.areas.prompt.get(exchange.session()?)?;
    Some((exchange, keys, keys.inserted.get(key_of(&exchange.params)?)?))
}

/// Whether the client sent a prompt again whose message the agent inserted, by its key.
pub(super) fn is_retry(ctx: &CheckContext<'_>, answer: &Answer<'_>) -> bool {
    attempt(ctx, answer).is_some()
}

/// Passes the id of the message; fails another one, and a refusal of the prompt itself. Other errors may have other
/// reasons. If the agent may have forgotten the message, nothing fails.
fn decide(answer: &Answer<'_>, (n, first): (usize, &Insertion), is_retained: bool, ruling: &mut Ruling<'_>) {
    const REFUSALS: [i64; 2] = [-32600, BAD_PARAMS];
    let id = match answer.outcome {
        Outcome::Result(result) => result.text("messageId"),
        Outcome::Error(_) => None,
    };
    if id == Some(&first.id) {
        return ruling.pass();
    }
    let fact = fact!(
        "retry-not-recognized",
        "the agent answered a prompt with the `idempotencyKey` of the message `{expected}` with {answer}; expected \
        its messageId",
        expected = first.id, answer = answer.outcome.describe();
        actual = id, code = answer.outcome.error_code()
    );
    let is_decisive = answer.outcome.error_code().is_none_or(|code| REFUSALS.contains(&code));
    ruling.proved_by(&[n, first.n]).fail_if(is_retained && is_decisive, fact);
}

/// "A retry of a recorded insertion returns the original `messageId` without inserting another message."
///
/// Correct but unusual: another content with the same key, which a probe records, and a retry after the session was
/// closed or resumed, which has a requirement of its own.
fn retry(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, keys, first)) = attempt(ctx, answer) else { return };
    if first.opening == keys.openings && first.content == digest(&exchange.params) {
        decide(answer, (exchange.n, first), true, ruling);
    }
}

/// As above: the message of a retry that got the id of the first attempt.
///
/// Correct but unusual: the same message once more, with its id, and messages of the agent's own. So only the text of
/// the prompt fails, while no other prompt is open.
fn retry_inserted(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = update.known.filter(|known| known.resuming.is_none() && known.turn.is_none()) else { return };
    let keys = ctx.areas.prompt.get(update.session);
    let Some((n, text)) = keys.and_then(|keys| keys.retried.as_ref()) else { return };
    let Some((_, id)) = message_of(&update.update).filter(|_| update.variant == "user_message") else { return };
    let is_known =
        session.work.user_messages.contains_key(id) || session.work.accepted.iter().any(|(_, known)| known == id);
    let found = update.body.member("content").map(text_of_content).unwrap_or_default();
    if !is_known && found == *text && text.len() >= DISTINCTIVE {
        ruling.proved_by(&[*n]).fail_in_case(fact!(
            "retry-inserted",
            "the agent reported the message `{message_id}` for a retry that it had answered with an earlier id; \
            expected no second message",
            message_id = id; session_id = update.session, pointer = "/params/update/messageId"
        ));
    }
}

/// "The Agent MUST recognize the key for as long as it retains the message, including across connections and Agent
/// restarts."
///
/// Correct but unusual: a message that the agent did not retain. So an agent fails only if it replayed the message
/// since.
fn retry_after_resume(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, keys, first)) = attempt(ctx, answer) else { return };
    if first.opening == keys.openings || first.content != digest(&exchange.params) {
        return;
    }
    let messages = exchange.session().and_then(|id| ctx.areas.resume.get(id));
    let is_retained = messages.is_some_and(|messages| messages.has_replayed("user_message", &first.id));
    decide(answer, (exchange.n, first), is_retained, ruling);
}

/// "The key is an opaque, case-sensitive string."
fn other_case(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = proper(answer, PROMPT) else { return };
    let Some(keys) = exchange.session().and_then(|id| ctx.areas.prompt.get(id)) else { return };
    let Some(key) = key_of(&exchange.params).filter(|key| !keys.inserted.contains_key(*key)) else { return };
    let is_alike = |(other, _): &(&String, &Insertion)| other.eq_ignore_ascii_case(key);
    let Some((other, first)) = keys.inserted.iter().find(is_alike) else { return };
    let id = answer.result_of(PROMPT).and_then(|(_, result)| result.member("messageId")?.as_str());
    let Some(id) = id else { return };
    if id == first.id {
        ruling.proved_by(&[exchange.n, first.n]).fail(fact!(
            "key-in-other-case",
            "the agent answered a prompt with the `idempotencyKey` `{key}` with the messageId of `{other}`; expected a \
            new message",
            key, other; pointer = "/result/messageId"
        ));
    } else {
        ruling.pass();
    }
}

/// "It is scoped to the session named by the request's `sessionId`": passes a prompt whose message the agent reported,
/// although another session had its key.
fn inserted_in_both(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let of_case = ctx.areas.prompt.shared.iter().filter(|shared| ctx.conversation.is_of_case(shared.answer.0));
    for shared in of_case {
        let session = ctx.conversation.session(&shared.session);
        if session.is_some_and(|session| session.work.user_messages.contains_key(&shared.id)) {
            ruling.pass();
        }
    }
}

/// As above.
///
/// Correct but unusual: equal ids in both sessions, since ids belong to a session, and a message that the agent reports
/// late. So only a case fails it, in which the agent answered with the id of the other session, did not report that
/// message for a while, and answered a later request.
fn inserted_in_one(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    for shared in ctx.areas.prompt.shared.iter().filter(|shared| shared.is_id_shared) {
        let Some(session) = ctx.conversation.session(&shared.session) else { continue };
        let is_missing = !session.work.user_messages.contains_key(&shared.id) && session.closed.is_none();
        let is_late = between(shared.answer.1, end_of(ctx)) > HELD_BACK && served(ctx, shared.answer.0);
        let is_whole = ctx.conversation.whole && !ctx.conversation.may_miss_work(session);
        if is_missing && is_late && is_whole {
            ruling.proved_by(&[shared.answer.0]).fail(fact!(
                "key-of-other-session",
                "the agent accepted a prompt as the message `{message_id}` and did not report it; another session had \
                its `idempotencyKey`",
                message_id = shared.id; session_id = shared.session
            ));
        }
    }
}

/// "The Client generates the key and sends the same key on every attempt for the same submission."
///
/// Correct but unusual: the same text under two keys, if the user sends it twice, and a key that comes again after an
/// error, with other content.
fn key_again(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(params) = call.params.filter(|_| call.method == PROMPT && call.id.is_some()) else { return };
    let Some(keys) = call.text("sessionId").and_then(|id| ctx.areas.prompt.get(id)) else { return };
    let Some(key) = key_of(params) else { return };
    match keys.inserted.get(key) {
        Some(first) if first.content != digest(params) => ruling.proved_by(&[first.n]).fail(fact!(
            "key-of-other-prompt",
            "the client sent a prompt with the `idempotencyKey` of an earlier prompt with other content; expected \
            a new key";
            pointer = "/params/idempotencyKey"
        )),
        Some(_) => ruling.pass(),
        None if !keys.inserted.is_empty() => ruling.pass(),
        None => {}
    }
}

/// Keys are optional.
fn no_keys(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    if ctx.areas.prompt.sent == (false, true) {
        ruling.not_applicable(fact!("no-keys", "the client sends prompts without `idempotencyKey`"));
    }
}
