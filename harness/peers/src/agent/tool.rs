//! Tool calls as the client gets them: announced, begun, and finished with a final status.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::Notify;

use super::{
    turn::Turn,
    update::{Status, ToolBegins, ToolCall, ToolEnds, Update},
};
use crate::sync::lock;

/// An announced tool call.
pub(super) struct Tool<'turn> {
    turn: &'turn Turn,
    pub id: String,
    pub kind: String,
}

impl Turn {
    /// Announces a tool call with status `pending`.
    pub(super) fn announce(&self, call: ToolCall) -> Tool<'_> {
        let tool = Tool { turn: self, id: self.open_tool(), kind: call.kind.clone() };
        self.session.update(Update::ToolCall(ToolCall { id: tool.id.clone(), ..call }));
        tool
    }

    /// Ends the tool calls that a cancel left open.
    pub(super) fn abandon_tools(&self) {
        let open = std::mem::take(&mut *lock(&self.open_tools));
        for id in open {
            Tool { turn: self, id, kind: String::new() }.end(Status::Cancelled, Some("cancelled"), None);
        }
    }
}

impl Tool<'_> {
    /// Reports that the execution starts.
    pub(super) fn begin(&self) {
        self.begin_with(ToolBegins::default());
    }

    /// Reports that the execution starts, with more details.
    pub(super) fn begin_with(&self, begins: ToolBegins) {
        self.turn.session.update(Update::ToolBegins(ToolBegins { id: self.id.clone(), ..begins }));
    }

    /// Reports that the execution starts in a terminal, and that the client may cancel it; its runner waits for that
    /// notice.
    pub(super) fn begin_cancellable(&self, terminal: String) -> Arc<Notify> {
        let stop = self.turn.session.tools.offer(&self.id);
        self.begin_with(ToolBegins { terminal: Some(terminal), can_cancel: true, ..ToolBegins::default() });
        stop
    }

    /// Reports success with the output; without a text the content stays.
    pub(super) fn complete<'text>(self, text: impl Into<Option<&'text str>>, output: impl Into<Option<Value>>) {
        self.end(Status::Completed, text.into(), output.into());
    }

    /// Reports a failure and its reason.
    pub(super) fn fail(self, reason: &str) {
        self.end(Status::Failed, Some(reason), None);
    }

    /// Reports the final status; without a text the content stays.
    pub(super) fn end(self, status: Status, text: Option<&str>, output: Option<Value>) {
        let Self { turn, id, .. } = self;
        lock(&turn.open_tools).retain(|open| *open != id);
        let could_cancel = turn.session.tools.withdraw(&id);
        let text = text.map(str::to_owned);
        turn.session.update(Update::ToolEnds(ToolEnds { id, status, text, output, could_cancel }));
    }
}
