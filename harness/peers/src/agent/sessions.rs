//! The sessions: creates, reopens, lists, closes and deletes them.

use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use agent_client_protocol::{Error, v1::schema::Error as SchemaError};
use futures::future::join_all;
use serde::Deserialize;
use serde_json::Value;

use super::{
    client::Client,
    errors::{invalid_params, log},
    mcp::{McpClient, McpServer},
    options::Protocol,
    session::Session,
    store::{Record, Store},
    update::Block,
    wire::Reply,
};
use crate::sync::lock;

/// Time that all sessions get to end after the client went away.
const END_LIMIT: Duration = Duration::from_millis(500);

/// The client's settings for opening a session.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Setup {
    cwd: PathBuf,
    #[serde(default)]
    additional_directories: Vec<PathBuf>,
    #[serde(default)]
    mcp_servers: Vec<McpServer>,
    /// Instructions, which this agent only checks, since it has no model.
    #[serde(default)]
    system_prompt: Option<SystemPrompt>,
}

/// The client's instructions for a session.
#[derive(Deserialize)]
struct SystemPrompt {
    mode: String,
    content: Vec<Block>,
}

impl Setup {
    fn check(&self, is_v2: bool) -> Result<(), Error> {
        if self.cwd.is_relative() {
            return Err(invalid_params("cwd is not an absolute path"));
        }
        if self.additional_directories.iter().any(|root| root.is_relative()) {
            return Err(invalid_params("an additional directory is not an absolute path"));
        }
        if let Some(SystemPrompt { mode, content }) = &self.system_prompt {
            if !matches!(&**mode, "append" | "override") {
                return Err(invalid_params("the mode of the system prompt is not supported"));
            }
            if content.is_empty() || content.iter().any(|block| block.kind() != "text") {
                return Err(invalid_params("the system prompt has other content than text"));
            }
        }
        // In version 1 the session continues without such a server.
        if is_v2 && !self.mcp_servers.iter().all(McpServer::is_known_in_v2) {
            return Err(invalid_params("an MCP server has a transport that was not advertised"));
        }
        if is_v2 && self.mcp_servers.iter().any(McpServer::is_relative) {
            return Err(invalid_params("the command of an MCP server is not an absolute path"));
        }
        let mut names = BTreeSet::new();
        if is_v2 && !self.mcp_servers.iter().all(|server| names.insert(&server.name)) {
            return Err(invalid_params("two MCP servers have the same name"));
        }
        Ok(())
    }
}

/// All sessions: those that are open on this connection, and those on disk.
pub(super) struct Sessions {
    store: Store,
    open: Mutex<HashMap<String, Arc<Session>>>,
}

impl Sessions {
    /// Opens the store of a version; a session cannot be used in another one.
    pub(super) fn open(version: Protocol) -> Self {
        let folder = match version {
            Protocol::V1 => "sessions",
            Protocol::V2 => "sessions-v2",
        };
        Self { store: Store::open(folder), open: Mutex::default() }
    }

    pub(super) async fn create(&self, client: Arc<Client>, setup: Setup) -> Result<Arc<Session>, Error> {
        setup.check(client.is_v2())?;
        let session = self.start(client, Record::fresh(), setup).await;
        self.save(&session);
        Ok(session)
    }

    /// Opens a session again; if it is open on this connection, its work ends first.
    pub(super) async fn reopen(&self, client: Arc<Client>, id: &str, setup: Setup) -> Result<Arc<Session>, Error> {
        let open = self.get(id).ok();
        let record = match &open {
            Some(session) => Some(session.record().clone()),
            None => self.store.find(id),
        };
        let record = record.ok_or_else(|| not_found(id))?;
        if client.is_v2() && record.cwd != setup.cwd {
            return Err(invalid_params("the session has another working directory"));
        }
        setup.check(client.is_v2())?;
        if let Some(session) = open {
            session.end().await;
        }
        let session = self.start(client, record, setup).await;
        // A list shows the directories of this request.
        self.save(&session);
        Ok(session)
    }

    /// Finds an open session.
    pub(super) fn get(&self, id: &str) -> Result<Arc<Session>, Error> {
        lock(&self.open).get(id).cloned().ok_or_else(|| not_found(id))
    }

    /// Cancels the work of a session or of a subagent; an unknown one has none.
    pub(super) fn cancel(&self, id: &str) {
        match self.get(id) {
            Ok(session) => session.cancel(),
            Err(_) => lock(&self.open).values().for_each(|session| _ = session.subagents.cancel(id)),
        }
    }

    /// Saves a session; without a writable home it lives in memory only.
    pub(super) fn save(&self, session: &Session) {
        if let Err(error) = self.store.save(&session.record()) {
            log(&format!("session not saved: {error}"));
        }
    }

    /// Lists the saved sessions, the most recently active first, one page at a time.
    pub(super) fn list(&self, client: &Client, params: &Value) -> Reply {
        let cwd = params["cwd"].as_str().map(Path::new);
        if client.is_v2() && cwd.is_some_and(Path::is_relative) {
            return Err(invalid_params("cwd is not an absolute path"));
        }
        let page = self.store.page(cwd, params["cursor"].as_str());
        let (records, next) = page.ok_or_else(|| invalid_params("unknown cursor"))?;
        client.wire.listed(&records, next)
    }

    /// Closes a session; it stays on disk. In version 2 one that is not open is already closed.
    pub(super) async fn close(&self, id: &str, is_v2: bool) -> Result<(), Error> {
        let open = lock(&self.open).remove(id);
        match open {
            Some(session) => {
                session.end().await;
                self.save(&session);
                Ok(())
            }
            None if is_v2 => Ok(()),
            None => Err(not_found(id)),
        }
    }

    /// Deletes a session; one that does not exist is already deleted.
    pub(super) async fn delete(&self, id: &str) {
        let open = lock(&self.open).remove(id);
        if let Some(session) = open {
            session.end().await;
        }
        self.store.delete(id);
    }

    /// Ends all open sessions.
    pub(super) async fn end_all(&self) {
        let open: Vec<_> = lock(&self.open).drain().map(|(_, session)| session).collect();
        // A session that does not end in time ends with the process.
        let _ = tokio::time::timeout(END_LIMIT, join_all(open.iter().map(|session| session.end()))).await;
    }

    async fn start(&self, client: Arc<Client>, record: Record, setup: Setup) -> Arc<Session> {
        let Setup { cwd, additional_directories: roots, mcp_servers: servers, .. } = setup;
        let started = join_all(servers.iter().map(|server| McpClient::start(server, &cwd))).await;
        // A session continues without the servers that cannot be used.
        let problem = |problem: &String| log(&format!("an MCP server cannot be used: {problem}"));
        let servers = started.into_iter().filter_map(|server| server.inspect_err(problem).ok()).collect();
        let session = Arc::new(Session::open(client, record, cwd, roots, servers));
        lock(&self.open).insert(session.id.clone(), Arc::clone(&session));
        session
    }
}

/// Builds the error for a session that does not exist or is not open, the same in all versions.
fn not_found(id: &str) -> Error {
    SchemaError::session_not_found(id.to_owned()).into()
}
