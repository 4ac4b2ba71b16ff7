//! The sessions: creating, resuming, listing, closing and deleting them.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use agent_client_protocol::{
    Error,
    v1::schema::{self as v1, EnvVariable, HttpHeader},
    v2::schema::{
        AbsolutePath, Error as SchemaError, ListSessionsRequest, ListSessionsResponse, McpServer, SessionId,
        SessionInfo, SessionListCursor, SessionUpdate,
    },
};
use futures::future::join_all;

use super::{client::Client, session::Session};
use crate::agent::{
    clock,
    mcp::McpClient,
    reply::{invalid_params, log},
    store::{Record, Store},
    sync::lock,
};

/// Time that all sessions get to end after the client went away.
const END_LIMIT: Duration = Duration::from_millis(500);

/// How the client wants a session to be opened.
pub(super) struct Setup {
    pub cwd: AbsolutePath,
    pub roots: Vec<AbsolutePath>,
    pub servers: Vec<McpServer>,
}

/// All sessions: those that are open on this connection, and those on disk.
pub(super) struct Sessions {
    store: Store<SessionUpdate>,
    open: Mutex<HashMap<SessionId, Arc<Session>>>,
}

impl Sessions {
    pub(super) fn open() -> Self {
        Self { store: Store::open("sessions-v2"), open: Mutex::default() }
    }

    /// Creates a session.
    pub(super) async fn create(&self, client: Arc<Client>, setup: Setup) -> Result<Arc<Session>, Error> {
        let session = self.start(client, Record::fresh(), setup).await?;
        self.save(&session);
        Ok(session)
    }

    /// Opens a session again; if it is open on this connection, its work ends first.
    pub(super) async fn resume(
        &self,
        client: Arc<Client>,
        id: &SessionId,
        setup: Setup,
    ) -> Result<Arc<Session>, Error> {
        let open = self.get(id).ok();
        let record = match &open {
            Some(session) => Some(session.record().clone()),
            None => self.store.find(&id.0),
        };
        let record = record.ok_or_else(|| not_found(id))?;
        if record.cwd != setup.cwd.0 {
            return Err(invalid_params("the session has another working directory"));
        }
        if let Some(session) = open {
            session.end().await;
        }
        self.start(client, record, setup).await
    }

    /// Finds an open session.
    pub(super) fn get(&self, id: &SessionId) -> Result<Arc<Session>, Error> {
        lock(&self.open).get(id).cloned().ok_or_else(|| not_found(id))
    }

    /// Saves a session; without a writable home it lives in memory only.
    pub(super) fn save(&self, session: &Session) {
        if let Err(error) = self.store.save(&session.record()) {
            log(&format!("session not saved: {error}"));
        }
    }

    /// Lists the saved sessions, newest first, one page at a time.
    pub(super) fn list(&self, request: &ListSessionsRequest) -> Result<ListSessionsResponse, Error> {
        if request.cwd.as_ref().is_some_and(|cwd| cwd.0.is_relative()) {
            return Err(invalid_params("cwd is not an absolute path"));
        }
        let cwd = request.cwd.as_ref().map(|cwd| cwd.0.as_path());
        let page = self.store.page(cwd, request.cursor.as_ref().map(|cursor| &*cursor.0));
        let (records, next) = page.ok_or_else(|| invalid_params("unknown cursor"))?;
        Ok(ListSessionsResponse::new(records.iter().map(info).collect()).next_cursor(next.map(SessionListCursor::new)))
    }

    /// Closes a session; it stays on disk. One that is not open is already closed.
    pub(super) async fn close(&self, id: &SessionId) {
        let open = lock(&self.open).remove(id);
        if let Some(session) = open {
            session.end().await;
            self.save(&session);
        }
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

    async fn start(
        &self,
        client: Arc<Client>,
        record: Record<SessionUpdate>,
        setup: Setup,
    ) -> Result<Arc<Session>, Error> {
        let Setup { cwd, roots, servers } = setup;
        if std::iter::once(&cwd).chain(&roots).any(|path| path.0.is_relative()) {
            return Err(invalid_params("a directory of the session is not an absolute path"));
        }
        let servers = servers.into_iter().map(in_version_1).collect::<Result<Vec<_>, _>>()?;
        let started = join_all(servers.iter().map(|server| McpClient::start(server, &cwd.0))).await;
        // A session goes on without the servers that cannot be used.
        let problem = |problem: &String| log(&format!("an MCP server cannot be used: {problem}"));
        let servers = started.into_iter().filter_map(|server| server.inspect_err(problem).ok()).collect();
        let roots = roots.into_iter().map(|root| root.0).collect();
        let session = Arc::new(Session::open(client, record, cwd.0, roots, servers));
        lock(&self.open).insert(session.id.clone(), Arc::clone(&session));
        Ok(session)
    }
}

/// Builds the error for a session that does not exist or is not open.
fn not_found(id: &SessionId) -> Error {
    SchemaError::session_not_found(id.clone()).into()
}

/// Describes an MCP server as version 1 does, which the MCP client of this program reads.
fn in_version_1(server: McpServer) -> Result<v1::McpServer, Error> {
    match server {
        McpServer::Stdio(server) => {
            let env = server.env.into_iter().map(|variable| EnvVariable::new(variable.name, variable.value)).collect();
            let command: PathBuf = server.command.0;
            Ok(v1::McpServer::Stdio(v1::McpServerStdio::new(server.name, command).args(server.args).env(env)))
        }
        McpServer::Http(server) => {
            let headers = server.headers.into_iter().map(|header| HttpHeader::new(header.name, header.value)).collect();
            Ok(v1::McpServer::Http(v1::McpServerHttp::new(server.name, server.url).headers(headers)))
        }
        _ => Err(invalid_params("an MCP server has a transport that was not advertised")),
    }
}

/// Describes a session for `session/list`.
fn info(record: &Record<SessionUpdate>) -> SessionInfo {
    let roots = record.roots.iter().map(AbsolutePath::new).collect::<Vec<_>>();
    SessionInfo::new(record.id.clone(), AbsolutePath::new(&record.cwd))
        .additional_directories(roots)
        .title(record.title.clone())
        .updated_at(clock::iso8601(record.updated))
}
