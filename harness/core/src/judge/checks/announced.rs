//! The client's half of the areas `load`, `resume`, `close`, `list`, `delete` and `prompt`, as far as it is about what the
//! agent announced: nothing else that is optional is used. Whoever never comes near such a method shows nothing here.

use serde_json::Value;

use super::common::decide_announced;
use crate::judge::check::{Check, On};
use crate::judge::moment::{CallSeen, Moment};
use crate::judge::ruling::Ruling;

pub(super) const CHECKS: &[Check] = &[
    Check::client("load.gate", On::Call(method::<LOAD>)),
    Check::client("resume.gate", On::Call(method::<RESUME>)),
    Check::client("close.gate", On::Call(method::<CLOSE>)),
    Check::client("list.gate", On::Call(method::<LIST>)),
    Check::client("delete.gate", On::Call(method::<DELETE>)),
    Check::client("prompt.image-gate", On::Call(content::<IMAGE>)),
    Check::client("prompt.audio-gate", On::Call(content::<AUDIO>)),
    Check::client("prompt.embedded-gate", On::Call(content::<EMBEDDED>)),
];

const METHODS: [&str; 5] = ["session/load", "session/resume", "session/close", "session/list", "session/delete"];
const LOAD: usize = 0;
const RESUME: usize = 1;
const CLOSE: usize = 2;
const LIST: usize = 3;
const DELETE: usize = 4;

/// The types of content that need a capability, each with its member of `promptCapabilities`.
const CONTENT: [(&str, &str); 3] = [("image", "image"), ("audio", "audio"), ("resource", "embeddedContext")];
const IMAGE: usize = 0;
const AUDIO: usize = 1;
const EMBEDDED: usize = 2;

/// "If `sessionCapabilities.close` is not present, the Agent does not support closing sessions and Clients MUST NOT
/// attempt to call `session/close`", and so for the others.
///
/// Correct but unusual: the client calls the method before the agent answered `initialize`, or the recording begins after
/// that. Nothing is known then, and nothing fails.
fn method<const METHOD: usize>(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let path = moment.talk.edition.adapter.capability_of(call.method);
    if let Some(path) = path.filter(|_| call.method == METHODS[METHOD]) {
        decide_announced(moment, path, (call.method, "/method"), ruling);
    }
}

/// "Clients MUST restrict types of content according to the Prompt Capabilities established during initialization."
fn content<const KIND: usize>(moment: &Moment<'_>, call: &CallSeen<'_>, ruling: &mut Ruling<'_>) {
    let (kind, capability) = CONTENT[KIND];
    let blocks = call.params.and_then(|params| params.get("prompt")?.as_array()).into_iter().flatten();
    let mut meant = blocks.filter(|block| block.get("type").and_then(Value::as_str) == Some(kind));
    if call.method == "session/prompt" && meant.next().is_some() {
        decide_announced(moment, &["promptCapabilities", capability], (call.method, "/params/prompt"), ruling);
    }
}
