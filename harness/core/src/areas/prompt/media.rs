//! Area `prompt`: images, sounds and embedded resources of prompts on their way to the scripted model.

use std::collections::BTreeSet;

use super::model::{is_old, log_of_turn, log_until_idle};
use crate::areas::{Check, CheckContext, On, with};
use crate::conversation::{Answer, IntentPrompt, ModelLog, UpdateSeen};
use crate::fact;
use crate::finding::Ruling;
use crate::trace::ModelRequest;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("prompt.image-accepted", On::Response(with!(dropped, "image"))).only(&["session/prompt"]),
    Check::agent("prompt.audio-accepted", On::Response(with!(dropped, "audio"))).only(&["session/prompt"]),
    Check::agent("prompt.embedded-accepted", On::Response(with!(dropped, "resource"))).only(&["session/prompt"]),
    Check::agent("prompt.advertised-content", On::Update(dropped_until_idle)).only(&["state_update"]),
];

/// "The prompt may include" such blocks: the model gets each of them, not only the first of its kind or of its session.
///
/// Correct but unusual: an agent whose model takes no images, which puts them into files or turns them into others,
/// retrieves only resources that matter, or leaves out what its annotations permit. So a block fails only if the agent
/// passed another one of the same type and MIME type unchanged in the same conversation, and the requests for this
/// prompt hold neither the block nor an unknown medium, a tool result or a changed instruction.
fn dropped(ctx: &CheckContext<'_>, answer: &Answer<'_>, kind: &str, ruling: &mut Ruling<'_>) {
    if let Some(log) = log_of_turn(ctx, answer, (kind, 1), ruling) {
        decide_dropped(ctx, log, &[kind], ruling);
    }
}

/// The same for version 2, where an idle state ends the work on a prompt.
///
/// Correct but unusual: see [`dropped`]. Several prompts at once, and a cancel, decide nothing.
fn dropped_until_idle(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if let Some(log) = log_until_idle(ctx, update, ruling) {
        decide_dropped(ctx, log, &["image", "audio", "resource"], ruling);
    }
}

fn decide_dropped(ctx: &CheckContext<'_>, log: &ModelLog, kinds: &[&str], ruling: &mut Ruling<'_>) {
    let Some((prompt, earlier)) = log.prompts.split_last().filter(|_| !log.is_uncertain) else { return };
    let conversation = ctx.conversation;
    let requests: Vec<&ModelRequest> = log.requests.iter().filter_map(|asked| asked.event.request.as_ref()).collect();
    let is_known = |request: &&ModelRequest| {
        let has_texts = request.messages.iter().all(|message| message.text.is_some());
        !request.cut && has_texts && is_old(ctx, request, prompt.n)
    };
    let asked_otherwise = conversation.other_model_request.is_some_and(|n| n > prompt.n);
    if requests.is_empty() || asked_otherwise || log.is_cut || !requests.iter().all(is_known) {
        return;
    }
    let sent: BTreeSet<&str> = contents(earlier).chain(contents(std::slice::from_ref(prompt))).collect();
    let is_ours = |request: &ModelRequest| {
        request.results.is_empty() && request.media.iter().all(|medium| sent.contains(medium.content.sha256.as_str()))
    };
    if !requests.iter().all(|request| is_ours(request)) {
        return;
    }
    let shown: Vec<&str> = contents(earlier).collect();
    for (at, block) in prompt.blocks.iter().enumerate().filter(|(_, block)| kinds.contains(&block.kind.as_str())) {
        let Some(contrast) = conversation.passed.get(&block.sort()).filter(|_| !block.is_annotated) else { continue };
        let is_shown = block.content.as_ref().is_some_and(|content| shown.contains(&content.sha256.as_str()));
        let has_words = block.content.is_some() || prompt.own_words(at).next().is_some();
        if is_shown || !has_words || requests.iter().any(|request| prompt.is_named_in(at, request)) {
            continue;
        }
        let fact = fact!(
            "attachment-not-in-model-request",
            "the agent asked its model without the {kind} block at {pointer} of the prompt, although it passed another \
            one; expected the whole prompt",
            kind = block.kind,
            pointer = format!("/params/prompt/{at}")
        );
        let asked = log.requests.iter().map(|asked| asked.n).take(1);
        ruling.proved_by(&asked.chain([prompt.n, *contrast]).collect::<Vec<_>>()).fail_in_case(fact);
    }
}

/// Returns the digests of the images, sounds and blobs in these prompts.
fn contents(prompts: &[IntentPrompt]) -> impl Iterator<Item = &str> {
    let blocks = prompts.iter().flat_map(|prompt| &prompt.blocks);
    blocks.filter_map(|block| Some(block.content.as_ref()?.sha256.as_str()))
}
