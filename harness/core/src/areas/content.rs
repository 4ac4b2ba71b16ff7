//! Areas `content` and `message-id`: the content blocks of a party, and the messages that they belong to.

mod state;
pub(in crate::areas) mod v2;

use serde_json::Value;

pub use self::state::State;
use crate::areas::{Check, CheckContext, On, of_both};
use crate::conversation::{Payload, UpdateSeen};
use crate::fact;
use crate::finding::Ruling;
use crate::protocol::{NotBase64, not_base64};
use crate::requirement::Party;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("message-id.groups", On::Update(groups)).only(CHUNKS),
    Check::agent("message-id.unique", On::Update(unique)).only(CHUNKS),
    Check::agent("message-id.consistent", On::Update(consistent)).only(CHUNKS),
];

/// The requirements of both parties.
pub(super) const BOTH: &[[Check; 2]] = &[
    Check::both(of_both!("content.image-data"), On::Payload(image_data)),
    Check::both(of_both!("content.audio-data"), On::Payload(audio_data)),
    Check::both(of_both!("content.resource-shape"), On::Payload(resource_blob)),
];

/// Decides about the blocks of one kind of media.
///
/// Correct but unusual: data without padding or without bytes, in lines as mail has them, a type in capitals or with
/// parameters, and sound in a container whose type does not begin with `audio/`. Lines and containers are inconclusive.
fn media(ctx: &CheckContext<'_>, payload: &Payload<'_>, definition: &str, prefix: &str, ruling: &mut Ruling<'_>) {
    /// The types of containers for sound that may also contain other data.
    const CONTAINERS: [&str; 2] = ["application/ogg", "video/"];
    for (at, block) in payload.places(definition) {
        decide_base64(ctx, payload, &format!("{at}/data"), block.text("data").unwrap_or_default(), ruling);
        if let Some(kind) = block.text("mimeType").filter(|kind| !kind.to_lowercase().starts_with(prefix)) {
            let fact = fact!(
                "wrong-mime-type",
                "the {party} sent the mimeType `{actual}` in {method} at {pointer}; expected one that begins with \
                `{prefix}`",
                party = ctx.from,
                actual = kind,
                method = payload.method,
                pointer = payload.pointer(at) + "/mimeType",
                prefix
            );
            let contains = CONTAINERS.iter().any(|known| kind.to_lowercase().starts_with(known));
            ruling.fail_unless(contains && prefix == "audio/", fact);
        }
    }
}

/// Fails text that is not base64. The specification leaves open whether it may be broken into lines.
fn decide_base64(ctx: &CheckContext<'_>, payload: &Payload<'_>, at: &str, text: &str, ruling: &mut Ruling<'_>) {
    let Some(problem) = not_base64(text) else { return };
    let joined: String = text.split_ascii_whitespace().collect();
    let (party, method, pointer) = (ctx.from, payload.method, payload.pointer(at));
    if not_base64(&joined).is_none() {
        return ruling.inconclusive(fact!(
            "base64-with-blanks",
            "the {party} sent base64 with blanks or line breaks in {method} at {pointer}",
            party,
            method,
            pointer
        ));
    }
    let fact = match problem {
        NotBase64::Hexadecimal => fact!(
            "hexadecimal",
            "the {party} sent hexadecimal data in {method} at {pointer}; expected base64",
            party,
            method,
            pointer
        ),
        NotBase64::Invalid(error) => fact!(
            "invalid-base64",
            "the {party} sent invalid base64 in {method} at {pointer}: {reason}",
            party,
            method,
            pointer,
            reason = error.to_string().to_lowercase()
        ),
    };
    ruling.fail(fact);
}

/// Image: "data: Base64-encoded image data", "mimeType: The MIME type of the image".
fn image_data(ctx: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    media(ctx, payload, "ImageContent", "image/", ruling);
}

/// Audio: "data: Base64-encoded audio data", "mimeType: The MIME type of the audio".
fn audio_data(ctx: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    media(ctx, payload, "AudioContent", "audio/", ruling);
}

/// Blob resource: "blob: Base64-encoded binary data".
///
/// Correct but unusual: a blob without bytes or without padding. One that is broken into lines is inconclusive.
fn resource_blob(ctx: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for (at, block) in payload.places("EmbeddedResource") {
        let blob = block.pointer("/resource/blob").and_then(Value::as_str).unwrap_or_default();
        decide_base64(ctx, payload, &format!("{at}/resource/blob"), blob, ruling);
    }
}

/// The variants whose text is part of a message of the conversation.
const CHUNKS: &[&str] = &["user_message_chunk", "agent_message_chunk", "agent_thought_chunk"];

fn message_id<'v>(update: &UpdateSeen<'v>) -> Option<&'v str> {
    update.body.member("messageId")?.as_str().filter(|_| CHUNKS.contains(&update.variant))
}

fn is_thought(variant: &str) -> bool {
    variant == "agent_thought_chunk"
}

/// "Chunks with the same messageId belong to the same message; a changed messageId indicates a new message."
///
/// Correct but unusual: a thought shares the id of its message, or the agent returns to an earlier message. Both are
/// noted.
fn groups(_: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(id), Some(session)) = (message_id(update), update.known) else { return };
    match session.message_ids.get(id) {
        Some((first, _)) if first != update.variant && (is_thought(first) || is_thought(update.variant)) => {
            ruling.note(fact!(
                "id-of-thought-and-message",
                "the agent gave a thought and a message one messageId, `{message_id}`",
                message_id = id; pointer = "/params/update/messageId"
            ));
            ruling.pass();
        }
        Some((first, _)) if first != update.variant => ruling.fail(fact!(
            "id-of-two-kinds",
            "the agent sent the messageId `{message_id}` in {actual} after {first}; expected one kind of message \
            per id",
            message_id = id, actual = update.variant, first;
            pointer = "/params/update/messageId"
        )),
        _ if session.finished_messages.contains(id) => ruling.note(fact!(
            "message-continued",
            "the agent continued the earlier message `{message_id}` after another one",
            message_id = id; pointer = "/params/update/messageId"
        )),
        _ => ruling.pass(),
    }
}

/// `messageId` is the "unique identifier for a message within a session".
///
/// Correct but unusual: a replay uses the ids of the live turns again, a user's message is echoed with its id, a chunk
/// of the turn before crosses the next prompt, or the agent continues a message that its limit had cut off. These do
/// not fail.
fn unique(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let (Some(id), Some(session)) = (message_id(update), update.known) else { return };
    let Some((first, prompt)) = session.message_ids.get(id) else { return ruling.pass() };
    if *prompt == session.prompts || first != update.variant || session.loading.is_some() {
        return;
    }
    let Some(turn) = &session.log else { return };
    let fact = fact!(
        "id-reused",
        "the agent used the messageId `{message_id}` of an earlier turn again; expected a new one",
        message_id = id; pointer = "/params/update/messageId"
    );
    // The previous turn's remaining output may come late. Once the agent has answered a later request, all of it has
    // come.
    let ended = session.ended.as_ref();
    let is_out = ended.is_some_and(|ended| ctx.conversation.answered_after(Party::Agent, ended.n));
    let is_complete = ended.is_some_and(|ended| ended.reason.as_deref() == Some("end_turn"));
    ruling.proved_by(&[turn.n]).fail_if(prompt + 1 < session.prompts || (is_out && is_complete), fact);
}

/// "All chunks belonging to the same message share the same messageId": so either all of them have one or all lack it.
///
/// Correct but unusual: an agent that adds a line of its own without an id. So of the chunks without an id that follow
/// one with an id in a turn, only the second one fails. Any other update between the two, and any answer about the
/// session, may end a message, as the end of a replay does.
fn consistent(ctx: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let run = ctx.areas.content.runs.get(update.session);
    let Some(run) = run.filter(|run| run.variant == update.variant) else { return };
    match (run.has_id, message_id(update).is_some()) {
        (true, true) if run.without == 0 => ruling.pass(),
        (true, true) | (false, false) => {}
        (true, false) => {
            let fact = fact!(
                "id-missing",
                "the agent sent {update} without a messageId, although one before has one; expected all or none",
                update = update.variant; pointer = "/params/update/messageId"
            );
            let in_turn = ctx.conversation.session(update.session).is_some_and(|session| session.turn.is_some());
            ruling.fail_if(in_turn && run.without > 0, fact);
        }
        (false, true) => ruling.inconclusive(fact!(
            "id-added",
            "the agent sent {update} with a messageId, although the one before has none; expected all or none",
            update = update.variant; pointer = "/params/update/messageId"
        )),
    }
}
