//! Faults of version 2: clients that end at updates which they must accept.

use serde_json::Value;

use crate::faulty::{
    layer::{Layer, Onward},
    message::{calls, update},
};

/// A message of the agent as it looks to a client with a fault, with what the client knew before.
#[derive(Default)]
pub(super) struct Known {
    /// The agent reported `idle` last.
    is_idle: bool,
    /// A prompt was sent since then.
    was_prompted: bool,
    /// `session/cancel` was sent since then.
    was_cancelled: bool,
    /// The agent answered the last prompt.
    was_accepted: bool,
    /// The last update of a terminal created it, or came after that.
    knows_terminal: bool,
}

/// Ends the client at a message of the agent.
pub(super) struct EndAtUpdate {
    is_meant: fn(&Known, &Value) -> bool,
    known: Known,
}

impl EndAtUpdate {
    pub(super) fn new(is_meant: fn(&Known, &Value) -> bool) -> Self {
        Self { is_meant, known: Known::default() }
    }
}

impl Layer for EndAtUpdate {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        if (self.is_meant)(&self.known, &message) {
            return onward.end();
        }
        match update(&message) {
            Some("state_update") => {
                self.known.is_idle = state(&message) == Some("idle");
                if self.known.is_idle {
                    (self.known.was_prompted, self.known.was_cancelled) = (false, false);
                }
            }
            Some("terminal_update") => self.known.knows_terminal = true,
            _ => self.known.was_accepted |= is_receipt(&self.known, &message),
        }
        onward.inward(message);
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        if calls(&message, "session/prompt") {
            (self.known.was_prompted, self.known.was_accepted) = (true, false);
        }
        self.known.was_cancelled |= calls(&message, "session/cancel");
        onward.outward(message);
    }
}

fn state(message: &Value) -> Option<&str> {
    message.pointer("/params/update/state")?.as_str()
}

pub(super) fn is_update_while_idle(known: &Known, message: &Value) -> bool {
    known.is_idle && update(message).is_some_and(|kind| kind != "state_update")
}

pub(super) fn is_work_of_its_own(known: &Known, message: &Value) -> bool {
    known.is_idle && !known.was_prompted && state(message) == Some("running")
}

pub(super) fn is_receipt(_: &Known, message: &Value) -> bool {
    message.pointer("/result/messageId").is_some()
}

pub(super) fn is_prompt_after_receipt(known: &Known, message: &Value) -> bool {
    known.was_accepted && update(message) == Some("user_message")
}

pub(super) fn is_end_without_reason(_: &Known, message: &Value) -> bool {
    state(message) == Some("idle") && message.pointer("/params/update/stopReason").is_none_or(Value::is_null)
}

pub(super) fn is_late(known: &Known, message: &Value) -> bool {
    known.was_cancelled && update(message).is_some_and(|kind| kind != "state_update")
}

pub(super) fn is_of_unknown_terminal(known: &Known, message: &Value) -> bool {
    !known.knows_terminal && update(message) == Some("terminal_output_chunk")
}

pub(super) fn is_untitled_tool(_: &Known, message: &Value) -> bool {
    update(message) == Some("tool_call_update") && message.pointer("/params/update/title").is_none()
}

pub(super) fn is_diff_without_patch(_: &Known, message: &Value) -> bool {
    let content = message.pointer("/params/update/content").and_then(Value::as_array);
    content.into_iter().flatten().any(|item| item["type"] == "diff" && item["patch"].is_null())
}

/// Whether an update, its content or one of its commands is of a type with an underscore.
pub(super) fn is_unknown(_: &Known, message: &Value) -> bool {
    let command = |at: &str| message.pointer(at).and_then(Value::as_str);
    let places =
        ["/params/update/sessionUpdate", "/params/update/content/type", "/params/update/availableCommands/0/type"];
    places.into_iter().filter_map(command).any(|kind| kind.starts_with('_'))
}

pub(super) fn is_missing_session(_: &Known, message: &Value) -> bool {
    message.pointer("/error/code").is_some_and(|code| code == -32002)
}
