//! The client's half of the area `system-prompt`: the member in requests that open a session. Its shape is in the table
//! of `judge::shapes`, its capability in the area `gates`.

use serde_json::Value;

use super::{CAPABILITY, MEMBER, blocks_of, mode_of, prompt_in};
use crate::areas::common::OPENING;
use crate::areas::session::client::{opening, reopening};
use crate::areas::{Check, CheckContext, On};
use crate::conversation::CallSeen;
use crate::fact;
use crate::finding::Ruling;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::client("system-prompt.gate", On::Call(null)).alone().only(OPENING),
    Check::client("system-prompt.shape", On::Call(mode_known)).alone().only(OPENING),
    Check::client("system-prompt.content-text", On::Call(content_text)).alone().only(OPENING),
    Check::client("system-prompt.content-not-empty", On::Call(content_not_empty)).alone().only(OPENING),
    Check::client("system-prompt.same-on-reattach", On::Call(same_on_reattach))
        .only(&["session/load", "session/resume"]),
];

/// Notes null, which is the same as no member, if the agent does not advertise the member.
fn null(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let member = opening(call).and_then(|params| params.member(MEMBER));
    if member.is_some_and(Value::is_null) && ctx.conversation.agent_lacks(CAPABILITY) {
        ruling.note(fact!(
            "null-not-advertised",
            "the client sent the systemPrompt null, which the agent does not advertise";
            pointer = "/params/systemPrompt"
        ));
    }
}

/// "Unknown values that do not begin with `_` are reserved for future ACP variants." The schema of version 1 accepts
/// them all the same.
///
/// Correct but unusual: a mode with an underscore, for an agent that knows it.
fn mode_known(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let mode = opening(call).and_then(prompt_in).and_then(mode_of).filter(|_| ctx.conversation.edition.major == 1);
    if let Some(mode) = mode.filter(|mode| !mode.starts_with('_') && !["append", "override"].contains(mode)) {
        ruling.fail(fact!(
            "unknown-mode",
            "the client sent a systemPrompt with the mode `{actual}`; expected append, override or a name with `_`",
            actual = mode; pointer = "/params/systemPrompt/mode"
        ));
    }
}

/// "Clients MUST NOT send other content block types until a future capability allows them".
///
/// Correct but unusual: many blocks, annotations, an empty text. A type that a closed set lacks is a mistake of the
/// block itself.
fn content_text(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(prompt) = opening(call).and_then(prompt_in) else { return };
    let is_open = ctx.conversation.edition.major > 1;
    for (index, block) in blocks_of(prompt).iter().enumerate() {
        match block.text("type") {
            Some("text") => ruling.pass(),
            Some(kind)
                if ["image", "audio", "resource_link", "resource"].contains(&kind)
                    || is_open && kind.starts_with('_') =>
            {
                ruling.fail(fact!(
                    "other-block",
                    "the client sent a systemPrompt with content of the type `{actual}`; expected text",
                    actual = kind; pointer = format!("/params/systemPrompt/content/{index}")
                ));
            }
            _ => {}
        }
    }
}

/// "Clients MUST NOT send an empty array." In version 2 the schema says so.
///
/// Correct but unusual: null or no member without instructions, and one block with an empty text.
fn content_not_empty(_: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let content = opening(call).and_then(prompt_in).and_then(|prompt| prompt.member("content")?.as_array());
    if let Some(content) = content {
        ruling.decide(!content.is_empty(), || {
            fact!(
                "empty-content",
                "the client sent a systemPrompt with empty content; expected at least one block, or no member";
                pointer = "/params/systemPrompt/content"
            )
        });
    }
}

/// Clients "SHOULD send the same value they used when the session was created".
///
/// Correct but unusual: members in another order; null for an absent member; a session that was created without
/// instructions or in an earlier conversation, which decides nothing.
fn same_on_reattach(ctx: &CheckContext<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(params) = reopening(call).filter(|_| ctx.conversation.agent_has(CAPABILITY)) else { return };
    let Some(id) = call.text("sessionId") else { return };
    let Some(created) = ctx.areas.system_prompt.get(id).and_then(|known| known.created_with.as_ref()) else { return };
    let now = prompt_in(params).map(normalised);
    ruling.decide(now == Some(normalised(created)), || {
        fact!(
            "other-system-prompt",
            "the client sent {method} for `{session_id}` with another systemPrompt than in session/new; expected the \
            same",
            method = call.method, session_id = id; pointer = "/params/systemPrompt"
        )
    });
}

/// Returns a value without custom data, which may change with each message, and without members that are null, which
/// mean the same as absent ones in all of a prompt.
fn normalised(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter().filter(|(name, value)| *name != "_meta" && !value.is_null());
            Value::Object(members.map(|(name, value)| (name.clone(), normalised(value))).collect())
        }
        Value::Array(items) => items.iter().map(normalised).collect(),
        other => other.clone(),
    }
}
