//! Areas `content` and `message-id`: the blocks that a party sends, and which message they belong to.

use serde_json::Value;

use super::support::not_base64;
use crate::judge::check::{Check, On};
use crate::judge::conversation::After;
use crate::judge::moment::{Moment, Payload, UpdateSeen};
use crate::judge::ruling::Ruling;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("content.image-data.agent", On::Payload(image_data)),
    Check::agent("content.audio-data.agent", On::Payload(audio_data)),
    Check::agent("content.resource-shape.agent", On::Payload(resource_blob)),
    Check::client("content.image-data.client", On::Payload(image_data)),
    Check::client("content.audio-data.client", On::Payload(audio_data)),
    Check::client("content.resource-shape.client", On::Payload(resource_blob)),
    Check::agent("message-id.groups", On::Update(groups)),
    Check::agent("message-id.unique", On::Update(unique)),
    Check::agent("message-id.consistent", On::Update(consistent)),
];

fn media(payload: &Payload<'_>, definition: &str, prefix: &str, ruling: &mut Ruling<'_>) {
    for (at, block) in payload.places(definition) {
        let text = |name: &str| block.get(name).and_then(Value::as_str);
        if let Some(problem) = text("data").and_then(not_base64) {
            ruling.fail(format!("{}, {at}: data is no base64: {problem}", payload.method), &[]);
        }
        if let Some(kind) = text("mimeType").filter(|kind| !kind.to_lowercase().starts_with(prefix)) {
            ruling.fail(format!("{}, {at}: the mimeType `{kind}` does not begin with `{prefix}`", payload.method), &[]);
        }
    }
}

/// Image: "data: Base64-encoded image data", "mimeType: The MIME type of the image".
fn image_data(_: &Moment<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    media(payload, "ImageContent", "image/", ruling);
}

/// Audio: "data: Base64-encoded audio data", "mimeType: The MIME type of the audio".
fn audio_data(_: &Moment<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    media(payload, "AudioContent", "audio/", ruling);
}

/// Blob resource: "blob: Base64-encoded binary data".
fn resource_blob(_: &Moment<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for (at, block) in payload.places("EmbeddedResource") {
        if let Some(problem) = block.pointer("/resource/blob").and_then(Value::as_str).and_then(not_base64) {
            ruling.fail(format!("{}, {at}: blob is no base64: {problem}", payload.method), &[]);
        }
    }
}

fn message_id<'v>(update: &UpdateSeen<'v>) -> Option<&'v str> {
    update
        .body
        .get("messageId")?
        .as_str()
        .filter(|_| update.variant.ends_with("_message_chunk") || is_thought(update.variant))
}

fn is_thought(variant: &str) -> bool {
    variant == "agent_thought_chunk"
}

/// "Chunks with the same messageId belong to the same message; a changed messageId indicates a new message."
fn groups(moment: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(id), Some(session)) = (message_id(update), moment.talk.session(update.session)) else { return };
    match session.message_ids.get(id) {
        Some((first, _)) if first != update.variant && (is_thought(first) || is_thought(update.variant)) => {
            ruling.note("a thought and a message share one messageId");
            ruling.pass();
        }
        Some((first, _)) if first != update.variant => {
            ruling
                .fail(format!("the messageId `{id}` is that of a {first}, and now that of a {}", update.variant), &[]);
        }
        _ if session.finished_messages.contains(id) => {
            ruling.note(format!("the agent came back to the message `{id}`"))
        }
        _ => ruling.pass(),
    }
}

/// `messageId` is the "unique identifier for a message within a session".
fn unique(moment: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(id), Some(session)) = (message_id(update), moment.talk.session(update.session)) else { return };
    let Some((first, prompt)) = session.message_ids.get(id) else { return ruling.pass() };
    let turn = moment.talk.course.session(update.session).and_then(|course| course.turn.as_ref());
    let Some(turn) =
        turn.filter(|_| *prompt != session.prompts && first == update.variant && session.loading.is_none())
    else {
        return;
    };
    let message = format!("the messageId `{id}` was used in an earlier turn");
    // What a cancelled turn still had to say may come late, and is judged as such.
    if turn.after == Some(After::Cancel) && turn.last_output_us.is_none() {
        ruling.inconclusive(message, &[]);
    } else {
        ruling.fail(message, &[turn.n]);
    }
}

/// "All chunks belonging to the same message share the same messageId": so either all of them have one or none does.
///
/// Correct but unusual: an agent that adds a notice of its own without an id. Any other update between the two, and any
/// answer about the session, may end a message, as the end of a replay does.
fn consistent(moment: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let run = moment.talk.course.session(update.session).and_then(|course| course.chunk_run.as_ref());
    let Some((_, before)) = run.filter(|(variant, _)| variant == update.variant) else { return };
    match (*before, message_id(update).is_some()) {
        (true, true) => ruling.pass(),
        (false, false) => {}
        (true, false) => {
            ruling.fail(format!("this {} has no messageId, and the one before it had", update.variant), &[])
        }
        (false, true) => {
            ruling.fail(format!("this {} has a messageId, and the one before it had none", update.variant), &[])
        }
    }
}
