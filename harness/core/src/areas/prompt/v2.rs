//! Area `prompt`: the receipt of a prompt, its user message, and messages of refused prompts.

use super::keys::is_retry;
use super::state::Inserted;
use crate::areas::common::{LOGIN, WITHDRAWN, proper};
use crate::areas::damage::Damage;
use crate::areas::state::{DISTINCTIVE, STATE, idle};
use crate::areas::{Check, CheckContext, On, with};
use crate::conversation::timing::{CLEAN_UP, HELD_BACK, between, millis};
use crate::conversation::{Answer, CallSeen, EndedBy, Exchange, Session, UpdateSeen, message_of, text_of_content};
use crate::fact;
use crate::finding::Ruling;
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("prompt.error-means-not-inserted", On::Update(refused_prompt_inserted)).only(USER),
    Check::agent("prompt.error-means-not-inserted", On::CaseEnd(refused_prompt_left_out)),
    Check::client("prompt.no-own-id", On::Call(no_own_id)).alone().only(&["session/prompt"]),
    Check::agent("prompt.no-stop-reason-in-result", On::Response(no_stop_reason)).only(&[PROMPT]),
    Check::agent("prompt.distinct-ids", On::Response(distinct_ids)).only(&[PROMPT]),
    Check::agent("prompt.ack-before-completion", On::Response(receipt_at_end)).only(&[PROMPT]),
    Check::agent("prompt.ack-before-completion", On::End(receipt_missing)),
    Check::agent("prompt.cancelled-only-on-cancel", On::Update(cancelled_only_on_cancel)).only(&[STATE]),
    Check::agent("cancel.scope", On::Update(with!(others_go_on, EndedBy::Cancel))).only(&[STATE]),
    Check::agent("close.other-sessions-unaffected", On::Update(with!(others_go_on, EndedBy::Close))).only(&[STATE]),
    Check::agent("prompt.no-error-after-insertion", On::Response(error_after_insertion)).only(&[PROMPT]),
    Check::agent("prompt.user-message-same-id", On::CaseEnd(user_message_seen)),
    Check::agent("prompt.user-message-reported", On::CaseEnd(user_message_seen)),
    Check::agent("prompt.user-message-content", On::CaseEnd(user_message_content)),
    Check::agent("prompt.user-message-reported", On::End(|ctx, ruling| user_message_missing(ctx, false, ruling))),
    Check::agent("prompt.user-message-same-id", On::End(|ctx, ruling| user_message_missing(ctx, true, ruling))),
];

const PROMPT: &str = "session/prompt";

const USER: &[&str] = &["user_message", "user_message_chunk"];

/// "This response does not indicate … that the agent has finished processing it", so it has no stop reason.
fn no_stop_reason(_: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((_, result)) = answer.result_of(PROMPT) else { return };
    ruling.decide(result.given("stopReason").is_none(), || {
        fact!(
            "stop-reason-in-receipt",
            "the agent answered {method} with a `stopReason`; expected it in a state update",
            method = PROMPT; pointer = "/result/stopReason"
        )
    });
}

/// Two prompts are two messages.
///
/// Correct but unusual: the same id in another session, since ids belong to a session; and a prompt that repeats an
/// earlier one by its key, which only a newer schema may define.
fn distinct_ids(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, result)) = answer.result_of(PROMPT) else { return };
    let may_repeat = ctx.conversation.edition.is_of_other_revision("PromptRequest", &exchange.params);
    if may_repeat || is_retry(ctx, answer) {
        return;
    }
    let session = exchange.session().and_then(|id| ctx.conversation.session(id));
    let Some((session, id)) = session.zip(result.member("messageId").and_then(|id| id.as_str())) else { return };
    match session.work.accepted.iter().find(|(_, known)| known == id) {
        Some((n, _)) => ruling.proved_by(&[*n]).fail(fact!(
            "message-id-of-earlier-prompt",
            "the agent answered {method} with the messageId `{actual}` of an earlier prompt; expected a new id",
            method = PROMPT, actual = id; pointer = "/result/messageId"
        )),
        None if !session.work.accepted.is_empty() => ruling.pass(),
        None => {}
    }
}

/// The stop reason `cancelled` means that "the Client cancels active work".
///
/// Correct but unusual: an agent that gives up its work after the user refused a question, or after a second prompt or
/// another act of the client; and a second client on the same session, of which a trace does not tell. Work after an
/// earlier cancel of the session has a requirement of its own, `cancel.later-submissions`, and so has work that ends
/// after the end of another session.
fn cancelled_only_on_cancel(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(session), Some(Some("cancelled"))) = (update.known, idle(update)) else { return };
    if session.work.ending.is_some() {
        return ruling.pass();
    }
    let Some(begun) = uncancelled(ctx, update.session, session) else { return };
    let mut prompts = ctx.areas.cancel.prompts(update.session).filter(|(n, _)| *n > session.work.history.idle);
    let prompt = prompts.next().map(|(n, _)| n);
    let act = ctx.areas.cancel.discouraged.filter(|n| *n > prompt.unwrap_or(begun));
    match act.or_else(|| prompts.next().map(|(n, _)| n)) {
        Some(act) => ruling.proved_by(&[act]).inconclusive(fact!(
            "work-cancelled-after-other-act",
            "the agent ended its work as cancelled; the client did not cancel it, but may have given another reason"
        )),
        None => ruling.proved_by(&[begun]).fail_in_case(fact!(
            "work-cancelled-without-cancel",
            "the agent ended its work as {actual}; expected another stop reason, since the client did not cancel",
            actual = "cancelled"; session_id = update.session, pointer = "/params/update/stopReason"
        )),
    }
}

/// Returns the event in which the work of a session began, if the client has not asked for its end and the trace tells
/// all about it. A request to close the session may have crossed the end of earlier work.
fn uncancelled(ctx: &CheckContext<'_>, id: &str, session: &Session) -> Option<usize> {
    let (conversation, work) = (ctx.conversation, &session.work);
    let mut open = conversation.open_of(Party::Client);
    let is_closing = open.any(|open| open.method == "session/close" && open.session() == Some(id));
    let is_unclear =
        is_closing || work.may_be_ended() || work.last_cancel.is_some() || conversation.may_miss_work(session);
    let (begun, _) = work.begun.filter(|_| work.is_active() && !is_unclear)?;
    let is_disturbed = conversation.deliberate.range(work.history.idle..).next().is_some();
    (conversation.shutting_down.is_none() && !is_disturbed).then_some(begun)
}

/// "Cancel any ongoing work for that session": the work in other sessions goes on.
///
/// Correct but unusual: as in [`cancelled_only_on_cancel`]. This decides only if it is the only act of the client since
/// the prompt after which an agent may give up its work. Subagents have requirements of their own.
fn others_go_on(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, by: EndedBy, ruling: &mut Ruling<'_>) {
    let (Some(session), Some(Some(reason))) = (update.known, idle(update)) else { return };
    let Some(begun) = uncancelled(ctx, update.session, session) else { return };
    let mut prompts = ctx.areas.cancel.prompts(update.session).filter(|(n, _)| *n > session.work.history.idle);
    let (Some((prompt, _)), None) = (prompts.next(), prompts.next()) else { return };
    let Some(((act, _), ended, other)) = ctx.areas.cancel.end_of_another(update.session, prompt) else { return };
    let is_child = |id: &str| ctx.conversation.children.contains_key(id);
    if ended != by || is_child(update.session) || is_child(other) {
        return;
    }
    match reason {
        "cancelled" => ruling.proved_by(&[begun, act]).fail_in_case(fact!(
            "work-of-other-session-cancelled",
            "the agent ended its work as {actual} after the client ended another session; expected it to go on",
            actual = reason; session_id = update.session, pointer = "/params/update/stopReason"
        )),
        _ => ruling.pass(),
    }
}

/// "This response … confirms that the prompt was inserted", so it does not wait for the end of the work.
///
/// Correct but unusual: work that takes a moment, so that the receipt crosses its end, and a prompt that waited for
/// earlier work, or for work that the agent began by itself. So the work must have followed the prompt's message, and
/// the time counts from the later of both.
fn receipt_at_end(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((exchange, result)) = answer.result_of(PROMPT) else { return };
    let Some(session) = exchange.session().and_then(|id| ctx.conversation.session(id)) else { return };
    let work = &session.work;
    let message = result.member("messageId").and_then(|id| work.user_messages.get(id.as_str()?));
    let inserted = message.filter(|(inserted, _)| *inserted < work.state_at || work.is_active());
    let Some(begun) = work.begun.filter(|(begun, _)| *begun > exchange.n) else { return };
    let Some((since, us)) = inserted.map(|inserted| begun.max(*inserted)) else { return };
    let taken = between(us, ctx.us);
    let conversation = ctx.conversation;
    let ended = work.state.as_deref() == Some("idle") && taken > HELD_BACK;
    let given_up =
        conversation.timed_out.contains_key(&exchange.n) && conversation.fence.is_some_and(|fence| fence > since);
    if (ended || given_up && taken > CLEAN_UP) && !session.has_other_prompt(exchange.n) {
        ruling.proved_by(&[exchange.n, since, work.state_at]).fail(fact!(
            "receipt-after-work",
            "the agent answered a prompt {after_ms} after its work began; expected the answer at the insertion",
            after_ms = millis(taken)
        ));
    }
}

/// As above, for a prompt without an answer while the agent works on it.
fn receipt_missing(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let until = conversation.closed_us.unwrap_or(ctx.us);
    for open in conversation.open_of(Party::Client).filter(|open| open.method == PROMPT && !open.deliberate) {
        let Some(session) = open.session().and_then(|id| conversation.session(id)) else { continue };
        let work = &session.work;
        let begun = work.begun.filter(|(begun, _)| *begun > open.n && work.output.is_some_and(|(at, _)| at > *begun));
        let Some(begun) = begun.filter(|_| work.is_active()) else { continue };
        let Some((since, us)) = inserted_for(session, open).map(|(_, inserted)| begun.max(inserted)) else { continue };
        let taken = between(us, until);
        let served = conversation.fence.is_some_and(|fence| fence > since);
        if conversation.whole && taken > CLEAN_UP && served && conversation.timed_out.contains_key(&open.n) {
            ruling.proved_by(&[open.n, since]).fail(fact!(
                "receipt-missing",
                "the agent works on a prompt and did not answer it within {after_ms}; expected the answer at the \
                insertion",
                after_ms = millis(taken)
            ));
        }
    }
}

/// "If an error occurs after insertion, the agent … reports it with an idle state update", not as the response.
///
/// Correct but unusual: a login that is missing, a prompt that the client withdrew, and a message that another prompt
/// inserted.
fn error_after_insertion(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(exchange) = proper(answer, PROMPT) else { return };
    let Some(session) = exchange.session().and_then(|id| ctx.conversation.session(id)) else { return };
    let Some((id, (n, _))) = inserted_for(session, exchange) else { return };
    match answer.outcome.error_code() {
        None => ruling.pass(),
        Some(LOGIN) => {}
        Some(code) => {
            let fact = fact!(
                "error-after-insertion",
                "the agent answered a prompt with {answer} after it reported it as the message `{message_id}`; \
                expected a result",
                answer = answer.outcome.describe(), message_id = id;
                code = code
            );
            let withdrawn = code == WITHDRAWN && exchange.cancel_requested.is_some();
            ruling.proved_by(&[exchange.n, n]).fail_unless(withdrawn, fact);
        }
    }
}

/// Returns the user message that the agent inserted for a prompt without a receipt, with its event and time; none if
/// there is another prompt that it may belong to.
fn inserted_for<'s>(session: &'s Session, prompt: &Exchange) -> Option<(&'s str, (usize, u64))> {
    let accepted = |id: &String| session.work.accepted.iter().any(|(_, known)| known == id);
    let mut inserted = session.work.user_messages.iter().filter(|(id, (n, _))| *n > prompt.n && !accepted(id));
    inserted.next().filter(|_| !session.has_other_prompt(prompt.n)).map(|(id, inserted)| (id.as_str(), *inserted))
}

/// Passes a prompt whose message the agent reported with the id of the receipt.
fn user_message_seen(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    for session in ctx.conversation.sessions.values() {
        let mut receipts = session.work.accepted.iter().filter(|(n, _)| ctx.conversation.is_of_case(*n));
        if receipts.any(|(_, id)| session.work.user_messages.contains_key(id)) {
            ruling.pass();
        }
    }
}

/// "The corresponding user-message session update carries this same identifier and may arrive before or after this
/// response." With `other_id` this is about a message that the agent reported with another id, otherwise about one that
/// it did not report.
///
/// Correct but unusual: an agent that reports the message late. So only a case fails it, in which the agent ended the
/// work of the prompt and then answered a later request.
fn user_message_missing(ctx: &CheckContext<'_>, other_id: bool, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    for session in conversation.sessions.values().filter(|session| !session.work.overflown && session.closed.is_none())
    {
        let work = &session.work;
        let missing = work.accepted.iter().find(|(_, id)| !work.user_messages.contains_key(id));
        let Some((n, id)) = missing.filter(|_| work.state.as_deref() == Some("idle")) else { continue };
        let is_strange = |found: &&String| work.accepted.iter().all(|(_, id)| id != *found);
        let strange = work.user_messages.keys().find(is_strange);
        let later = conversation.fence.filter(|&fence| fence > work.state_at && work.state_at > *n);
        let (fact, events) = match strange {
            Some(found) if other_id => {
                let fact = fact!(
                    "user-message-id",
                    "the agent accepted a prompt as the message `{expected}` and reported it as `{actual}`",
                    expected = id,
                    actual = found
                );
                (fact, vec![*n, work.user_messages[found].0])
            }
            None if !other_id => {
                let fact = fact!(
                    "user-message-not-reported",
                    "the agent accepted a prompt as the message `{expected}` and reported no user message with this id",
                    expected = id
                );
                (fact, vec![*n, work.state_at])
            }
            _ => continue,
        };
        match later {
            Some(fence) if conversation.whole => ruling.proved_by(&[events, vec![fence]].concat()).fail(fact),
            _ => ruling.proved_by(&events[..1]).inconclusive(fact),
        }
    }
}

/// "The Agent MUST report where the user message was inserted", by an update "with the full `content` array" or by
/// chunks: the message of a prompt has the content of this prompt.
///
/// Correct but unusual: an agent that expands a command, adds a reminder, joins two prompts, shortens a long text, or
/// leaves out everything but the text. So only a message fails that has exactly the text of another prompt, which the
/// message of that prompt has, too. A command may stand for an earlier prompt, as `/retry` does.
fn user_message_content(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    // Redacted texts are alike.
    let sessions = ctx.conversation.sessions.keys().filter(|_| !ctx.conversation.is_redacted);
    for (id, messages) in sessions.filter_map(|id| Some((id, ctx.areas.resume.get(id)?))) {
        let prompts = ctx.areas.prompt.inserted(id);
        let shown = |prompt: &Inserted| {
            let (_, text) = messages.texts.get(&("user_message".to_owned(), prompt.id.clone()))?;
            Some(text.text.trim()).filter(|_| !text.is_cut)
        };
        for prompt in prompts.iter().filter(|prompt| ctx.conversation.is_of_case(prompt.n)) {
            let (own, Some(found)) = (prompt.text.trim(), shown(prompt)) else { continue };
            if own.len() >= DISTINCTIVE && found.contains(own) {
                ruling.pass();
                continue;
            }
            let damage = Damage::of(own, found).filter(|_| !own.starts_with('/'));
            // An agent may shorten the text, and separate the blocks of a prompt in any way.
            let is_in_middle = |damage: &Damage| {
                matches!(damage, Damage::Missing(_) | Damage::Doubled(_) | Damage::Swapped(..) | Damage::Repeated(_))
            };
            if let Some(damage) = damage.filter(is_in_middle) {
                ruling.proved_by(&[prompt.n]).fail_in_case(fact!(
                    "user-message-damaged",
                    "the agent reported a prompt as the message `{message_id}` {damage}; expected the same text",
                    message_id = prompt.id, damage = damage.to_string(); session_id = id
                ));
            }
            if let Some(missing) = missing_block(&prompt.texts, found).filter(|_| !own.starts_with('/')) {
                ruling.proved_by(&[prompt.n]).fail_in_case(fact!(
                    "user-message-lacks-block",
                    "the agent reported a prompt as the message `{message_id}` without its block `{missing}`; expected \
                    each block of text",
                    message_id = prompt.id,
                    missing = missing.chars().take(80).collect::<String>();
                    session_id = id
                ));
            }
            let is_distinct = found.len() >= DISTINCTIVE && !own.contains(found) && !own.starts_with('/');
            let mut others = prompts.iter().filter(|_| is_distinct);
            let other = others.find(|other| other.text.trim() == found && shown(other) == Some(found));
            if let Some(other) = other {
                ruling.proved_by(&[prompt.n, other.n]).fail_in_case(fact!(
                    "user-message-of-other-prompt",
                    "the agent reported a prompt as the message `{message_id}` with the text of another prompt, \
                    `{text}`; expected the text of this prompt",
                    message_id = prompt.id,
                    text = found.chars().take(80).collect::<String>();
                    session_id = id
                ));
            }
        }
    }
}

/// Returns the first block that a text lacks which consists of the other blocks, word for word.
///
/// Correct but unusual: an agent that shortens a prompt, or joins, formats or expands its blocks.
fn missing_block<'t>(blocks: &'t [String], found: &str) -> Option<&'t str> {
    let plain = |text: &str| text.split_whitespace().collect::<String>();
    let mut rest = &*plain(found);
    let mut missing = None;
    for block in blocks.iter().filter(|block| block.trim().len() >= DISTINCTIVE) {
        match rest.strip_prefix(&*plain(block)) {
            Some(after) => rest = after,
            None => missing = missing.or(Some(block.trim())),
        }
    }
    missing.filter(|_| rest.is_empty() && !found.trim().is_empty())
}

/// The agent chooses message ids.
fn no_own_id(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(params) = call.params.filter(|params| params.is_object() && call.method == "session/prompt") else {
        return;
    };
    ruling.decide(params.given("messageId").is_none(), || {
        fact!(
            "message-id-in-prompt",
            "the client sent {method} with a `messageId`; expected the agent to choose the id",
            method = call.method; pointer = "/params/messageId"
        )
    });
}

/// A prompt that was answered with an error was not inserted, and will not be.
///
/// Correct but unusual: a message that the agent writes by itself, and the same prompt once more. So only the text of
/// the refused prompt fails, without another prompt that it may belong to.
fn refused_prompt_inserted(_: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = update
        .known
        .filter(|session| session.resuming.is_none() && session.turn.is_none() && USER.contains(&update.variant))
    else {
        return;
    };
    let (work, id) = (&session.work, message_of(&update.update).map(|(_, id)| id));
    let Some((refused, text)) = work.history.refused.as_ref().filter(|(_, text)| text.len() >= DISTINCTIVE) else {
        return;
    };
    let is_new = id.is_some_and(|id| !work.user_messages.contains_key(id));
    let awaited = work.accepted.iter().any(|(_, id)| !work.user_messages.contains_key(id));
    let found = update.body.member("content").map(text_of_content).unwrap_or_default();
    if is_new && !awaited && found == *text {
        ruling.proved_by(&[*refused]).fail_in_case(fact!(
            "refused-prompt-inserted",
            "the agent reported a prompt as the message `{message_id}` after it had answered it with an error",
            message_id = id; session_id = update.session, pointer = "/params/update/messageId"
        ));
    }
}

/// Passes a refused prompt after which the agent answered a later request.
fn refused_prompt_left_out(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    let conversation = ctx.conversation;
    let refused = conversation.sessions.values().filter_map(|session| session.work.history.refused.as_ref());
    let mut of_case = refused.filter(|(n, text)| conversation.is_of_case(*n) && text.len() >= DISTINCTIVE);
    if of_case.any(|(n, _)| conversation.fence.is_some_and(|fence| fence > *n)) {
        ruling.pass();
    }
}
