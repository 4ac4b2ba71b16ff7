//! Area `prompt`: the content of prompts on its way to the scripted model, and the model's text on its way back.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::areas::damage::Damage;
use crate::areas::remembered::decide_context;
use crate::areas::support::{Finish, leave_redacted};
use crate::areas::{Check, CheckContext, On, with};
use crate::conversation::timing::{TEXT_SENT, between};
use crate::conversation::{Answer, CallSeen, IntentPrompt, ModelLog, Session, UpdateSeen, words_of};
use crate::fact;
use crate::finding::Ruling;
use crate::trace::{ModelOutput, ModelRequest, ModelText};
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("prompt.output-reported", On::Response(output_damaged)).only(&["session/prompt"]),
    Check::agent("prompt.output-reported", On::ReceivedCall(end_lost)).only(&["session/prompt"]),
    Check::agent("prompt.output-reported", On::End(end_lost_last)),
    Check::agent("prompt.output-reported", On::Update(output_until_idle)).only(&["state_update"]),
    Check::agent("prompt.context", On::Response(context)).only(&["session/prompt"]),
    Check::agent("prompt.context", On::Update(context_until_idle)).only(&["state_update"]),
    Check::agent("prompt.text", On::Response(with!(block_dropped, "text"))).only(&["session/prompt"]),
    Check::agent("prompt.resource-link", On::Response(with!(block_dropped, "resource_link"))).only(&["session/prompt"]),
    Check::agent("prompt.baseline-content", On::Update(block_dropped_until_idle)).only(&["state_update"]),
];

/// The agent reports the text that its model wrote complete and in order.
///
/// Correct but unusual: an agent that wraps, trims or renders the text, repeats all of it, adds text of its own
/// before or after it, or shortens it. Two different answers of the model, thoughts and links in the answer, a
/// cancel, and another act of the client decide nothing. The end may come after the response, so [`end_lost`] decides
/// on it. Without the scripted model, only a long text for which the prompt asks decides, by [`asked_text`].
fn output_damaged(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some(finish) = Finish::of(ctx, answer).filter(|finish| finish.reason() == Some("end_turn")) else { return };
    if leave_redacted(ctx, finish.exchange.n, ruling) || finish.was_cancelled() || finish.other_reason().is_some() {
        return;
    }
    let log = &finish.session.model;
    if let Some(damage) = damage(log).filter(|damage| !matches!(damage, Damage::Endless(_))) {
        fail_damaged(log, finish.exchange.n, &damage, ruling);
    }
    decide_other_text(log, finish.exchange.n, ruling);
}

/// A text that is exactly that of an earlier turn, and not what the model wrote now.
fn decide_other_text(log: &ModelLog, end: usize, ruling: &mut Ruling<'_>) {
    let plain = |text: &str| text.split_whitespace().collect::<String>();
    let written = sole_text(log).filter(|_| !log.is_uncertain && !log.reported.is_mixed).map(plain);
    let (earlier, reported) = (log.earlier_text.as_deref().map(plain), plain(&log.reported.text));
    if written.is_some_and(|written| written != reported) && earlier.is_some_and(|earlier| earlier == reported) {
        ruling.proved_by(&evidence(log, end)).fail(fact!(
            "output-of-earlier-turn",
            "the agent reported the text of an earlier turn; expected the text that its model wrote in this one"
        ));
    }
}

/// The same for version 2, where an idle state ends the work on a prompt.
///
/// Correct but unusual: see [`output_damaged`], and an agent that replaces a message as a whole. Several prompts at
/// once decide nothing.
fn output_until_idle(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(log) = log_until_idle(ctx, update, ruling) else { return };
    decide_other_text(log, ctx.n, ruling);
    match damage(log).filter(|damage| !matches!(damage, Damage::Endless(_))) {
        Some(damage) => fail_damaged(log, ctx.n, &damage, ruling),
        None if !log.reported.text.is_empty() => ruling.pass(),
        None => {}
    }
}

/// The end of the text comes before the next prompt, if the agent has answered a fence some time after its response.
///
/// Correct but unusual: an agent that sends the end after its response, which only SHOULD come before it.
fn end_lost(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(session) = call.text("sessionId").and_then(|id| ctx.conversation.session(id)) {
        decide_end(ctx, session, ruling);
    }
}

fn end_lost_last(ctx: &CheckContext<'_>, ruling: &mut Ruling<'_>) {
    ctx.conversation.sessions.values().for_each(|session| decide_end(ctx, session, ruling));
}

fn decide_end(ctx: &CheckContext<'_>, session: &Session, ruling: &mut Ruling<'_>) {
    let log = &session.model;
    let ended = log.prompts.last().and_then(|prompt| Some((prompt.n, prompt.completed?)));
    let Some((prompt, (end, us))) = ended else { return };
    let is_late =
        ctx.conversation.fence.is_some_and(|fence| fence > end) && between(us, ctx.conversation.fence_us) >= TEXT_SENT;
    let was_cancelled = session.ended.as_ref().is_some_and(|ended| ended.prompt == prompt && ended.cancelled.is_some());
    let was_disturbed = session.log.as_ref().is_some_and(|turn| turn.n == prompt && turn.disturbed.is_some());
    let asked_since = session.asked.is_some_and(|asked| asked > prompt) || session.work.may_be_ended();
    if !is_late
        || was_cancelled
        || was_disturbed
        || asked_since
        || session.turn.is_some()
        || ctx.conversation.is_redacted
    {
        return;
    }
    if let Some(damage) = damage(log).filter(|damage| matches!(damage, Damage::Endless(_))) {
        fail_damaged(log, end, &damage, ruling);
    }
}

fn damage(log: &ModelLog) -> Option<Damage> {
    let is_certain = !log.is_uncertain && !log.reported.is_mixed;
    let asked = asked_text(log);
    let written = sole_text(log).or(asked.as_deref()).filter(|_| is_certain)?;
    let damage = Damage::of(written, &log.reported.text)?;
    // After a second request, the agent may report the answer to it from the start.
    let is_retried = log.requests.len() > 1 && matches!(damage, Damage::Repeated(_));
    Some(damage).filter(|_| !is_retried)
}

/// Returns the events that prove a violation: the first request to the model, and another one.
fn evidence(log: &ModelLog, other: usize) -> Vec<usize> {
    log.requests.iter().map(|asked| asked.n).take(1).chain([other]).collect()
}

fn fail_damaged(log: &ModelLog, end: usize, damage: &Damage, ruling: &mut Ruling<'_>) {
    ruling.proved_by(&evidence(log, end)).fail(fact!(
        "output-damaged",
        "the agent reported the text of its model {damage}; expected the same text",
        damage = damage.to_string()
    ));
}

/// The model gets the context of the session. `load.continues` and `resume.continues` are about the turn after those.
///
/// Correct but unusual: see [`decide_context`].
fn context(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let finish = Finish::of(ctx, answer).filter(|finish| finish.reason() == Some("end_turn"));
    if let Some(finish) = finish.filter(|finish| finish.turn.after.is_none() && !finish.was_cancelled()) {
        decide_context(ctx, finish.session, ruling);
    }
}

/// The same for version 2, also after a resume.
///
/// Correct but unusual: see [`decide_context`].
fn context_until_idle(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let is_done = update.body.text("stopReason") == Some("end_turn");
    if let Some(session) = update.known.filter(|_| is_done && log_until_idle(ctx, update, ruling).is_some()) {
        decide_context(ctx, session, ruling);
    }
}

/// Returns the long text for which the last prompt asked, if the agent asked no scripted model and reported its
/// beginning and its end: a model that repeats these repeats the rest.
fn asked_text(log: &ModelLog) -> Option<String> {
    /// The least characters of the text, besides white space.
    const LONG: usize = 200;
    /// The characters at each end that the agent reported.
    const END: usize = 24;
    let intent: Value = serde_json::from_str(&log.prompts.last()?.intent).ok()?;
    let text = intent.text("text").filter(|_| intent.text("intent") == Some("say") && log.requests.is_empty())?;
    let plain = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<Vec<_>>();
    let (asked, reported) = (plain(text), plain(&log.reported.text));
    let has = |part: &[char]| reported.windows(part.len()).any(|other| other == part);
    (asked.len() >= LONG && has(&asked[..END]) && has(&asked[asked.len() - END..])).then(|| text.to_owned())
}

/// Returns the text that the model wrote for the last prompt, besides rounds of tool calls without text, if it wrote
/// the same each time.
fn sole_text(log: &ModelLog) -> Option<&str> {
    let outputs: Option<Vec<&ModelOutput>> = log.requests.iter().map(|asked| asked.event.answer.as_ref()).collect();
    let is_round = |output: &ModelOutput| !output.calls.is_empty() && output.text.text.as_deref() == Some("");
    let mut texts = outputs?.into_iter().filter(|output| !is_round(output));
    let first = texts.next().filter(|output| output.finished && output.calls.is_empty())?;
    texts.all(|other| other == first).then_some(first.text.text.as_deref()?)
}

/// "All Agents MUST support text content blocks", and links to resources: each block of a prompt reaches the model.
///
/// Correct but unusual: an agent that puts a block into its instructions, another message or another request,
/// rewrites it, or reads a linked file and sends its content instead. So this fails only if no word of the block is
/// in any message of the prompt's requests, their instructions are older than the prompt, and for a link, the last
/// message holds only the text blocks. It also fails if each request has the only text of the prompt in one message,
/// but damaged. A slash command may be left out.
fn block_dropped(ctx: &CheckContext<'_>, answer: &Answer<'_>, kind: &str, ruling: &mut Ruling<'_>) {
    if let Some(log) = log_of_turn(ctx, answer, (kind, 1), ruling) {
        decide_dropped(ctx, log, &[kind], ruling);
    }
}

/// Returns what the agent asked its model in a turn that ended by itself, if its prompt has a block of this kind and
/// at least so many blocks.
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
    let requests: Vec<&ModelRequest> = log.requests.iter().filter_map(|asked| asked.event.request.as_ref()).collect();
    let Some(words) = words_in(&requests) else { return };
    let is_known = requests.iter().all(|request| !request.cut && is_old(ctx, request, prompt.n));
    if requests.is_empty() || !is_known || conversation.other_model_request.is_some_and(|n| n > prompt.n) {
        return;
    }
    if let Some(damage) = text_damage(prompt, &requests).filter(|_| kinds.contains(&"text")) {
        ruling.proved_by(&evidence(log, prompt.n)).fail_in_case(fact!(
            "prompt-text-damaged",
            "the agent asked its model with the text of the prompt {damage}; expected the same text",
            damage = damage.to_string()
        ));
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
            ruling.proved_by(&evidence(log, prompt.n)).fail_in_case(fact);
        }
    }
}

/// Whether the instructions of a request are older than the prompt, so that they hold nothing of its turn.
pub(super) fn is_old(ctx: &CheckContext<'_>, request: &ModelRequest, prompt: usize) -> bool {
    ctx.conversation.instructions.get(&request.instructions.sha256).is_some_and(|first| *first < prompt)
}

/// Returns the damage that the only text of a prompt has in the message with its intent, in each of these requests.
fn text_damage(prompt: &IntentPrompt, requests: &[&ModelRequest]) -> Option<Damage> {
    let text = prompt.text.as_deref().filter(|text| !text.trim_start().starts_with('/'))?;
    let message_of = |request: &&ModelRequest| {
        let has_it = |message: &&ModelText| message.intents().any(|intent| intent == prompt.intent);
        request.messages.iter().rfind(has_it).and_then(|message| message.text.clone())
    };
    let damages: Option<Vec<Damage>> = requests.iter().map(|request| Damage::of(text, &message_of(request)?)).collect();
    damages?.pop()
}

/// Returns the distinctive words of all messages in these requests; `None` if one is only known by its digest.
pub(super) fn words_in(requests: &[&ModelRequest]) -> Option<BTreeSet<String>> {
    let messages = requests.iter().flat_map(|request| &request.messages);
    let texts: Option<Vec<&str>> = messages.map(|message| message.text.as_deref()).collect();
    Some(texts?.into_iter().flat_map(words_of).collect())
}

/// Whether the messages since the last earlier prompt have no room for the content of a linked file besides the text
/// of the prompt, and no tool result or medium holds it.
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
