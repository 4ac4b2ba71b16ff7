//! Liberties that only version 2 gives: patches, messages by id, states, and open sets of values.

mod messages;
mod tools;
mod values;
mod work;

use serde_json::Value;

use super::order::swap;
use super::updates::update;
use super::{How, Kind};
use crate::conversation::Message;

pub const KINDS: &[Kind] = &[
    Kind {
        name: "upserts-repeated",
        rule: "schema.json, AgentMessage and others: \"concrete values replace the previous value\"; StateUpdate: \"Repeated \
            snapshots are idempotent, not additional work, completions, or usage\"",
        how: How::Around(|| Box::new(messages::Repeated)),
    },
    Kind {
        name: "empty-patches-added",
        rule: "schema.json, AgentMessage, ToolCallUpdate, TerminalUpdate: only the id is required; \"an omitted field leaves \
            existing message content unchanged\"",
        how: How::Around(|| Box::new(messages::EmptyPatches)),
    },
    Kind {
        name: "chunks-as-whole-messages",
        rule: "schema.json, AgentMessage: \"that array replaces any content previously accumulated for the message, including \
            content from earlier chunks\"",
        how: How::Around(|| Box::<messages::Whole>::default()),
    },
    Kind {
        name: "whole-messages-in-chunks",
        rule: "schema.json, AgentMessage: \"Later chunks with the same `messageId` append to the current content\"",
        how: How::Around(|| Box::<messages::InChunks>::default()),
    },
    Kind {
        name: "tool-content-in-chunks",
        rule: "schema.json, ToolCallContentChunk: \"Tool-call content chunks append one `ToolCallContent` item to the current \
            content\"",
        how: How::Around(|| Box::new(tools::ToolChunks)),
    },
    Kind {
        name: "tool-patches-completed",
        rule: "schema.json, ToolCallUpdate: \"omitted fields leave the existing tool call value unchanged\", so a repeated value \
            changes nothing",
        how: How::Around(|| Box::<tools::Completed>::default()),
    },
    Kind {
        name: "custom-states-added",
        rule: "schema.json, StateUpdate: \"Values beginning with `_` are reserved for implementation-specific extensions\"; \
            \"Agents MUST still report the standard states\"",
        how: How::Around(|| Box::new(work::CustomStates)),
    },
    Kind {
        name: "agent-work-added",
        rule: "schema.json, StateUpdate: foreground work \"can start with a prompt or be agent-initiated\"; it \"does not require \
            a prompt request or a synthetic user message\"",
        how: How::Around(|| Box::<work::AgentWork>::default()),
    },
    Kind {
        name: "custom-values",
        rule: "schema.json, ToolKind, PlanEntryPriority and others: \"Values beginning with `_` are reserved for \
            implementation-specific extensions\"",
        how: How::Edit(values::custom_values),
    },
    Kind {
        name: "custom-permission-options",
        rule: "schema.json, PermissionOptionKind: values that begin with `_`; PermissionOption: at least one",
        how: How::Edit(values::custom_option),
    },
    Kind {
        name: "prompt-response-crossing",
        rule: "schema.json, PromptResponse: the user-message update \"may arrive before or after this response\"; \"`running` may \
            precede user-message insertion\"",
        how: How::Whole(|conversation, _, choices| swap(conversation, choices, work::receipt)),
    },
    Kind {
        name: "chunks-interleaved",
        rule: "schema.json, ContentChunk: \"Chunks for different messages can interleave\"",
        how: How::Around(|| Box::<messages::Interleaved>::default()),
    },
    Kind {
        name: "terminal-output-split",
        rule: "schema.json, TerminalOutputChunk: \"Independently base64-encoded terminal output bytes\"; nothing says where \
            they are cut",
        how: How::Around(|| Box::new(tools::TerminalChunks)),
    },
    Kind {
        name: "updates-before-session",
        rule: "catalogue, session.updates-before-response: the client keeps session updates that arrive before the response to \
            session/new",
        how: How::Around(|| Box::new(work::BeforeSession)),
    },
    Kind {
        name: "replays-longer",
        rule: "schema.json, ResumeSessionRequest: the agent replays \"all retained conversation history\"; it decides what it \
            retains",
        how: How::Around(|| Box::<work::LongerReplay>::default()),
    },
    Kind {
        name: "late-session-cancels",
        rule: "schema.json, CancelSessionNotification: the work may end by itself while the notification is on its way",
        how: How::Around(|| Box::<work::LateSessionCancels>::default()),
    },
    Kind {
        name: "background-not-reported",
        rule: "schema.json, RunningStateUpdate: \"Omitted and `null` are equivalent and mean the Agent is not reporting \
            background work\"",
        how: How::Whole(work::without_background),
    },
];

/// Returns the message with another update.
fn with(message: &Message, update: Value) -> Value {
    let mut value = message.value.clone();
    value["params"]["update"] = update;
    value
}

/// Returns the state that an update reports.
fn state(message: &Message) -> Option<&str> {
    update(message).filter(|(_, kind, _)| *kind == "state_update")?.2.get("state")?.as_str()
}
