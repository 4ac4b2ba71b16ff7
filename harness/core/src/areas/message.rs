//! Areas `message`, `resume` and `prompt`: ids of messages, live and replayed, and messages of refused prompts.
//!
//! Only a text shows that two messages are different ones, or the same. So these checks need texts that the client wrote.

use std::collections::BTreeSet;

use crate::areas::common::proper;
use crate::areas::state::{has_sent_all_text, idle};
use crate::areas::support::fail_in_case;
use crate::areas::{Check, Moment, On};
use crate::conversation::{
    Answer, History, MessageText, Replayed, UpdateSeen, asks_replay, message_of, text_of_content,
};
use crate::fact;
use crate::finding::Ruling;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("message.id-stable", On::Update(reply_with_earlier_id)).only(&["state_update"]),
    Check::agent("resume.replay-ids", On::Response(replayed_twice)).only(&[RESUME]),
    Check::agent("resume.replay-keeps-ids", On::Response(replayed_with_other_id)).only(&[RESUME]),
    Check::agent("prompt.error-means-not-inserted", On::Update(refused_prompt_inserted)).only(USER),
    Check::agent("prompt.error-means-not-inserted", On::CaseEnd(refused_prompt_left_out)),
];

const RESUME: &str = "session/resume";
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

/// Returns the session that was resumed with a replay, as it stands at the answer, and so with whole messages.
fn replay<'m>(moment: &Moment<'m>, answer: &Answer<'_>) -> Option<(&'m str, &'m History)> {
    let exchange = proper(answer, RESUME).filter(|exchange| asks_replay(exchange))?;
    let (id, session) = moment.talk.sessions.get_key_value(exchange.session()?)?;
    (session.resuming == Some(exchange.n)).then_some((id, &session.work.history))
}

/// Whether the text of a message tells it apart from others.
fn tells(text: &MessageText) -> bool {
    !text.is_cut && text.text.len() >= TELLING
}

/// "Each replayed message carries a `messageId`", "unique among messages of the same type within a session".
///
/// Correct but unusual: a message that is sent again as a whole, or changed. So two texts under one id fail only if they were two
/// messages before.
fn replayed_twice(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((session, history)) = replay(moment, answer) else { return };
    let messages: Vec<&Replayed> = history.replayed.iter().filter(|message| tells(&message.text)).collect();
    let live = |message: &Replayed| {
        let is_same = |(key, text): &(&(String, String), &MessageText)| key.0 == message.kind && **text == message.text;
        history.texts.iter().filter(is_same).map(|((_, id), _)| id.clone()).collect::<Vec<_>>()
    };
    let mut has_several = false;
    for (at, message) in messages.iter().enumerate() {
        let mut before = messages[..at].iter().filter(|other| other.kind == message.kind);
        has_several |= before.clone().any(|other| other.id != message.id);
        let Some(other) = before.find(|other| other.id == message.id && other.text != message.text) else { continue };
        let (one, two) = (live(other), live(message));
        if one.is_empty() || two.is_empty() || one.iter().any(|id| two.contains(id)) {
            continue;
        }
        let fact = fact!(
            "replayed-id-again",
            "the agent replayed two different messages as the {kind} `{message_id}`; expected an id for each",
            kind = message.kind, message_id = message.id; session_id = session
        );
        return fail_in_case(moment, fact, &[message.n, other.n], ruling);
    }
    if has_several {
        ruling.pass();
    }
}

/// "If retained and replayed, the message keeps this identifier": the one in the receipt of a prompt.
///
/// Correct but unusual: a summary instead of the message, and a prompt with the same text as another one. So only a message fails
/// whose text is exactly that of live messages, and whose id is not one of theirs.
fn replayed_with_other_id(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((session, history)) = replay(moment, answer) else { return };
    let is_prompt = |kind: &str| kind == "user_message";
    let mut seen = BTreeSet::new();
    let messages = history.replayed.iter().filter(|message| is_prompt(&message.kind) && tells(&message.text));
    for message in messages.filter(|message| seen.insert(&message.id)) {
        let same = history.texts.iter().filter(|((kind, _), text)| is_prompt(kind) && **text == message.text);
        let same: Vec<&String> = same.map(|((_, id), _)| id).collect();
        match same.first() {
            None => {}
            Some(_) if same.contains(&&message.id) => ruling.pass(),
            Some(live) => {
                let fact = fact!(
                    "replayed-id",
                    "the agent replayed the message `{expected}` as `{actual}`; expected the same id",
                    expected = live, actual = message.id; session_id = session
                );
                fail_in_case(moment, fact, &[message.n], ruling);
            }
        }
    }
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
