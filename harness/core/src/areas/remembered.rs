//! The history of a session as its model gets it: the requests to the scripted model show it.

use std::collections::BTreeSet;

use crate::areas::CheckContext;
use crate::areas::support::{Finish, leave_redacted};
use crate::conversation::{Answer, IntentPrompt, ModelAsked, ModelLog, Opening, Session};
use crate::fact;
use crate::finding::{Fact, Ruling};
use crate::trace::ModelRequest;

/// The first turn after a load or a resume: "The Client can then continue sending prompts as if the session was never
/// interrupted", so the model gets the earlier prompts.
///
/// Correct but unusual: an agent that passes no history to its model at all, or only a summary of it, in another
/// message, in the instructions, or after a request of its own to the model. So this fails only if the agent passed an
/// earlier prompt to its model in a session that was not opened again, and a request after the load is no longer than
/// that of the session's first prompt, or if the requests hold an earlier prompt and not the last one, since an agent
/// that shortens its history keeps the latest turns. A failed turn, a compaction and a slash command excuse a gap.
pub(super) fn decide_remembers(ctx: &CheckContext<'_>, answer: &Answer<'_>, after: Opening, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(ctx, answer).filter(|finish| finish.turn.after == Some(after)) else { return };
    if leave_redacted(ctx, finish.exchange.n, ruling) {
        return;
    }
    let (session, log) = (finish.session, &finish.session.model);
    let Some(contrast) = ctx.conversation.passes_history.filter(|_| finish.reason() == Some("end_turn")) else {
        return;
    };
    let Some((_, earlier)) = log.prompts.split_last() else { return };
    let is_whole = session.opening == Opening::New && !session.uneven && !log.is_cut && !log.is_uncertain;
    let ended = session.ended.as_ref().map_or(0, |ended| ended.n);
    let asked_otherwise = ctx.conversation.other_model_request.is_some_and(|n| n > ended);
    if !is_whole || asked_otherwise || log.prompts.iter().any(is_command) {
        return;
    }
    if lack(log, &earlier.iter().collect::<Vec<_>>()) {
        return ruling.proved_by(&[log.requests[0].n, contrast]).fail(fact!(
            "history-not-in-model-request",
            "the agent asked its model without the earlier prompts of the session after {method}; expected them, as \
            without {method}",
            method = after.method();
            prompts = earlier.len()
        ));
    }
    let done: Vec<&IntentPrompt> = earlier.iter().filter(|prompt| prompt.completed.is_some()).collect();
    if lack_latest(log, &done) {
        return ruling.proved_by(&[log.requests[0].n, log.whole.unwrap_or(contrast)]).fail(fact!(
            "latest-turn-not-in-model-request",
            "the agent asked its model without the latest prompt before {method}, but with an earlier one; expected \
            both, as without {method}",
            method = after.method();
            prompts = earlier.len()
        ));
    }
    if let Some((n, fact)) = disorder(log, after) {
        ruling.proved_by(&[n, log.whole.unwrap_or(contrast)]).fail(fact);
    }
}

/// "The Client may send another `session/prompt` to continue the conversation, building on the context established in
/// previous turns": the model gets the prompts of earlier turns that ended by themselves.
///
/// Correct but unusual: see [`decide_remembers`].
pub(super) fn decide_context(ctx: &CheckContext<'_>, session: &Session, ruling: &mut Ruling<'_>) {
    let log = &session.model;
    let Some((prompt, earlier)) = log.prompts.split_last() else { return };
    let done: Vec<&IntentPrompt> = earlier.iter().filter(|prompt| prompt.completed.is_some()).collect();
    let Some(contrast) = ctx.conversation.passes_history.filter(|_| !done.is_empty()) else { return };
    let asked_otherwise = ctx.conversation.other_model_request.is_some_and(|n| n > prompt.n);
    let is_known = session.opening == Opening::New && !log.is_cut && !log.is_uncertain && !asked_otherwise;
    if !is_known || log.prompts.iter().any(is_command) || leave_redacted(ctx, prompt.n, ruling) {
        return;
    }
    let holds = |asked: &ModelAsked| {
        let history = asked.event.request.as_ref().map(history_of).unwrap_or_default();
        done.iter().any(|earlier| history.contains(&earlier.intent.as_str()))
    };
    // A compaction may keep the first prompt and a summary, and of prompts at once the later may be done first.
    if !session.uneven && lack_latest(log, &done) {
        ruling.proved_by(&[log.requests[0].n, log.whole.unwrap_or(contrast)]).fail_in_case(fact!(
            "latest-turn-not-in-model-request",
            "the agent asked its model without the latest of the earlier prompts, but with another one; expected both";
            prompts = done.len()
        ));
    } else if log.requests.iter().any(holds) {
        ruling.pass();
    } else if lack(log, &done) {
        ruling.proved_by(&[log.requests[0].n, contrast]).fail_in_case(fact!(
            "context-not-in-model-request",
            "the agent asked its model without the earlier prompts of the session; expected them, as in an earlier \
            turn";
            prompts = done.len()
        ));
    }
}

fn is_command(prompt: &IntentPrompt) -> bool {
    prompt.text.as_ref().is_none_or(|text| text.trim_start().starts_with('/'))
}

/// Whether each request for the last prompt lacks these earlier ones, and is no longer than those for the first.
fn lack(log: &ModelLog, earlier: &[&IntentPrompt]) -> bool {
    /// The bytes by which two requests without a history may differ, such as by the date.
    const TOLERANCE: usize = 64;
    let (Some(prompt), Some((bytes, tools))) = (log.prompts.last(), log.baseline) else { return false };
    let lacks_history = |asked: &ModelAsked| {
        let Some(request) = &asked.event.request else { return false };
        let history = history_of(request);
        let is_as_short = request.bytes.saturating_sub(prompt.bytes) <= bytes + TOLERANCE;
        let holds = |earlier: &&IntentPrompt| history.contains(&earlier.intent.as_str());
        is_as_short && request.tools.len() == tools && !request.cut && !earlier.iter().any(holds)
    };
    !earlier.is_empty() && !log.requests.is_empty() && log.requests.iter().all(lacks_history)
}

/// Whether each request for the last prompt holds one of these earlier ones, but not the last of them, although the
/// session had passed all its prompts in order before.
fn lack_latest(log: &ModelLog, earlier: &[&IntentPrompt]) -> bool {
    let Some((latest, older)) = earlier.split_last() else { return false };
    let lacks_latest = |asked: &ModelAsked| {
        let Some(request) = asked.event.request.as_ref().filter(|request| !request.cut) else { return false };
        let history = history_of(request);
        let holds =
            |prompt: &&IntentPrompt| prompt.intent != latest.intent && history.contains(&prompt.intent.as_str());
        !history.contains(&latest.intent.as_str()) && older.iter().any(holds)
    };
    let is_same = log.prompts.last().is_some_and(|prompt| prompt.intent == latest.intent);
    log.whole.is_some() && !is_same && !log.requests.is_empty() && log.requests.iter().all(lacks_latest)
}

/// Returns a request with the earlier prompts in another order, or with all of them several times.
///
/// Correct but unusual: an agent that repeats a prompt, as a reminder or after an error of the model, or quotes prompts
/// in one message. So the same session must have passed each of its prompts as one message in order before it was
/// opened again, and what fails is each of them once in another order, or each of at least two more than once.
fn disorder(log: &ModelLog, after: Opening) -> Option<(usize, Fact)> {
    log.whole?;
    let earlier = log.prompts.len() - 1;
    let intents: BTreeSet<&str> = log.prompts.iter().map(|prompt| prompt.intent.as_str()).collect();
    if intents.len() != log.prompts.len() || earlier < 2 {
        return None;
    }
    log.requests.iter().find_map(|asked| {
        let request = asked.event.request.as_ref().filter(|request| !request.cut)?;
        let numbers: Vec<usize> = log.history_in(request).into_iter().filter(|number| *number < earlier).collect();
        let count = |number: usize| numbers.iter().filter(|other| **other == number).count();
        let is_swapped = (0..earlier).all(|number| count(number) == 1) && !numbers.is_sorted();
        let is_repeated = (0..earlier).all(|number| count(number) > 1);
        let fact = if is_swapped {
            fact!(
                "history-in-other-order",
                "the agent asked its model with the earlier prompts of the session in another order after {method}; \
                expected the order of the conversation",
                method = after.method();
                prompts = earlier
            )
        } else if is_repeated {
            fact!(
                "history-repeated",
                "the agent asked its model with each earlier prompt of the session several times after {method}; \
                expected each once, as before",
                method = after.method();
                prompts = earlier
            )
        } else {
            return None;
        };
        Some((asked.n, fact))
    })
}

/// Returns the intents before the last one.
fn history_of(request: &ModelRequest) -> Vec<&str> {
    let mut intents: Vec<&str> = request.intents().collect();
    intents.pop();
    intents
}

/// "Each session maintains its own context, conversation history": no message of the user in it is the prompt of
/// another session.
///
/// Correct but unusual: the same prompt in both sessions; a fork; a memory that quotes other sessions in its
/// instructions or within a message; a session from before this conversation. Only a message that is exactly the text
/// of another session's prompt fails.
pub(super) fn decide_own_history(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(ctx, answer) else { return };
    let (session, log) = (finish.session, &finish.session.model);
    let conversation = ctx.conversation;
    let is_known = session.opening == Opening::New && !log.is_cut && !log.is_uncertain && !log.requests.is_empty();
    if !is_known || !conversation.whole || conversation.may_open_otherwise() {
        return;
    }
    let text_of = |prompt: &IntentPrompt| prompt.text.as_ref().map(|text| text.trim().to_owned());
    let is_own = |text: &str| log.prompts.iter().any(|prompt| text_of(prompt).is_none_or(|own| own == text));
    let others = conversation.sessions.iter().filter(|(id, _)| finish.exchange.session() != Some(id.as_str()));
    let prompts =
        others.flat_map(|(id, other): (&String, &Session)| other.model.prompts.iter().map(move |prompt| (id, prompt)));
    let foreign: Vec<_> = prompts.filter_map(|(id, prompt)| Some((id, prompt.n, text_of(prompt)?))).collect();
    for asked in &log.requests {
        let messages = asked.event.request.iter().flat_map(|request| &request.messages);
        for text in messages.filter_map(|message| message.text.as_deref()).map(str::trim) {
            let found = foreign.iter().find(|(_, _, prompt)| prompt == text && !is_own(text));
            if let Some((id, prompt, _)) = found {
                return ruling.proved_by(&[asked.n, *prompt]).fail(fact!(
                    "prompt-of-other-session",
                    "the agent sent its model a prompt of the session `{other}` in the history of `{session_id}`; \
                    expected only prompts of that session",
                    other = id,
                    session_id = finish.exchange.session()
                ));
            }
        }
    }
}
