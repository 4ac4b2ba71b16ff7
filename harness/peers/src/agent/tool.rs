//! Tool calls as the client gets them: announced, begun, and finished with a final status.

use agent_client_protocol::v1::schema::{
    Content, ContentBlock, SessionUpdate, ToolCall, ToolCallContent, ToolCallId, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind,
};
use serde_json::Value;

use super::turn::Turn;

/// An announced tool call.
pub(super) struct Tool<'turn> {
    turn: &'turn Turn,
    pub id: ToolCallId,
    pub kind: ToolKind,
}

impl Turn {
    /// Announces a tool call with status `pending`.
    pub(super) fn announce(&self, title: &str, kind: ToolKind, detail: impl FnOnce(ToolCall) -> ToolCall) -> Tool<'_> {
        let id = self.open_tool();
        let call = detail(ToolCall::new(id.clone(), title).kind(kind).status(ToolCallStatus::Pending));
        self.update(SessionUpdate::ToolCall(call));
        Tool { turn: self, id, kind }
    }

    /// Marks the tool calls that a cancel left open as failed.
    pub(super) fn abandon_tools(&self) {
        for id in self.close_tools() {
            let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Failed).content(text_content("cancelled"));
            self.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id, fields)));
        }
    }
}

impl Tool<'_> {
    /// Reports that the execution starts.
    pub(super) fn begin(&self) {
        self.begin_with(ToolCallUpdateFields::new());
    }

    /// Reports that the execution starts, with more fields.
    pub(super) fn begin_with(&self, fields: ToolCallUpdateFields) {
        self.update(fields.status(ToolCallStatus::InProgress));
    }

    /// Reports success with the output; without new content the old one stays.
    pub(super) fn complete(self, content: impl Into<Option<Vec<ToolCallContent>>>, output: Value) {
        self.end(ToolCallStatus::Completed, content.into(), output);
    }

    /// Reports a failure and its reason.
    pub(super) fn fail(self, reason: &str) {
        self.finish(ToolCallUpdateFields::new().status(ToolCallStatus::Failed).content(text_content(reason)));
    }

    /// Reports a failure with the output; without new content the old one stays.
    pub(super) fn fail_with(self, content: impl Into<Option<Vec<ToolCallContent>>>, output: Value) {
        self.end(ToolCallStatus::Failed, content.into(), output);
    }

    fn end(self, status: ToolCallStatus, content: Option<Vec<ToolCallContent>>, output: Value) {
        let fields = ToolCallUpdateFields::new().status(status).content(content);
        self.finish(fields.raw_output(output));
    }

    fn finish(self, fields: ToolCallUpdateFields) {
        self.turn.close_tool(&self.id);
        self.update(fields);
    }

    fn update(&self, fields: ToolCallUpdateFields) {
        self.turn.update(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(self.id.clone(), fields)));
    }
}

/// Wraps a text as the content of a tool call.
pub(super) fn text_content(text: &str) -> Vec<ToolCallContent> {
    vec![ToolCallContent::Content(Content::new(ContentBlock::from(text.to_owned())))]
}
