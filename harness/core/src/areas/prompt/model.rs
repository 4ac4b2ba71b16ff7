//! Area `prompt`: the content of prompts on its way to the scripted model, and the model's text on its way back.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::areas::damage::Damage;
use crate::areas::support::{Finish, leave_redacted};
use crate::areas::{Check, CheckContext, On, with};
use crate::conversation::{Answer, IntentPrompt, ModelLog, UpdateSeen, words_of};
use crate::fact;
use crate::finding::Ruling;
use crate::trace::{ModelOutput, ModelRequest, ModelText};
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("prompt.output-reported", On::Response(output_damaged)).only(&["session/prompt"]),
    Check::agent("prompt.text", On::Response(with!(block_dropped, "text"))).only(&["session/prompt"]),
    Check::agent("prompt.resource-link", On::Response(with!(block_dropped, "resource_link"))).only(&["session/prompt"]),
    Check::agent("prompt.baseline-content", On::Update(block_dropped_until_idle)).only(&["state_update"]),
];

/// The agent reports the text that its model wrote complete and in order, if it reports its beginning and its end.
///
/// Correct but unusual: an agent that wraps, trims or renders the text, leaves out its beginning or its end, repeats
/// all of it, adds text of its own, or summarises it. Two different answers of the model, tool calls, thoughts and
/// links between the pieces, a cancel, and another act of the client decide nothing.
fn output_damaged(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(ctx, answer).filter(|finish| finish.reason() == Some("end_turn")) else { return };
    let log = &finish.session.model;
    if leave_redacted(ctx, finish.exchange.n, ruling) {
        return;
    }
    if finish.was_cancelled() || finish.other_reason().is_some() || log.is_uncertain || log.reported.is_mixed {
        return;
    }
    let Some(written) = sole_text(log) else { return };
    let Some(damage) = Damage::of(written, &log.reported.text) else { return };
    let fact = match damage {
        Damage::Missing(part) => fact!(
            "output-part-missing",
            "the agent reported the text of its model without the part `{part}`; expected the whole text",
            part = shortened(&part)
        ),
        Damage::Doubled(part) => fact!(
            "output-part-doubled",
            "the agent reported the part `{part}` of its model's text twice; expected it once",
            part = shortened(&part)
        ),
        Damage::Swapped(part, next) => fact!(
            "output-parts-swapped",
            "the agent reported the part `{next}` of its model's text before `{part}`; expected the order of the model",
            next = shortened(&next),
            part = shortened(&part)
        ),
        Damage::Replaced => fact!(
            "output-characters-replaced",
            "the agent reported the text of its model with U+FFFD in place of other characters; expected the same \
            characters"
        ),
        Damage::Unspaced(word) => fact!(
            "output-blank-missing",
            "the agent reported the text of its model without the blank after `{word}`; expected it",
            word = shortened(&word)
        ),
    };
    let events: Vec<usize> = log.requests.iter().map(|asked| asked.n).take(1).chain([finish.exchange.n]).collect();
    ruling.proved_by(&events).fail(fact);
}

/// Returns the text that the model wrote for the last prompt, if it called no tool and wrote the same each time.
fn sole_text(log: &ModelLog) -> Option<&str> {
    let text_of = |output: &'_ ModelOutput| output.finished && output.calls.is_empty();
    let mut texts = log.requests.iter().map(|asked| asked.event.answer.as_ref().filter(|output| text_of(output)));
    let first = texts.next()??;
    let is_same = |other: Option<&ModelOutput>| other.is_some_and(|other| other.text == first.text);
    texts.all(is_same).then_some(first.text.text.as_deref()?)
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

/// "All Agents MUST support text content blocks", and links to resources: each block of a prompt reaches the model.
///
/// Correct but unusual: an agent that puts a block into its instructions, another message or another request, rewrites
/// it, or reads a linked file and sends its content instead. So this fails only if no word of the block is in any
/// message of the prompt's requests, their instructions are older than the prompt, and for a link, the last message
/// holds only the text blocks.
fn block_dropped(ctx: &CheckContext<'_>, answer: &Answer<'_>, kind: &str, ruling: &mut Ruling<'_>) {
    if let Some(log) = log_of_turn(ctx, answer, (kind, 2), ruling) {
        decide_dropped(ctx, log, &[kind], ruling);
    }
}

/// Returns what the agent asked its model in a turn that ended by itself, if its prompt has a block of this kind and at
/// least so many blocks.
pub(super) fn log_of_turn<'m>(
    ctx: &CheckContext<'m>,
    answer: &Answer<'m>,
    (kind, least): (&str, usize),
    ruling: &mut Ruling<'_>,
) -> Option<&'m ModelLog> {
    let finish = Finish::of(ctx, answer).filter(|finish| finish.reason() == Some("end_turn"))?;
    let blocks = finish.exchange.params.member("prompt")?.as_array()?;
    let is_meant = |block: &Value| block.member("type").is_some_and(|other| other == kind);
    if blocks.len() < least || !blocks.iter().any(is_meant) || leave_redacted(ctx, finish.exchange.n, ruling) {
        return None;
    }
    (!finish.was_cancelled() && finish.other_reason().is_none()).then_some(&finish.session.model)
}

/// The same for version 2, where an idle state ends the work on a prompt.
///
/// Correct but unusual: see [`block_dropped`]. Several prompts at once, and a cancel, decide nothing.
fn block_dropped_until_idle(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(log) = log_until_idle(ctx, update, ruling) {
        decide_dropped(ctx, log, &["text", "resource_link"], ruling);
    }
}

/// Returns what the agent asked its model for the only prompt whose work this idle state ends.
pub(super) fn log_until_idle<'m>(
    ctx: &CheckContext<'_>,
    update: &UpdateSeen<'m>,
    ruling: &mut Ruling<'_>,
) -> Option<&'m ModelLog> {
    let is_idle = update.body.member("state").is_some_and(|state| state == "idle");
    let session = update.known.filter(|_| is_idle && !leave_redacted(ctx, 0, ruling))?;
    let is_calm = !session.work.may_be_ended() && session.resuming.is_none() && session.turn.is_none();
    let prompt = session.model.prompts.last()?.n;
    (is_calm && !session.has_other_prompt(prompt)).then_some(&session.model)
}

fn decide_dropped(ctx: &CheckContext<'_>, log: &ModelLog, kinds: &[&str], ruling: &mut Ruling<'_>) {
    let Some(prompt) = log.prompts.last().filter(|_| !log.is_uncertain) else { return };
    let conversation = ctx.conversation;
    let is_old = |request: &ModelRequest| {
        conversation.instructions.get(&request.instructions.sha256).is_some_and(|first| *first < prompt.n)
    };
    let requests: Vec<&ModelRequest> = log.requests.iter().filter_map(|asked| asked.event.request.as_ref()).collect();
    let Some(words) = words_in(&requests) else { return };
    let is_known = requests.iter().all(|request| !request.cut && is_old(request));
    if requests.is_empty() || !is_known || conversation.other_model_request.is_some_and(|n| n > prompt.n) {
        return;
    }
    for (at, block) in prompt.blocks.iter().enumerate().filter(|(_, block)| kinds.contains(&block.kind.as_str())) {
        let mut own = prompt.own_words(at).peekable();
        let Some(word) = own.peek().map(|word| (*word).clone()) else { continue };
        let is_gone = own.all(|word| !words.contains(word)) && (block.kind == "text" || holds_only(&requests, prompt));
        if is_gone {
            let fact = fact!(
                "block-not-in-model-request",
                "the agent asked its model without the {kind} block of the prompt, and without the word `{word}` of \
                it; expected the whole prompt",
                kind = block.kind,
                word
            );
            let asked = log.requests.iter().map(|asked| asked.n).take(1);
            ruling.proved_by(&asked.chain([prompt.n]).collect::<Vec<_>>()).fail_in_case(fact);
        }
    }
}

/// Returns the distinctive words of all messages in these requests; `None` if one is only known by its digest.
fn words_in(requests: &[&ModelRequest]) -> Option<BTreeSet<String>> {
    let messages = requests.iter().flat_map(|request| &request.messages);
    let texts: Option<Vec<&str>> = messages.map(|message| message.text.as_deref()).collect();
    Some(texts?.into_iter().flat_map(words_of).collect())
}

/// Whether the messages since the last earlier prompt have no room for the content of a linked file besides the text of
/// the prompt, and no tool result or medium holds it.
fn holds_only(requests: &[&ModelRequest], prompt: &IntentPrompt) -> bool {
    /// The bytes of separators and markup around the text.
    const MARKUP: usize = 64;
    let is_earlier = |message: &&ModelText| message.intents().last().is_some_and(|intent| intent != prompt.intent);
    let has_room = |request: &&&ModelRequest| {
        let since = request.messages.iter().rev().take_while(|message| !is_earlier(message));
        since.map(|message| message.text.as_ref().map_or(0, String::len)).sum::<usize>() > prompt.bytes + MARKUP
    };
    requests.iter().all(|request| request.results.is_empty() && request.media.is_empty() && !has_room(&request))
}
