//! What the client knows of its connection, and how it asks the agent for something.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use agent_client_protocol::{
    Agent, Error, RequestCancellationHandle, UntypedMessage,
    v1::{
        ConnectionTo,
        schema::{AgentCapabilities, SessionId},
    },
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::sync::{Notify, oneshot, watch};

use super::{
    Fault, Feature, Options, login::Additions, output::Printer, question::Questions, session::Session,
    terminals::Terminals,
};

/// What the agent said of itself.
#[derive(Debug, Default)]
pub(super) struct AgentSide {
    pub capabilities: AgentCapabilities,
    pub methods: Vec<LoginMethod>,
    /// It did not say what prompts it takes.
    pub is_minimal: bool,
    /// It has a capability that no schema knows.
    pub is_strange: bool,
}

/// A way to log in.
#[derive(Debug)]
pub(super) struct LoginMethod {
    pub id: String,
    /// The member `type` as sent, if it is a string.
    pub kind: Option<String>,
    /// What it adds to the way in which the agent is started, if it runs in a terminal.
    pub additions: Additions,
}

/// What a list of sessions told of one of them.
#[derive(Debug, Clone, Default)]
pub(super) struct Listed {
    pub cwd: PathBuf,
    pub directories: Vec<PathBuf>,
}

/// The sessions that this connection knows.
#[derive(Debug, Default)]
struct Sessions {
    open: HashMap<SessionId, Arc<Session>>,
    current: Option<SessionId>,
    listed: HashMap<SessionId, Listed>,
    /// Kept on behalf of a fault; a cursor is worth nothing behind its listing.
    last_cursor: Option<String>,
}

/// The state of the connection.
pub(super) struct Client {
    pub options: Options,
    pub printer: Printer,
    pub questions: Questions,
    pub terminals: Terminals,
    connection: OnceLock<ConnectionTo<Agent>>,
    agent: OnceLock<AgentSide>,
    sessions: Mutex<Sessions>,
    /// The texts that were written and not saved, by path.
    buffers: Mutex<HashMap<PathBuf, String>>,
    n_running: watch::Sender<usize>,
    has_failed: AtomicBool,
    crash: Mutex<Option<String>>,
    crashed: Notify,
}

impl Client {
    pub(super) fn new(options: Options) -> Self {
        Self {
            options,
            printer: Printer::default(),
            questions: Questions::default(),
            terminals: Terminals::default(),
            connection: OnceLock::new(),
            agent: OnceLock::new(),
            sessions: Mutex::default(),
            buffers: Mutex::default(),
            n_running: watch::channel(0).0,
            has_failed: AtomicBool::new(false),
            crash: Mutex::default(),
            crashed: Notify::new(),
        }
    }

    /// Tells whether a fault is to be committed.
    pub(super) fn commits(&self, fault: Fault) -> bool {
        self.options.commits(fault)
    }

    /// Tells whether requests that need a feature are served.
    pub(super) fn serves(&self, feature: Feature) -> bool {
        let advertised = self.options.with(feature);
        advertised && !self.commits(Fault::AdvertiseUnserved) || self.commits(Fault::ServeUnadvertised)
    }

    /// Keeps a written text without saving it.
    pub(super) fn keep_unsaved(&self, path: &Path, text: String) {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned(), text);
    }

    /// Returns the unsaved text of a file.
    pub(super) fn unsaved(&self, path: &Path) -> Option<String> {
        self.buffers.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }

    /// Takes the connection over.
    pub(super) fn set_connection(&self, connection: ConnectionTo<Agent>) {
        self.connection.get_or_init(|| connection);
    }

    /// Notes what the agent said of itself.
    pub(super) fn set_agent(&self, agent: AgentSide) {
        self.agent.get_or_init(|| agent);
    }

    /// Returns what the agent said of itself; nothing before it did.
    pub(super) fn agent(&self) -> &AgentSide {
        static UNKNOWN: OnceLock<AgentSide> = OnceLock::new();
        self.agent.get().unwrap_or_else(|| UNKNOWN.get_or_init(AgentSide::default))
    }

    /// Notes that something went wrong, without an end of the client.
    pub(super) fn fail(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// Tells whether anything went wrong.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }

    /// Ends the client on behalf of a fault.
    pub(super) fn die(&self, reason: &str) {
        lock(&self.crash).get_or_insert_with(|| reason.to_owned());
        self.crashed.notify_one();
    }

    /// Waits for the end that a fault wants.
    pub(super) async fn death(&self) -> String {
        self.crashed.notified().await;
        lock(&self.crash).clone().unwrap_or_default()
    }

    /// Sends a request; `note` sees the answer before any later message of the agent is handled.
    pub(super) fn begin<T: DeserializeOwned + 'static>(
        &self,
        method: &str,
        params: impl Serialize,
        note: impl FnOnce(Result<T, Error>) + Send + 'static,
    ) -> Result<RequestCancellationHandle, Error> {
        let connection = self.connection.get().ok_or_else(|| broken_off(method))?;
        let request = connection.prepare_request(UntypedMessage::new(method, params)?);
        let handle = request.cancellation_handle();
        let method = method.to_owned();
        request.on_receiving_result(move |result| {
            note(result.and_then(|value| decode(&method, value)));
            std::future::ready(Ok(()))
        })?;
        Ok(handle)
    }

    /// Sends a request and waits for the answer, which `note` sees as in [`Self::begin`].
    pub(super) async fn call<T: DeserializeOwned + Send + 'static>(
        &self,
        method: &str,
        params: impl Serialize,
        note: impl FnOnce(&Result<T, Error>) + Send + 'static,
    ) -> Result<T, Error> {
        let (answered, answer) = oneshot::channel();
        self.begin(method, params, move |result| {
            note(&result);
            // Nobody waits for the answer any more when the client ends.
            let _ = answered.send(result);
        })?;
        answer.await.unwrap_or_else(|_| Err(broken_off(method)))
    }

    /// Sends a notification.
    pub(super) fn notify(&self, method: &str, params: impl Serialize) -> Result<(), Error> {
        let connection = self.connection.get().ok_or_else(|| broken_off(method))?;
        connection.send_notification(UntypedMessage::new(method, params)?)
    }

    /// Finds an open session.
    pub(super) fn session(&self, id: &SessionId) -> Option<Arc<Session>> {
        lock(&self.sessions).open.get(id).cloned()
    }

    /// Finds the session that a request of the agent names.
    pub(super) fn served_session(&self, id: &SessionId) -> Result<Arc<Session>, Error> {
        let known = self.session(id);
        if known.is_none() && self.commits(Fault::ServeUnknownSessions) {
            return Ok(Arc::new(Session::new(id.clone(), self.options.cwd.clone())));
        }
        known.ok_or_else(|| invalid("there is no such session"))
    }

    /// Returns the session that the user works in.
    pub(super) fn current(&self) -> Option<Arc<Session>> {
        let sessions = lock(&self.sessions);
        sessions.current.as_ref().and_then(|id| sessions.open.get(id)).cloned()
    }

    /// Makes a session the one that the user works in.
    pub(super) fn make_current(&self, id: &SessionId) {
        lock(&self.sessions).current = Some(id.clone());
    }

    /// Returns all open sessions.
    pub(super) fn all_sessions(&self) -> Vec<Arc<Session>> {
        lock(&self.sessions).open.values().cloned().collect()
    }

    /// Opens a session to requests, in place of an earlier one with its id.
    pub(super) fn add_session(&self, session: Arc<Session>) -> Option<Arc<Session>> {
        lock(&self.sessions).open.insert(session.id.clone(), session)
    }

    /// Forgets a session.
    pub(super) fn remove_session(&self, id: &SessionId) {
        lock(&self.sessions).open.remove(id);
    }

    /// Returns what the last list told of a session.
    pub(super) fn listed(&self, id: &SessionId) -> Option<Listed> {
        lock(&self.sessions).listed.get(id).cloned()
    }

    /// Takes over what a list told of a session.
    pub(super) fn set_listed(&self, id: SessionId, mut listed: Listed) {
        let mut sessions = lock(&self.sessions);
        if let Some(old) = sessions.listed.get(&id).filter(|_| self.commits(Fault::MergeDirectories)) {
            let dropped = old.directories.iter().filter(|path| !listed.directories.contains(path));
            listed.directories.extend(dropped.cloned().collect::<Vec<_>>());
        }
        sessions.listed.insert(id, listed);
    }

    /// Returns the last cursor of all listings.
    pub(super) fn last_cursor(&self) -> Option<String> {
        lock(&self.sessions).last_cursor.clone()
    }

    /// Notes the last cursor of all listings.
    pub(super) fn set_last_cursor(&self, cursor: &str) {
        lock(&self.sessions).last_cursor = Some(cursor.to_owned());
    }

    /// Counts the turns that run: `change` gets the number so far.
    pub(super) fn count_turns(&self, change: impl FnOnce(&mut usize)) {
        self.n_running.send_modify(change);
    }

    /// Waits until no turn runs.
    pub(super) async fn turns_ended(&self) {
        // Fails only without a sender, which lives as long as the client.
        let _ = self.n_running.subscribe().wait_for(|n_running| *n_running == 0).await;
    }

    /// Tells whether a turn runs in any session.
    pub(super) fn is_busy(&self) -> bool {
        *self.n_running.borrow() > 0
    }
}

/// Reads a result; null stands for an object without members.
fn decode<T: DeserializeOwned>(method: &str, value: Value) -> Result<T, Error> {
    let value = if value.is_null() { json!({}) } else { value };
    serde_json::from_value(value).map_err(|error| {
        let reason = format!("the result of {method} cannot be read: {error}");
        Error::internal_error().data(json!({ "reason": reason }))
    })
}

fn broken_off(method: &str) -> Error {
    Error::internal_error().data(json!({"reason": format!("the connection ended before the answer to {method}")}))
}

/// Builds error -32602 with the reason in its data.
pub(super) fn invalid(reason: &str) -> Error {
    Error::invalid_params().data(json!({"reason": reason}))
}

/// Builds error -32002 for something that is gone or never was.
pub(super) fn not_found(what: &str) -> Error {
    Error::new(agent_client_protocol::ErrorCode::RESOURCE_NOT_FOUND, "Resource not found").data(json!({"reason": what}))
}

/// Builds error -32603 with the reason in its data.
pub(super) fn failed(reason: &str) -> Error {
    Error::internal_error().data(json!({"reason": reason}))
}

/// Puts an error in one line.
pub(super) fn describe(error: &Error) -> String {
    if agent_client_protocol::is_incoming_transport_closed(error) {
        return "the connection ended".to_owned();
    }
    match &error.data {
        Some(data) if !data.is_null() => format!("{} ({}): {data}", error.message, error.code.value()),
        _ => format!("{} ({})", error.message, error.code.value()),
    }
}

/// Locks, also after a panic elsewhere.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
