//! One session: its record, its running turn and its MCP servers.

use std::{
    path::{Component, Path, PathBuf},
    sync::{Mutex, MutexGuard},
    time::Duration,
};

use agent_client_protocol::v1::schema::{ContentBlock, SessionId, SessionUpdate, ToolCallContent, ToolKind};
use serde_json::Value;
use tokio::sync::watch;

use super::{clock, mcp::McpClient, store::Record, sync::lock};

/// Time that a cancelled turn gets to end before its session ends without it.
const TURN_LIMIT: Duration = Duration::from_secs(2);

/// A session that the client opened on this connection.
pub(super) struct Session {
    pub id: SessionId,
    pub cwd: PathBuf,
    pub roots: Vec<PathBuf>,
    mcp: tokio::sync::Mutex<Vec<McpClient>>,
    record: Mutex<Record<SessionUpdate>>,
    /// Set while a turn runs; sending `true` cancels it.
    turn: Mutex<Option<watch::Sender<bool>>>,
    /// The "always" answers of the user.
    decisions: Mutex<Vec<(ToolKind, bool)>>,
}

impl Session {
    /// Opens a session from its record, with the directories of this request.
    pub(super) fn open(
        mut record: Record<SessionUpdate>,
        cwd: PathBuf,
        roots: Vec<PathBuf>,
        mcp: Vec<McpClient>,
    ) -> Self {
        record.cwd.clone_from(&cwd);
        record.roots.clone_from(&roots);
        Self {
            id: SessionId::new(record.id.clone()),
            cwd,
            roots,
            mcp: tokio::sync::Mutex::new(mcp),
            record: Mutex::new(record),
            turn: Mutex::default(),
            decisions: Mutex::default(),
        }
    }

    /// Gives access to the lasting state; never held across an await.
    pub(super) fn record(&self) -> MutexGuard<'_, Record<SessionUpdate>> {
        lock(&self.record)
    }

    /// Makes a path absolute, starting from the session's cwd, and removes `.` and `..`.
    pub(super) fn resolve(&self, path: &Path) -> PathBuf {
        normalize(&self.cwd.join(path))
    }

    /// Returns whether a path is in the directories that the session may change.
    pub(super) fn is_inside(&self, path: &Path) -> bool {
        std::iter::once(&self.cwd).chain(&self.roots).any(|root| path.starts_with(normalize(root)))
    }

    /// Starts a turn unless one is running; the receiver turns true when it is cancelled.
    pub(super) fn begin_turn(&self) -> Option<watch::Receiver<bool>> {
        let mut turn = lock(&self.turn);
        if turn.is_some() {
            return None;
        }
        let (cancel, cancelled) = watch::channel(false);
        *turn = Some(cancel);
        Some(cancelled)
    }

    /// Ends the turn.
    pub(super) fn end_turn(&self) {
        *lock(&self.turn) = None;
    }

    /// Cancels the running turn, if there is one.
    pub(super) fn cancel(&self) {
        if let Some(cancel) = &*lock(&self.turn) {
            cancel.send_replace(true);
        }
    }

    /// Cancels the running turn and ends the MCP servers.
    pub(super) async fn end(&self) {
        self.cancel();
        let turn = lock(&self.turn).clone();
        if let Some(turn) = turn {
            // A turn that does not end in time ends with the process.
            let _ = tokio::time::timeout(TURN_LIMIT, turn.closed()).await;
        }
        let servers = std::mem::take(&mut *self.mcp.lock().await);
        futures::future::join_all(servers.into_iter().map(McpClient::stop)).await;
    }

    /// Calls a tool of one of the MCP servers and returns the text of its result.
    pub(super) async fn call_mcp_tool(&self, server: &str, tool: &str, arguments: Value) -> Result<String, String> {
        let mut servers = self.mcp.lock().await;
        match servers.iter_mut().find(|client| client.name == server) {
            Some(client) => client.call(tool, arguments).await,
            None => Err(format!("no MCP server {server} is running")),
        }
    }

    /// Returns the user's decision for all calls of this kind.
    pub(super) fn decision(&self, kind: ToolKind) -> Option<bool> {
        lock(&self.decisions).iter().find(|(decided, _)| *decided == kind).map(|(_, allowed)| *allowed)
    }

    /// Stores an "always" answer of the user.
    pub(super) fn decide(&self, kind: ToolKind, allowed: bool) {
        lock(&self.decisions).push((kind, allowed));
    }

    /// Adds an update to the history, joining the chunks of one message.
    pub(super) fn remember(&self, update: &SessionUpdate) {
        let Some(update) = lasting(update) else { return };
        let mut record = self.record();
        record.updated = clock::now_micros();
        if !record.history.last_mut().is_some_and(|last| joined(last, &update)) {
            record.history.push(update);
        }
    }
}

/// Returns the part of an update that belongs to the conversation.
fn lasting(update: &SessionUpdate) -> Option<SessionUpdate> {
    let mut update = update.clone();
    match &mut update {
        SessionUpdate::UserMessageChunk(_)
        | SessionUpdate::AgentMessageChunk(_)
        | SessionUpdate::AgentThoughtChunk(_)
        | SessionUpdate::ToolCall(_)
        | SessionUpdate::Plan(_) => {}
        // A later client has no access to the terminals of this one.
        SessionUpdate::ToolCallUpdate(update) => {
            if let Some(content) = &mut update.fields.content {
                content.retain(|item| !matches!(item, ToolCallContent::Terminal(_)));
            }
        }
        _ => return None,
    }
    Some(update)
}

/// Appends a text chunk to the last one if both belong to the same message.
fn joined(last: &mut SessionUpdate, next: &SessionUpdate) -> bool {
    let (last, next) = match (last, next) {
        (SessionUpdate::AgentMessageChunk(last), SessionUpdate::AgentMessageChunk(next))
        | (SessionUpdate::AgentThoughtChunk(last), SessionUpdate::AgentThoughtChunk(next)) => (last, next),
        _ => return false,
    };
    match (&mut last.content, &next.content) {
        (ContentBlock::Text(text), ContentBlock::Text(more)) if last.message_id == next.message_id => {
            text.text.push_str(&more.text);
            true
        }
        _ => false,
    }
}

pub(super) fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalizes_without_leaving_the_root() {
        assert_eq!(normalize(Path::new("/a/./b/../c")), Path::new("/a/c"));
        assert_eq!(normalize(Path::new("/../x")), Path::new("/x"));
    }
}
