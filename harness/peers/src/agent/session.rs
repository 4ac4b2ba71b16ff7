//! One session: its record, its foreground and background work, and its MCP servers.

use std::{
    collections::HashMap,
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use futures::future::join_all;
use serde_json::{Value, json};
use tokio::{
    sync::{Notify, watch},
    task::JoinHandle,
};

use super::{
    client::Client,
    clock,
    mcp::McpClient,
    settings::Settings,
    store::Record,
    update::{Block, State, Stop, ToolBegins, Update, Work},
};
use crate::sync::lock;

/// Time that a cancelled turn gets to end before its session ends without it. It ends at once on a machine that is not
/// overloaded.
const TURN_LIMIT: Duration = Duration::from_secs(20);

/// A session that the client opened on this connection.
pub(super) struct Session {
    pub id: String,
    pub client: Arc<Client>,
    pub cwd: PathBuf,
    pub roots: Vec<PathBuf>,
    /// Held by the running turn; waiting prompts get it in the order in which they came.
    pub foreground: tokio::sync::Mutex<()>,
    /// The tool calls that the client may cancel.
    pub tools: Controls,
    /// The terminals that the client may cancel.
    pub terminals: Controls,
    /// The subagents whose work the client may cancel.
    pub subagents: Controls,
    mcp: tokio::sync::Mutex<Vec<McpClient>>,
    record: Mutex<Record>,
    cancels: watch::Sender<()>,
    state: Mutex<State>,
    background: Mutex<Vec<JoinHandle<()>>>,
    /// The "always" answers of the user, by the kinds of tool calls.
    decisions: Mutex<HashMap<String, bool>>,
}

impl Session {
    /// Opens a session from its record, with the directories of this request.
    pub(super) fn open(
        client: Arc<Client>,
        mut record: Record,
        cwd: PathBuf,
        roots: Vec<PathBuf>,
        mcp: Vec<McpClient>,
    ) -> Self {
        record.cwd.clone_from(&cwd);
        record.roots.clone_from(&roots);
        Self {
            id: record.id.clone(),
            client,
            cwd,
            roots,
            foreground: tokio::sync::Mutex::default(),
            tools: Controls::default(),
            terminals: Controls::default(),
            subagents: Controls::default(),
            mcp: tokio::sync::Mutex::new(mcp),
            record: Mutex::new(record),
            cancels: watch::channel(()).0,
            state: Mutex::default(),
            background: Mutex::default(),
            decisions: Mutex::default(),
        }
    }

    /// Gives access to the lasting state; never held across an await.
    pub(super) fn record(&self) -> MutexGuard<'_, Record> {
        lock(&self.record)
    }

    /// Returns the settings that the client can change.
    pub(super) fn settings(&self) -> Settings {
        let verbose = self.client.capabilities().boolean_options;
        let record = self.record();
        Settings {
            mode: record.mode.clone(),
            model: record.model.clone(),
            effort: record.effort.clone(),
            verbose: verbose.then_some(record.verbose),
        }
    }

    /// Makes a path absolute, starting from the session's cwd, and removes `.` and `..`.
    pub(super) fn resolve(&self, path: &Path) -> PathBuf {
        normalize(&self.cwd.join(path))
    }

    /// Returns whether a path is in the directories that the session may change.
    pub(super) fn is_inside(&self, path: &Path) -> bool {
        std::iter::once(&self.cwd).chain(&self.roots).any(|root| path.starts_with(normalize(root)))
    }

    /// Returns a receiver that sees the cancels from now on. A cancel is for all prompts before it, also those that
    /// wait.
    pub(super) fn cancels(&self) -> watch::Receiver<()> {
        self.cancels.subscribe()
    }

    /// Cancels the foreground work and the prompts that wait for it; background work continues.
    pub(super) fn cancel(&self) {
        self.cancels.send_replace(());
    }

    /// Cancels all work, waits for its end, and ends the MCP servers.
    pub(super) async fn end(&self) {
        self.cancel();
        // A turn that does not end in time ends with the process.
        let _ = tokio::time::timeout(TURN_LIMIT, self.foreground.lock()).await;
        let background = std::mem::take(&mut *lock(&self.background));
        lock(&self.state).background.iter().for_each(|work| match work {
            Work::Terminal(id) => _ = self.terminals.cancel(id),
            Work::Subagent(id) => _ = self.subagents.cancel(id),
        });
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

    /// Returns the user's decision for all calls of this kind.
    pub(super) fn decision(&self, kind: &str) -> Option<bool> {
        lock(&self.decisions).get(kind).copied()
    }

    /// Stores an "always" answer of the user.
    pub(super) fn decide(&self, kind: &str, allowed: bool) {
        lock(&self.decisions).insert(kind.to_owned(), allowed);
    }

    /// Runs a task until it ends or the session does.
    pub(super) fn run_in_background(&self, task: impl Future<Output = ()> + Send + 'static) {
        lock(&self.background).push(tokio::spawn(task));
    }

    /// Sends an update and keeps it in the history.
    pub(super) fn update(&self, update: Update) {
        self.remember(&update);
        self.client.update(&self.id, &update);
    }

    /// Sends the whole conversation again, in order and with its ids; nothing is executed again.
    pub(super) fn replay(&self) {
        let history = self.record().history.clone();
        history.iter().for_each(|update| self.client.update(&self.id, update));
    }

    /// Changes the state of the work and sends it, with the stop reason if that ends the foreground work.
    pub(super) fn change_state(&self, change: impl FnOnce(&mut State), stop: Option<Stop>) {
        // Locked until it is sent, so that the client gets the states in their order.
        let mut state = lock(&self.state);
        change(&mut state);
        self.client.update(&self.id, &Update::State(state.clone(), stop));
    }

    /// Adds an update to the history if it belongs to the conversation. A message is there once, as a whole.
    pub(super) fn remember(&self, update: &Update) {
        let mut record = self.record();
        let update = match update {
            // In version 1 a later client has no access to the terminals of this one.
            Update::ToolBegins(begins) if !self.client.is_v2() => {
                Update::ToolBegins(ToolBegins { terminal: None, ..begins.clone() })
            }
            Update::AgentMessageChunk(message, block) => {
                record.updated = clock::now_micros();
                let same = |update: &mut Update| match update {
                    Update::AgentMessage(id, content) if id == message => {
                        append(content, block);
                        true
                    }
                    _ => false,
                };
                if record.history.iter_mut().rev().any(same) {
                    return;
                }
                Update::AgentMessage(message.clone(), vec![block.clone()])
            }
            Update::TerminalOutput(..)
            | Update::State(..)
            | Update::Mode(_)
            | Update::ConfigOptions(_)
            | Update::Commands
            | Update::Alike(_)
            | Update::Newer(_) => return,
            _ => update.clone(),
        };
        record.updated = clock::now_micros();
        record.history.push(update);
    }
}

/// Appends a block to a message, a text to a last text.
fn append(content: &mut Vec<Block>, block: &Block) {
    let last = content.last_mut();
    match (last.as_ref().and_then(|last| last.as_text()), block.as_text()) {
        (Some(text), Some(more)) => {
            let text = json!(format!("{text}{more}"));
            last.into_iter().for_each(|last| last.0["text"] = text.clone());
        }
        _ => content.push(block.clone()),
    }
}

fn normalize(path: &Path) -> PathBuf {
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

/// The running tool calls, terminals or subagents that the client may cancel one by one, by their ids.
#[derive(Debug, Default)]
pub(super) struct Controls {
    running: Mutex<HashMap<String, Arc<Notify>>>,
}

impl Controls {
    /// Offers to cancel a tool call or terminal; its runner waits for the notice.
    pub(super) fn offer(&self, id: &str) -> Arc<Notify> {
        let stop = Arc::new(Notify::new());
        lock(&self.running).insert(id.to_owned(), Arc::clone(&stop));
        stop
    }

    /// Withdraws the offer, since it has ended; returns whether the agent had made it.
    pub(super) fn withdraw(&self, id: &str) -> bool {
        lock(&self.running).remove(id).is_some()
    }

    /// Cancels a tool call or terminal; false if it is unknown, has ended or cannot be cancelled.
    pub(super) fn cancel(&self, id: &str) -> bool {
        let running = lock(&self.running);
        let stop = running.get(id);
        stop.inspect(|stop| stop.notify_one()).is_some()
    }
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
