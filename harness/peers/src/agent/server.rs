//! The connection: start-up, dispatch of messages to their handlers, and the end.

use std::{
    collections::HashMap,
    process::ExitCode,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use agent_client_protocol::{
    Agent as AgentRole, Client, ConnectTo, Error, Stdio, on_receive_notification, on_receive_request,
    v1::{
        ConnectionTo, Responder,
        schema::{
            ClientNotification, ClientRequest, Error as SchemaError, SessionId, SessionNotification, SessionUpdate,
        },
    },
};
use serde::Serialize;
use serde_json::json;

use super::{
    Feature, Options,
    elicitation::{VISITED, Visits},
    session::Session,
    store::Store,
};

/// Time that running turns get to end after the client went away.
const SHUTDOWN_LIMIT: Duration = Duration::from_millis(500);

/// Runs the agent on stdin and stdout until stdin ends or the process is told to stop.
#[must_use]
pub fn run(options: Options) -> ExitCode {
    block_on(serve(options, Stdio::new()))
}

/// Waits for the end of a connection, and turns it into an exit code.
pub(crate) fn block_on(connection: impl Future<Output = Result<(), Error>>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let served = runtime.map_err(Error::into_internal_error).and_then(|runtime| {
        let served = runtime.block_on(connection);
        // Does not wait for threads that still read from a pipe.
        runtime.shutdown_background();
        served
    });
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log(&format!("the connection failed: {error}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs the agent on a transport until its input ends or the process is told to stop.
pub(crate) async fn serve(options: Options, transport: impl ConnectTo<AgentRole>) -> Result<(), Error> {
    let agent = Arc::new(Agent::new(options));
    let (requests, notifications, end) = (Arc::clone(&agent), Arc::clone(&agent), Arc::clone(&agent));
    let connection = AgentRole
        .v1()
        .name("acp-reference-agent")
        .on_receive_request(
            async move |request: ClientRequest, responder, connection| requests.handle(request, responder, &connection),
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |notification: ClientNotification, _: ConnectionTo<Client>| {
                notifications.note(&notification);
                Ok(())
            },
            on_receive_notification!(),
        )
        .on_close(async move |_| {
            end.shut_down().await;
            Ok(())
        })
        .connect_to(transport);
    let served = tokio::select! {
        served = connection => served,
        () = told_to_stop() => Ok(()),
    };
    agent.shut_down().await;
    served
}

async fn told_to_stop() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}

/// What the client can do, as far as this agent uses it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ClientSide {
    pub reads_files: bool,
    pub writes_files: bool,
    pub has_terminals: bool,
    pub boolean_options: bool,
    pub elicits_forms: bool,
    pub opens_urls: bool,
    pub knows_extension: bool,
    pub shows_notices: bool,
    pub shows_compactions: bool,
}

/// The state of the connection.
pub(super) struct Agent {
    pub options: Options,
    pub store: Store,
    pub logged_in: AtomicBool,
    connection: OnceLock<ConnectionTo<Client>>,
    client: Mutex<ClientSide>,
    sessions: Mutex<HashMap<SessionId, Arc<Session>>>,
    last_session: AtomicU64,
    /// The visits that users were asked for and have not made.
    pub visits: Visits,
}

impl Agent {
    fn new(options: Options) -> Self {
        Self {
            logged_in: AtomicBool::new(!options.require_login),
            options,
            store: Store::open(),
            connection: OnceLock::new(),
            client: Mutex::default(),
            sessions: Mutex::default(),
            last_session: AtomicU64::new(0),
            visits: Visits::default(),
        }
    }

    fn handle(
        self: &Arc<Self>,
        request: ClientRequest,
        responder: Responder,
        connection: &ConnectionTo<Client>,
    ) -> Result<(), Error> {
        if self.connection().is_none() && !matches!(request, ClientRequest::InitializeRequest(_)) {
            let reason = json!({"reason": "the connection is not initialized"});
            return responder.respond_with_error(Error::invalid_request().data(reason));
        }
        // The handlers that start or stop processes take time and must not hold up the others.
        let agent = Arc::clone(self);
        match request {
            ClientRequest::InitializeRequest(request) => {
                self.connection.get_or_init(|| connection.clone());
                answer(responder, Ok(self.initialize(&request)))
            }
            ClientRequest::AuthenticateRequest(request) => {
                spawn(async move { agent.authenticate(request, responder).await })
            }
            ClientRequest::LogoutRequest(_) => answer(responder, self.logout()),
            ClientRequest::NewSessionRequest(request) => {
                spawn(async move { agent.new_session(request, responder).await })
            }
            ClientRequest::LoadSessionRequest(request) => spawn(async move { agent.load(request, responder).await }),
            ClientRequest::ResumeSessionRequest(request) => {
                spawn(async move { agent.resume(request, responder).await })
            }
            ClientRequest::CloseSessionRequest(request) => spawn(async move { agent.close(request, responder).await }),
            ClientRequest::DeleteSessionRequest(request) => {
                spawn(async move { agent.delete(request, responder).await })
            }
            ClientRequest::ListSessionsRequest(request) => answer(responder, self.list(&request)),
            ClientRequest::SetSessionModeRequest(request) => {
                let changed = self.set_mode(&request);
                let session = changed.is_ok().then(|| self.session(&request.session_id).ok()).flatten();
                answer(responder, changed)?;
                session.iter().for_each(|session| self.announce_config(session));
                Ok(())
            }
            ClientRequest::SetSessionConfigOptionRequest(request) => match self.set_config_option(&request) {
                Ok((session, response)) => {
                    answer(responder, Ok(response))?;
                    if &*request.config_id.0 == "mode" {
                        self.announce_mode(&session);
                    }
                    Ok(())
                }
                Err(error) => responder.respond_with_error(error),
            },
            ClientRequest::PromptRequest(request) => self.prompt(request, responder),
            ClientRequest::ExtMethodRequest(request) if &*request.method == "_acp-reference/echo" => {
                answer(responder, Ok(json!({"echo": *request.params})))
            }
            _ => responder.respond_with_error(Error::method_not_found()),
        }
    }

    fn note(&self, notification: &ClientNotification) {
        let cancel = match notification {
            ClientNotification::CancelNotification(cancel) => cancel,
            ClientNotification::ExtNotification(told) if &*told.method == VISITED => {
                return self.complete_visit(told.params.get());
            }
            _ => return,
        };
        if let Ok(session) = self.session(&cancel.session_id) {
            session.cancel();
        }
    }

    /// Returns the connection; only messages that follow an initialize lead here.
    pub(super) fn connection(&self) -> Option<&ConnectionTo<Client>> {
        self.connection.get()
    }

    /// Returns what the client advertised.
    pub(super) fn client(&self) -> ClientSide {
        *lock(&self.client)
    }

    /// Notes what the client advertised.
    pub(super) fn set_client(&self, client: ClientSide) {
        *lock(&self.client) = client;
    }

    /// Sends an update of a session.
    pub(super) fn notify(&self, session: &Session, update: SessionUpdate) {
        if let Some(connection) = self.connection() {
            // Fails only when the connection has ended.
            let _ = connection.send_notification(SessionNotification::new(session.id.clone(), update));
        }
    }

    /// Saves a session; without a writable home it lives in memory only.
    pub(super) fn save(&self, session: &Session) {
        if let Err(error) = self.store.save(&session.record()) {
            log(&format!("session not saved: {error}"));
        }
    }

    /// Finds an open session.
    pub(super) fn session(&self, id: &SessionId) -> Result<Arc<Session>, Error> {
        let session = lock(&self.sessions).get(id).cloned();
        session.ok_or_else(|| SchemaError::session_not_found(id.clone()).into())
    }

    /// Opens a session to requests, in place of an earlier one with its id.
    pub(super) fn add_session(&self, session: Arc<Session>) {
        lock(&self.sessions).insert(session.id.clone(), session);
    }

    /// Closes a session to requests.
    pub(super) fn remove_session(&self, id: &SessionId) -> Option<Arc<Session>> {
        lock(&self.sessions).remove(id)
    }

    /// Returns a number that no other session of this process has.
    pub(super) fn next_session_number(&self) -> u64 {
        self.last_session.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Refuses the methods of a feature that was left out.
    pub(super) fn require(&self, feature: Feature) -> Result<(), Error> {
        if self.options.with(feature) { Ok(()) } else { Err(Error::method_not_found()) }
    }

    async fn shut_down(&self) {
        let sessions: Vec<_> = lock(&self.sessions).drain().map(|(_, session)| session).collect();
        let ended = sessions.iter().map(|session| self.end_session(session));
        let _ = tokio::time::timeout(SHUTDOWN_LIMIT, futures::future::join_all(ended)).await;
    }
}

/// Answers a request with a typed result.
pub(super) fn answer<T: Serialize>(responder: Responder, result: Result<T, Error>) -> Result<(), Error> {
    let value = result.and_then(|value| serde_json::to_value(value).map_err(Error::into_internal_error));
    responder.respond_with_result(value)
}

/// Builds error -32602 with the reason in its data.
pub(super) fn invalid(reason: &str) -> Error {
    Error::invalid_params().data(json!({"reason": reason}))
}

/// Writes one line to stderr.
#[expect(clippy::print_stderr, reason = "stderr is the log of an ACP agent")]
pub(super) fn log(line: &str) {
    eprintln!("acp-reference-agent: {line}");
}

fn spawn(task: impl Future<Output = Result<(), Error>> + Send + 'static) -> Result<(), Error> {
    tokio::spawn(task);
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
