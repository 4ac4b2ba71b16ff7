//! The client's half of the area `prompt`: the content that it may send.

use serde_json::Value;

use crate::areas::common::fail_unannounced;
use crate::areas::{Check, Moment, On};
use crate::conversation::CallSeen;
use crate::finding::Ruling;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::client("prompt.image-gate", On::Call(|moment, call, ruling| content_gate(moment, call, &IMAGE, ruling)))
        .alone()
        .only(&["session/prompt"]),
    Check::client("prompt.audio-gate", On::Call(|moment, call, ruling| content_gate(moment, call, &AUDIO, ruling)))
        .alone()
        .only(&["session/prompt"]),
    Check::client(
        "prompt.embedded-gate",
        On::Call(|moment, call, ruling| content_gate(moment, call, &EMBEDDED, ruling)),
    )
    .alone()
    .only(&["session/prompt"]),
    Check::client("prompt.content-gate", On::Call(content_gates)).alone().only(&["session/prompt"]),
];

/// A type of content that needs a capability.
struct Content {
    /// The `type` of its blocks.
    kind: &'static str,
    /// The member of `promptCapabilities`.
    capability: &'static str,
}

const IMAGE: Content = Content { kind: "image", capability: "image" };
const AUDIO: Content = Content { kind: "audio", capability: "audio" };
const EMBEDDED: Content = Content { kind: "resource", capability: "embeddedContext" };

/// "Clients MUST restrict types of content according to the Prompt Capabilities established during initialization."
fn content_gate(moment: &Moment<'_>, call: &CallSeen<'_>, content: &Content, ruling: &mut Ruling<'_>) {
    let blocks = call.params.and_then(|params| params.member("prompt")?.as_array()).into_iter().flatten();
    let mut meant = blocks.filter(|block| block.member("type").and_then(Value::as_str) == Some(content.kind));
    if call.method == "session/prompt" && meant.next().is_some() {
        fail_unannounced(moment, &["promptCapabilities", content.capability], (call.method, "/params/prompt"), ruling);
    }
}

/// As above, for all types; version 2 has one requirement for them.
fn content_gates(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    for content in [&IMAGE, &AUDIO, &EMBEDDED] {
        content_gate(moment, call, content, ruling);
    }
}
