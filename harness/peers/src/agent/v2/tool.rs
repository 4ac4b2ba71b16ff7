//! Tool calls as the client sees them: announced, begun, and brought to a final status by patches.

use std::sync::Arc;

use agent_client_protocol::{
    schema::MaybeUndefined,
    v2::schema::{
        Content, ContentBlock, SessionUpdate, ToolCallCancelCapabilities, ToolCallCapabilities, ToolCallContent,
        ToolCallContentChunk, ToolCallId, ToolCallStatus, ToolCallUpdate, ToolKind,
    },
};
use serde_json::Value;
use tokio::sync::Notify;

use super::turn::Turn;

/// An announced tool call.
pub(super) struct Tool<'turn> {
    turn: &'turn Turn,
    pub id: ToolCallId,
    pub kind: ToolKind,
}

impl Turn {
    /// Announces a tool call with status `pending`.
    pub(super) fn announce(
        &self,
        name: &str,
        title: &str,
        kind: ToolKind,
        detail: impl FnOnce(ToolCallUpdate) -> ToolCallUpdate,
    ) -> Tool<'_> {
        let id = ToolCallId::new(format!("call-{}", self.next_tool()));
        self.open_tool(id.clone());
        let call = ToolCallUpdate::new(id.clone())
            .name(name.to_owned())
            .title(title.to_owned())
            .kind(kind.clone())
            .status(ToolCallStatus::Pending);
        self.session.update(SessionUpdate::ToolCallUpdate(detail(call)));
        Tool { turn: self, id, kind }
    }

    /// Marks the tool calls that a cancel left open.
    pub(super) fn abandon_tools(&self) {
        for id in self.close_tools() {
            self.session.tools.withdraw(&id.0);
            let update = ToolCallUpdate::new(id).status(ToolCallStatus::Cancelled).capabilities(MaybeUndefined::Null);
            self.session.update(SessionUpdate::ToolCallUpdate(update));
        }
    }
}

impl Tool<'_> {
    /// Reports that the execution starts.
    pub(super) fn begin(&self) {
        self.begin_with(|update| update);
    }

    /// Reports that the execution starts, with further members.
    pub(super) fn begin_with(&self, more: impl FnOnce(ToolCallUpdate) -> ToolCallUpdate) {
        self.update(more(ToolCallUpdate::new(self.id.clone()).status(ToolCallStatus::InProgress)));
    }

    /// Reports that the execution starts and that the client may cancel it; its runner waits for that notice.
    pub(super) fn begin_cancellable(&self, content: ToolCallContent) -> Arc<Notify> {
        let stop = self.turn.session.tools.offer(&self.id.0);
        let capabilities = ToolCallCapabilities::new().cancel(ToolCallCancelCapabilities::new());
        self.begin_with(|update| update.content(vec![content]).capabilities(capabilities));
        stop
    }

    /// Adds a text to the content.
    pub(super) fn append(&self, text: &str) {
        let chunk = ToolCallContentChunk::new(self.id.clone(), text_content(text));
        self.turn.session.update(SessionUpdate::ToolCallContentChunk(chunk));
    }

    /// Reports success by its output; the content stays.
    pub(super) fn complete(self, output: Value) {
        self.end(ToolCallStatus::Completed, output);
    }

    /// Reports a failure and its reason.
    pub(super) fn fail(self, reason: &str) {
        self.append(reason);
        self.end(ToolCallStatus::Failed, Value::Null);
    }

    /// Reports the final status; `output` is left out if absent.
    pub(super) fn end(self, status: ToolCallStatus, output: Value) {
        self.turn.close_tool(&self.id);
        let mut update = ToolCallUpdate::new(self.id.clone()).status(status);
        if self.turn.session.tools.withdraw(&self.id.0) {
            update = update.capabilities(MaybeUndefined::Null);
        }
        if !output.is_null() {
            update = update.raw_output(output);
        }
        self.update(update);
    }

    fn update(&self, update: ToolCallUpdate) {
        self.turn.session.update(SessionUpdate::ToolCallUpdate(update));
    }
}

/// Wraps a text as the content of a tool call.
fn text_content(text: &str) -> ToolCallContent {
    ToolCallContent::Content(Box::new(Content::new(ContentBlock::from(text.to_owned()))))
}
