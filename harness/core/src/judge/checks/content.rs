//! Areas `content` and `message-id`: the blocks that a party sends, and which message they belong to.

use serde_json::Value;

use super::support::not_base64;
use crate::judge::check::{Check, On};
use crate::judge::moment::{Moment, Payload, UpdateSeen};
use crate::judge::ruling::Ruling;
use crate::requirement::Party;

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

/// Decides on the blocks of one kind of media.
///
/// Correct but unusual: data without padding or without bytes, in lines as mail has them, a type in capitals or with
/// parameters, and sound in a container whose type does not begin with `audio/`. Lines and containers are inconclusive.
fn media(payload: &Payload<'_>, definition: &str, prefix: &str, ruling: &mut Ruling<'_>) {
    /// The types of containers that hold sound alone as well as other things.
    const CONTAINERS: [&str; 2] = ["application/ogg", "video/"];
    for (at, block) in payload.places(definition) {
        let text = |name: &str| block.get(name).and_then(Value::as_str);
        decide_base64(&format!("{}, {at}: data", payload.method), text("data").unwrap_or_default(), ruling);
        if let Some(kind) = text("mimeType").filter(|kind| !kind.to_lowercase().starts_with(prefix)) {
            let message = format!("{}, {at}: the mimeType `{kind}` does not begin with `{prefix}`", payload.method);
            let contains = CONTAINERS.iter().any(|known| kind.to_lowercase().starts_with(known));
            if contains && prefix == "audio/" { ruling.inconclusive(message, &[]) } else { ruling.fail(message, &[]) }
        }
    }
}

/// Fails what is no base64. Whether it may be broken into lines is open.
fn decide_base64(what: &str, text: &str, ruling: &mut Ruling<'_>) {
    let joined: String = text.split_ascii_whitespace().collect();
    match (not_base64(text), not_base64(&joined)) {
        (Some(problem), Some(_)) => ruling.fail(format!("{what} is no base64: {problem}"), &[]),
        (Some(_), None) => ruling.inconclusive(format!("{what} is base64 with blanks or line breaks in it"), &[]),
        (None, _) => {}
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
///
/// Correct but unusual: a blob without bytes or without padding. One that is broken into lines is inconclusive.
fn resource_blob(_: &Moment<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for (at, block) in payload.places("EmbeddedResource") {
        let blob = block.pointer("/resource/blob").and_then(Value::as_str).unwrap_or_default();
        decide_base64(&format!("{}, {at}: blob", payload.method), blob, ruling);
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
///
/// Correct but unusual: a thought shares the id of its message, or the agent comes back to a message that it had left for
/// another. Both are noted.
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
///
/// Correct but unusual: a replay uses the ids of the live turns again, a user's message is echoed with its id, a chunk of the
/// turn before crosses the next prompt, or the agent goes on with a message that its limit had cut off. None of these fails.
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
    // What the turn before still had to say may come late. Once the agent answered a later request, all of that is out.
    let ended = session.ended.as_ref();
    let is_out = ended.is_some_and(|ended| moment.talk.answered_after(Party::Agent, ended.n));
    let is_complete = ended.is_some_and(|ended| ended.reason.as_deref() == Some("end_turn"));
    match prompt + 1 < session.prompts || (is_out && is_complete) {
        true => ruling.fail(message, &[turn.n]),
        false => ruling.inconclusive(message, &[turn.n]),
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
