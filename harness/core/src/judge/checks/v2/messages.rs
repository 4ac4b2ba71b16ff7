//! Areas `message`, `resume` and `prompt`: ids of messages, live and replayed, and messages of refused prompts.
//!
//! Only a text shows that two messages are different ones, or the same. So these checks need texts that the client wrote.

use super::work::{has_sent_all_text, idle};
use crate::fact;
use crate::judge::check::{Check, On};
use crate::judge::checks::support::fail_in_case;
use crate::judge::conversation::{Session, message_of, text_of_content};
use crate::judge::moment::Moment;
use crate::judge::ruling::Ruling;
use crate::judge::seen::UpdateSeen;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("message.id-stable", On::Update(reply_with_earlier_id)).only(&["state_update"]),
    Check::agent("resume.replay-ids", On::Update(replayed_twice)).only(USER),
    Check::agent("resume.replay-keeps-ids", On::Update(replayed_with_other_id)).only(USER),
    Check::agent("prompt.error-means-not-inserted", On::Update(refused_prompt_inserted)).only(USER),
    Check::agent("prompt.error-means-not-inserted", On::CaseEnd(refused_prompt_left_out)),
];

const USER: &[&str] = &["user_message", "user_message_chunk"];
const POINTER: &str = "/params/update/messageId";

/// The bytes from which on a text tells messages apart.
const TELLING: usize = 8;

/// "A different message of that type gets another id": the reply to a prompt is not part of an earlier reply.
///
/// Correct but unusual: an agent that adds to an earlier message. So only a reply fails that consists of the text which the
/// prompt asked for, and came under an id of earlier work.
fn reply_with_earlier_id(moment: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(session), Some(_)) = (update.known, idle(update)) else { return };
    let history = &session.work.history;
    if !session.work.is_active() || history.replies.is_empty() || history.earlier_replies.is_empty() {
        return;
    }
    match history.replies.intersection(&history.earlier_replies).next() {
        None => ruling.pass(),
        Some(id) => {
            let fact = fact!(
                "message-id-of-earlier-reply",
                "the agent sent its reply as the message `{actual}`, which is an earlier reply; expected another id",
                actual = id; session_id = update.session
            );
            let same = history.replies.is_subset(&history.earlier_replies);
            if same && has_sent_all_text(session) && !moment.talk.may_miss_work(session) {
                fail_in_case(moment, fact, &[], ruling);
            } else {
                ruling.inconclusive(fact, &[]);
            }
        }
    }
}

/// Returns the id and the whole text of a user message in a replay that the client asked for.
fn replayed<'m>(update: &UpdateSeen<'m>) -> Option<(&'m Session, &'m str, String)> {
    let session = update.known.filter(|session| session.resuming.is_some() && session.work.replay_asked)?;
    let (_, id) = message_of(&update.update).filter(|_| update.variant == "user_message")?;
    let text = update.body.member("content").map(text_of_content)?;
    (text.len() >= TELLING).then_some((session, id, text))
}

/// "Each replayed message carries a `messageId`", "unique among messages of the same type within a session".
///
/// Correct but unusual: a message that is sent again as a whole. So two texts under one id fail only if both were prompts.
fn replayed_twice(moment: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some((session, id, text)) = replayed(update) else { return };
    let history = &session.work.history;
    let is_prompt = |text: &String| history.texts.values().any(|known| known == text);
    match history.replayed.get(id).filter(|other| **other != text) {
        Some(other) if is_prompt(other) && is_prompt(&text) => {
            let fact = fact!(
                "replayed-id-again",
                "the agent replayed two different prompts as the message `{message_id}`; expected an id for each",
                message_id = id; session_id = update.session, pointer = POINTER
            );
            fail_in_case(moment, fact, &[], ruling);
        }
        None if !history.replayed.is_empty() && !history.replayed.contains_key(id) => ruling.pass(),
        _ => {}
    }
}

/// "If retained and replayed, the message keeps this identifier."
///
/// Correct but unusual: a summary instead of the message, and a prompt with the same text as another one. So only a message fails
/// whose text is exactly that of live messages, and whose id is not one of theirs.
fn replayed_with_other_id(moment: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some((session, id, text)) = replayed(update) else { return };
    let history = &session.work.history;
    let mut same = history.texts.iter().filter(|(_, known)| **known == text).map(|(id, _)| id);
    let Some(live) = same.clone().next().filter(|_| !history.replayed.contains_key(id)) else { return };
    if same.any(|live| live == id) {
        return ruling.pass();
    }
    let fact = fact!(
        "replayed-id",
        "the agent replayed the message `{expected}` as `{actual}`; expected the same id",
        expected = live, actual = id; session_id = update.session, pointer = POINTER
    );
    fail_in_case(moment, fact, &[], ruling);
}

/// A prompt that was answered with an error was not inserted, and will not be.
///
/// Correct but unusual: a message that the agent writes by itself, and the same prompt once more. So only the text of the refused
/// prompt fails, without another prompt that it may belong to.
fn refused_prompt_inserted(moment: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) = update
        .known
        .filter(|session| session.resuming.is_none() && session.turn.is_none() && USER.contains(&update.variant))
    else {
        return;
    };
    let (work, id) = (&session.work, message_of(&update.update).map(|(_, id)| id));
    let Some((refused, text)) = work.history.refused.as_ref().filter(|(_, text)| text.len() >= TELLING) else { return };
    let is_new = id.is_some_and(|id| !work.user_messages.contains_key(id));
    let awaited = work.accepted.iter().any(|(_, id)| !work.user_messages.contains_key(id));
    let found = update.body.member("content").map(text_of_content).unwrap_or_default();
    if is_new && !awaited && found == *text {
        let fact = fact!(
            "refused-prompt-inserted",
            "the agent reported a prompt as the message `{message_id}` after it had answered it with an error",
            message_id = id; session_id = update.session, pointer = POINTER
        );
        fail_in_case(moment, fact, &[*refused], ruling);
    }
}

/// Passes a refused prompt after which the agent answered a later request.
fn refused_prompt_left_out(moment: &Moment<'_>, ruling: &mut Ruling<'_>) {
    let talk = moment.talk;
    let refused = talk.sessions.values().filter_map(|session| session.work.history.refused.as_ref());
    let mut of_case = refused.filter(|(n, text)| talk.is_of_case(*n) && text.len() >= TELLING);
    if of_case.any(|(n, _)| talk.fence.is_some_and(|fence| fence > *n)) {
        ruling.pass();
    }
}
