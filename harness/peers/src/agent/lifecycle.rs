//! Initialization, login, and the opening, listing and closing of sessions.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use agent_client_protocol::{
    Error,
    schema::ProtocolVersion,
    v1::{
        Responder,
        schema::{
            AgentAuthCapabilities, AgentCapabilities, AuthMethod, AuthMethodAgent, AuthenticateRequest,
            AuthenticateResponse, ClientCapabilities, CloseSessionRequest, CloseSessionResponse, DeleteSessionRequest,
            DeleteSessionResponse, Error as SchemaError, Implementation, InitializeRequest, InitializeResponse,
            ListSessionsRequest, ListSessionsResponse, LoadSessionRequest, LoadSessionResponse, LogoutCapabilities,
            LogoutResponse, McpCapabilities, McpServer, Meta, NewSessionRequest, NewSessionResponse,
            PromptCapabilities, ResumeSessionRequest, ResumeSessionResponse, SessionAdditionalDirectoriesCapabilities,
            SessionCapabilities, SessionCloseCapabilities, SessionDeleteCapabilities, SessionId,
            SessionListCapabilities, SessionResumeCapabilities,
        },
    },
};
use serde_json::json;

use super::{
    Feature, clock,
    mcp::{McpClient, Servers},
    server::{Agent, ClientSide, answer, invalid, log},
    session::Session,
    settings::{FIRST_MODE, FIRST_MODEL},
    store::Record,
};

/// Key of this agent's extension in `_meta` of the capabilities, on both sides.
const EXTENSION: &str = "acp-reference";
/// Key by which an agent allows the cases of the harness to log in and out.
const CONFORMANCE: &str = "acp-conformance";
const LOGIN: &str = "reference-login";
const PAGE_SIZE: usize = 5;
/// Time that a cancelled turn gets before its session is closed over it.
const CLOSE_LIMIT: Duration = Duration::from_secs(2);

impl Agent {
    pub(super) fn initialize(&self, request: &InitializeRequest) -> InitializeResponse {
        self.set_client(client_side(&request.client_capabilities));
        let info = Implementation::new("acp-reference-agent", env!("CARGO_PKG_VERSION"))
            .title("ACP reference agent".to_owned());
        let response =
            InitializeResponse::new(ProtocolVersion::V1).agent_capabilities(self.capabilities()).agent_info(info);
        if !self.options.with(Feature::Auth) {
            return response;
        }
        let login = AuthMethodAgent::new(LOGIN, "Reference login").description("Succeeds without asking".to_owned());
        response.auth_methods(vec![AuthMethod::Agent(login)])
    }

    fn capabilities(&self) -> AgentCapabilities {
        let with = |feature| self.options.with(feature);
        let prompt = PromptCapabilities::new()
            .image(with(Feature::Image))
            .audio(with(Feature::Audio))
            .embedded_context(with(Feature::Embedded));
        let session = SessionCapabilities::new()
            .list(with(Feature::List).then(SessionListCapabilities::new))
            .resume(with(Feature::Resume).then(SessionResumeCapabilities::new))
            .close(with(Feature::Close).then(SessionCloseCapabilities::new))
            .delete(with(Feature::Delete).then(SessionDeleteCapabilities::new))
            .additional_directories(SessionAdditionalDirectoriesCapabilities::new());
        let logout = with(Feature::Auth).then(LogoutCapabilities::new);
        AgentCapabilities::new()
            .load_session(with(Feature::Load))
            .mcp_capabilities(McpCapabilities::new().http(true).sse(true))
            .prompt_capabilities(prompt)
            .session_capabilities(session)
            .auth(AgentAuthCapabilities::new().logout(logout))
            .meta(Meta::from_iter([
                (EXTENSION.to_owned(), json!({"echo": true})),
                (CONFORMANCE.to_owned(), json!({"login": true})),
            ]))
    }

    pub(super) async fn authenticate(&self, request: AuthenticateRequest, responder: Responder) -> Result<(), Error> {
        let logged_in = match self.check_login(&request) {
            Ok(()) => self.ask_who_logs_in(responder.id().clone()).await,
            refused => refused,
        };
        self.logged_in.fetch_or(logged_in.is_ok(), Ordering::Relaxed);
        answer(responder, logged_in.map(|()| AuthenticateResponse::new()))
    }

    fn check_login(&self, request: &AuthenticateRequest) -> Result<(), Error> {
        self.require(Feature::Auth)?;
        if &*request.method_id.0 == LOGIN { Ok(()) } else { Err(invalid("unknown auth method")) }
    }

    pub(super) fn logout(&self) -> Result<LogoutResponse, Error> {
        self.require(Feature::Auth)?;
        self.logged_in.store(false, Ordering::Relaxed);
        Ok(LogoutResponse::new())
    }

    fn require_login(&self) -> Result<(), Error> {
        if self.logged_in.load(Ordering::Relaxed) { Ok(()) } else { Err(Error::auth_required()) }
    }

    pub(super) async fn new_session(&self, request: NewSessionRequest, responder: Responder) -> Result<(), Error> {
        let setup = Setup::new(request.cwd, request.additional_directories, request.mcp_servers);
        let opened = match self.require_login() {
            Ok(()) => self.open(self.fresh_record(), setup).await,
            Err(error) => Err(error),
        };
        let session = match opened {
            Ok(session) => session,
            Err(error) => return responder.respond_with_error(error),
        };
        self.save(&session);
        let response = NewSessionResponse::new(session.id.clone())
            .modes(self.modes(&session))
            .config_options(self.config(&session));
        answer(responder, Ok(response))?;
        self.announce_commands(&session);
        Ok(())
    }

    pub(super) async fn load(&self, request: LoadSessionRequest, responder: Responder) -> Result<(), Error> {
        let setup = Setup::new(request.cwd, request.additional_directories, request.mcp_servers);
        let session = match self.reopen(Feature::Load, &request.session_id, setup).await {
            Ok(session) => session,
            Err(error) => return responder.respond_with_error(error),
        };
        self.replay(&session);
        let response = LoadSessionResponse::new().modes(self.modes(&session)).config_options(self.config(&session));
        answer(responder, Ok(response))?;
        self.announce_commands(&session);
        Ok(())
    }

    pub(super) async fn resume(&self, request: ResumeSessionRequest, responder: Responder) -> Result<(), Error> {
        let setup = Setup::new(request.cwd, request.additional_directories, request.mcp_servers);
        let session = match self.reopen(Feature::Resume, &request.session_id, setup).await {
            Ok(session) => session,
            Err(error) => return responder.respond_with_error(error),
        };
        let response = ResumeSessionResponse::new().modes(self.modes(&session)).config_options(self.config(&session));
        answer(responder, Ok(response))?;
        self.announce_commands(&session);
        Ok(())
    }

    fn fresh_record(&self) -> Record {
        let created = clock::now_micros();
        let number = self.next_session_number();
        let id = format!("ref-{created:x}-{:x}-{number:x}", std::process::id());
        Record {
            id,
            cwd: PathBuf::new(),
            roots: Vec::new(),
            title: None,
            created,
            updated: created,
            mode: FIRST_MODE.to_owned(),
            model: FIRST_MODEL.to_owned(),
            verbose: false,
            turns: 0,
            last_message: 0,
            last_tool: 0,
            history: Vec::new(),
        }
    }

    async fn reopen(&self, feature: Feature, id: &SessionId, setup: Setup) -> Result<Arc<Session>, Error> {
        self.require(feature)?;
        self.require_login()?;
        let open = self.session(id).ok();
        let record = match &open {
            Some(session) => Some(session.record().clone()),
            None => self.store.find(&id.0),
        };
        let record = record.ok_or_else(|| Error::from(SchemaError::session_not_found(id.clone())))?;
        setup.check()?;
        if let Some(session) = open {
            self.end_session(&session).await;
        }
        self.open(record, setup).await
    }

    async fn open(&self, record: Record, setup: Setup) -> Result<Arc<Session>, Error> {
        setup.check()?;
        let servers = self.start_servers(&setup).await;
        let session = Arc::new(Session::open(record, setup.cwd, setup.roots, servers));
        self.add_session(Arc::clone(&session));
        Ok(session)
    }

    async fn start_servers(&self, setup: &Setup) -> Servers {
        let starts = setup.servers.iter().map(|server| start_server(server, &setup.cwd));
        futures::future::join_all(starts).await.into_iter().flatten().collect()
    }

    pub(super) async fn close(&self, request: CloseSessionRequest, responder: Responder) -> Result<(), Error> {
        if let Err(error) = self.require(Feature::Close) {
            return responder.respond_with_error(error);
        }
        match self.session(&request.session_id) {
            Ok(session) => {
                self.remove_session(&session.id);
                self.end_session(&session).await;
                answer(responder, Ok(CloseSessionResponse::new()))
            }
            Err(error) => responder.respond_with_error(error),
        }
    }

    pub(super) async fn delete(&self, request: DeleteSessionRequest, responder: Responder) -> Result<(), Error> {
        if let Err(error) = self.require(Feature::Delete) {
            return responder.respond_with_error(error);
        }
        if let Some(session) = self.remove_session(&request.session_id) {
            self.end_session(&session).await;
        }
        self.store.delete(&request.session_id.0);
        answer(responder, Ok(DeleteSessionResponse::new()))
    }

    /// Cancels the session's turn and ends its MCP servers.
    pub(super) async fn end_session(&self, session: &Session) {
        session.cancel();
        // A turn that does not end in time is left to the end of the process.
        let _ = tokio::time::timeout(CLOSE_LIMIT, session.idle()).await;
        let servers = std::mem::take(&mut *session.mcp.lock().await);
        futures::future::join_all(servers.into_iter().map(McpClient::stop)).await;
    }

    pub(super) fn list(&self, request: &ListSessionsRequest) -> Result<ListSessionsResponse, Error> {
        self.require(Feature::List)?;
        self.require_login()?;
        let mut records = self.store.all();
        records.reverse();
        records.retain(|record| request.cwd.as_ref().is_none_or(|cwd| record.cwd == *cwd));
        if let Some(cursor) = &request.cursor {
            if !is_cursor(cursor) {
                return Err(invalid("unknown cursor"));
            }
            records.retain(|record| record.cursor() < *cursor);
        }
        let more = records.len() > PAGE_SIZE;
        records.truncate(PAGE_SIZE);
        let next = records.last().filter(|_| more).map(Record::cursor);
        Ok(ListSessionsResponse::new(records.iter().map(Record::info).collect()).next_cursor(next))
    }
}

/// What the client wants a session to be opened with.
struct Setup {
    cwd: PathBuf,
    roots: Vec<PathBuf>,
    servers: Vec<McpServer>,
}

impl Setup {
    fn new(cwd: PathBuf, roots: Vec<PathBuf>, servers: Vec<McpServer>) -> Self {
        Self { cwd, roots, servers }
    }

    fn check(&self) -> Result<(), Error> {
        if !self.cwd.is_absolute() {
            return Err(invalid("cwd is not an absolute path"));
        }
        if !self.roots.iter().all(|root| root.is_absolute()) {
            return Err(invalid("an additional directory is not an absolute path"));
        }
        Ok(())
    }
}

async fn start_server(server: &McpServer, cwd: &Path) -> Option<McpClient> {
    let started = McpClient::start(server, cwd).await;
    started.map_err(|problem| log(&format!("an MCP server cannot be used: {problem}"))).ok()
}

fn client_side(capabilities: &ClientCapabilities) -> ClientSide {
    let session = capabilities.session.as_ref();
    let options = session.and_then(|session| session.config_options.as_ref());
    let extension = capabilities.meta.as_ref().and_then(|meta| meta.get(EXTENSION));
    ClientSide {
        reads_files: capabilities.fs.read_text_file,
        writes_files: capabilities.fs.write_text_file,
        has_terminals: capabilities.terminal,
        boolean_options: options.is_some_and(|options| options.boolean.is_some()),
        elicits_forms: capabilities.elicitation.as_ref().is_some_and(|elicitation| elicitation.form.is_some()),
        opens_urls: capabilities.elicitation.as_ref().is_some_and(|elicitation| elicitation.url.is_some()),
        knows_extension: extension == Some(&json!(true)),
        shows_notices: session.is_some_and(|session| session.notices.is_some()),
        shows_compactions: session.is_some_and(|session| session.compaction.is_some()),
    }
}

/// Tells whether a text has the form of the cursors that the listing hands out.
fn is_cursor(text: &str) -> bool {
    let Some((created, id)) = text.split_once('-') else { return false };
    created.len() == 20 && created.chars().all(|c| c.is_ascii_digit()) && id.starts_with("ref-")
}

#[cfg(test)]
mod tests {
    use super::is_cursor;

    #[test]
    fn knows_its_own_cursors() {
        assert!(is_cursor("00001763683199250000-ref-6441-1-1"));
        assert!(!is_cursor("bogus"));
        assert!(!is_cursor("1763683199250000-ref-6441-1-1"));
    }
}
