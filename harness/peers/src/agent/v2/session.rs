//! One session: its record, its foreground and background work, and its MCP servers.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
};

use agent_client_protocol::schema::MaybeUndefined;
use agent_client_protocol::v2::schema::{
    AgentMessage, BackgroundTerminal, BackgroundWork, ContentBlock, IdleStateUpdate, RequiresActionStateUpdate,
    RunningStateUpdate, SessionId, SessionUpdate, StateUpdate, StopReason, TerminalId, ToolKind,
};
use futures::future::join_all;
use serde_json::Value;
use tokio::{sync::watch, task::JoinHandle};

use super::{client::Client, controls::Controls};
use crate::agent::{clock, mcp::McpClient, session::normalize, store::Record, sync::lock};

/// A session that the client opened on this connection.
pub(super) struct Session {
    pub id: SessionId,
    pub cwd: PathBuf,
    pub roots: Vec<PathBuf>,
    /// Held by the running prompt; the others wait for it in the order in which they came.
    pub foreground: tokio::sync::Mutex<()>,
    /// The tool calls that the client may cancel.
    pub tools: Controls,
    /// The terminals that the client may cancel.
    pub terminals: Controls,
    client: Arc<Client>,
    mcp: tokio::sync::Mutex<Vec<McpClient>>,
    record: Mutex<Record<SessionUpdate>>,
    cancels: watch::Sender<()>,
    state: Mutex<State>,
    background: Mutex<Vec<JoinHandle<()>>>,
    /// The "always" answers of the user.
    decisions: Mutex<Vec<(ToolKind, bool)>>,
}

/// The state of the work that the agent reported last to the client.
#[derive(Debug, Default)]
pub(super) struct State {
    pub foreground: Foreground,
    /// How many questions of the foreground work wait for the user.
    pub n_questions: usize,
    /// The terminals that run independently of the foreground.
    pub background: Vec<TerminalId>,
}

/// The state of the foreground work.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Foreground {
    #[default]
    Idle,
    Running,
    RequiresAction,
}

impl Session {
    /// Opens a session from its record, with the directories of this request.
    pub(super) fn open(
        client: Arc<Client>,
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
            foreground: tokio::sync::Mutex::default(),
            tools: Controls::default(),
            terminals: Controls::default(),
            client,
            mcp: tokio::sync::Mutex::new(mcp),
            record: Mutex::new(record),
            cancels: watch::channel(()).0,
            state: Mutex::default(),
            background: Mutex::default(),
            decisions: Mutex::default(),
        }
    }

    /// Gives access to the lasting state; never held across an await.
    pub(super) fn record(&self) -> MutexGuard<'_, Record<SessionUpdate>> {
        lock(&self.record)
    }

    /// Makes a path absolute, starting from the session's cwd, and takes `.` and `..` out.
    pub(super) fn resolve(&self, path: &Path) -> PathBuf {
        normalize(&self.cwd.join(path))
    }

    /// Returns whether a path lies in the directories that the session may change.
    pub(super) fn is_inside(&self, path: &Path) -> bool {
        std::iter::once(&self.cwd).chain(&self.roots).any(|root| path.starts_with(normalize(root)))
    }

    /// Returns a receiver that sees the cancels from now on. A cancel is for all prompts before it, also those that wait.
    pub(super) fn cancels(&self) -> watch::Receiver<()> {
        self.cancels.subscribe()
    }

    /// Cancels the foreground work and the prompts that wait for it; background work goes on.
    pub(super) fn cancel(&self) {
        self.cancels.send_replace(());
    }

    /// Cancels all work, waits for its end, and ends the MCP servers.
    pub(super) async fn end(&self) {
        self.cancel();
        drop(self.foreground.lock().await);
        let background = std::mem::take(&mut *lock(&self.background));
        lock(&self.state).background.iter().for_each(|terminal| _ = self.terminals.cancel(&terminal.0));
        join_all(background).await;
        let servers = std::mem::take(&mut *self.mcp.lock().await);
        join_all(servers.into_iter().map(McpClient::stop)).await;
    }

    /// Calls a tool of one of the MCP servers and returns the text of its result.
    pub(super) async fn call_mcp_tool(&self, server: &str, tool: &str, arguments: Value) -> Result<String, String> {
        let mut servers = self.mcp.lock().await;
        match servers.iter_mut().find(|client| client.name == server) {
            Some(client) => client.call(tool, arguments).await,
            None => Err(format!("no MCP server {server} is running")),
        }
    }

    /// Returns what the user decided for all calls of this kind.
    pub(super) fn decision(&self, kind: &ToolKind) -> Option<bool> {
        lock(&self.decisions).iter().find(|(decided, _)| decided == kind).map(|(_, allowed)| *allowed)
    }

    /// Remembers an "always" answer of the user.
    pub(super) fn decide(&self, kind: ToolKind, allowed: bool) {
        lock(&self.decisions).push((kind, allowed));
    }

    /// Runs a task until it ends or the session does.
    pub(super) fn run_in_background(&self, task: impl Future<Output = ()> + Send + 'static) {
        lock(&self.background).push(tokio::spawn(task));
    }

    /// Sends an update and keeps it in the history.
    pub(super) fn update(&self, update: SessionUpdate) {
        self.remember(&update);
        self.client.update(&self.id, update);
    }

    /// Changes the state of the work and sends it, with the stop reason if that ends the foreground work.
    pub(super) fn change_state(&self, change: impl FnOnce(&mut State), stop: Option<StopReason>) {
        // Locked until it is sent, so that the client gets the states in their order.
        let mut state = lock(&self.state);
        change(&mut state);
        let terminals = state.background.iter().cloned();
        let background = terminals.map(|id| BackgroundWork::Terminal(BackgroundTerminal::new(id))).collect::<Vec<_>>();
        let update = match state.foreground {
            Foreground::Idle => StateUpdate::Idle(IdleStateUpdate::new().stop_reason(stop).background(background)),
            Foreground::Running => StateUpdate::Running(RunningStateUpdate::new().background(background)),
            Foreground::RequiresAction => {
                StateUpdate::RequiresAction(RequiresActionStateUpdate::new().background(background))
            }
        };
        self.client.update(&self.id, SessionUpdate::StateUpdate(update));
    }

    /// Adds an update to the history. A message stands there once, as a whole.
    fn remember(&self, update: &SessionUpdate) {
        let mut record = self.record();
        let update = match update {
            SessionUpdate::UserMessage(_)
            | SessionUpdate::AgentMessage(_)
            | SessionUpdate::AgentThought(_)
            | SessionUpdate::ToolCallUpdate(_)
            | SessionUpdate::ToolCallContentChunk(_)
            | SessionUpdate::TerminalUpdate(_)
            | SessionUpdate::PlanUpdate(_) => update.clone(),
            SessionUpdate::AgentMessageChunk(chunk) => {
                let same = |update: &mut SessionUpdate| match update {
                    SessionUpdate::AgentMessage(AgentMessage {
                        message_id,
                        content: MaybeUndefined::Value(content),
                        ..
                    }) if *message_id == chunk.message_id => {
                        append(content, &chunk.content);
                        true
                    }
                    _ => false,
                };
                if record.history.iter_mut().rev().any(same) {
                    return;
                }
                let message = AgentMessage::new(chunk.message_id.clone()).content(vec![chunk.content.clone()]);
                SessionUpdate::AgentMessage(message)
            }
            _ => return,
        };
        record.updated = clock::now_micros();
        record.history.push(update);
    }
}

/// Appends a block to a message, a text to a last text.
fn append(content: &mut Vec<ContentBlock>, block: &ContentBlock) {
    match (content.last_mut(), block) {
        (Some(ContentBlock::Text(text)), ContentBlock::Text(more)) => text.text.push_str(&more.text),
        _ => content.push(block.clone()),
    }
}
