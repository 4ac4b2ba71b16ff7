//! The sessions: creates, reopens, lists, closes and deletes them.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use agent_client_protocol::{
    Error,
    v1::schema::{
        Error as SchemaError, ListSessionsRequest, ListSessionsResponse, McpServer, SessionId, SessionInfo,
        SessionUpdate,
    },
};
use futures::future::join_all;

use super::{
    clock,
    mcp::McpClient,
    reply::{invalid_params, log},
    session::Session,
    store::{Record, Store},
    sync::lock,
};

/// Time that all sessions get to end after the client went away.
const END_LIMIT: Duration = Duration::from_millis(500);

/// The client's settings for opening a session.
pub(super) struct Setup {
    cwd: PathBuf,
    roots: Vec<PathBuf>,
    servers: Vec<McpServer>,
}

impl Setup {
    pub(super) fn new(cwd: PathBuf, roots: Vec<PathBuf>, servers: Vec<McpServer>) -> Self {
        Self { cwd, roots, servers }
    }

    fn check(&self) -> Result<(), Error> {
        if !self.cwd.is_absolute() {
            return Err(invalid_params("cwd is not an absolute path"));
        }
        if !self.roots.iter().all(|root| root.is_absolute()) {
            return Err(invalid_params("an additional directory is not an absolute path"));
        }
        Ok(())
    }
}

/// All sessions: those that are open on this connection, and those on disk.
pub(super) struct Sessions {
    store: Store<SessionUpdate>,
    open: Mutex<HashMap<SessionId, Arc<Session>>>,
}

impl Sessions {
    pub(super) fn open() -> Self {
        Self { store: Store::open("sessions"), open: Mutex::default() }
    }

    /// Creates a session.
    pub(super) async fn create(&self, setup: Setup) -> Result<Arc<Session>, Error> {
        let session = self.start(Record::fresh(), setup).await?;
        self.save(&session);
        Ok(session)
    }

    /// Opens a session again; it may already be open on this connection.
    pub(super) async fn reopen(&self, id: &SessionId, setup: Setup) -> Result<Arc<Session>, Error> {
        let open = self.get(id).ok();
        let record = match &open {
            Some(session) => Some(session.record().clone()),
            None => self.store.find(&id.0),
        };
        let record = record.ok_or_else(|| Error::from(SchemaError::session_not_found(id.clone())))?;
        setup.check()?;
        if let Some(session) = open {
            session.end().await;
        }
        self.start(record, setup).await
    }

    /// Finds an open session.
    pub(super) fn get(&self, id: &SessionId) -> Result<Arc<Session>, Error> {
        let session = lock(&self.open).get(id).cloned();
        session.ok_or_else(|| SchemaError::session_not_found(id.clone()).into())
    }

    /// Saves a session; without a writable home it lives in memory only.
    pub(super) fn save(&self, session: &Session) {
        if let Err(error) = self.store.save(&session.record()) {
            log(&format!("session not saved: {error}"));
        }
    }

    /// Lists the saved sessions, newest first, one page at a time.
    pub(super) fn list(&self, request: &ListSessionsRequest) -> Result<ListSessionsResponse, Error> {
        let page = self.store.page(request.cwd.as_deref(), request.cursor.as_deref());
        let (records, next) = page.ok_or_else(|| invalid_params("unknown cursor"))?;
        Ok(ListSessionsResponse::new(records.iter().map(info).collect()).next_cursor(next))
    }

    /// Closes a session; it stays on disk.
    pub(super) async fn close(&self, id: &SessionId) -> Result<(), Error> {
        let session = self.get(id)?;
        lock(&self.open).remove(id);
        session.end().await;
        Ok(())
    }

    /// Deletes a session; one that does not exist is already deleted.
    pub(super) async fn delete(&self, id: &SessionId) {
        let open = lock(&self.open).remove(id);
        if let Some(session) = open {
            session.end().await;
        }
        self.store.delete(&id.0);
    }

    /// Ends all open sessions.
    pub(super) async fn end_all(&self) {
        let open: Vec<_> = lock(&self.open).drain().map(|(_, session)| session).collect();
        // A session that does not end in time ends with the process.
        let _ = tokio::time::timeout(END_LIMIT, join_all(open.iter().map(|session| session.end()))).await;
    }

    async fn start(&self, record: Record<SessionUpdate>, setup: Setup) -> Result<Arc<Session>, Error> {
        setup.check()?;
        let servers = join_all(setup.servers.iter().map(|server| McpClient::start(server, &setup.cwd))).await;
        // A session continues without the servers that cannot be used.
        let problem = |problem: &String| log(&format!("an MCP server cannot be used: {problem}"));
        let servers = servers.into_iter().filter_map(|server| server.inspect_err(problem).ok()).collect();
        let session = Arc::new(Session::open(record, setup.cwd, setup.roots, servers));
        lock(&self.open).insert(session.id.clone(), Arc::clone(&session));
        Ok(session)
    }
}

/// Describes a session for `session/list`.
fn info(record: &Record<SessionUpdate>) -> SessionInfo {
    SessionInfo::new(record.id.clone(), &record.cwd)
        .additional_directories(record.roots.clone())
        .title(record.title.clone())
        .updated_at(clock::iso8601(record.updated))
}
