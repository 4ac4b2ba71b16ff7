//! The state of the client during one connection.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use agent_client_protocol::v2::{
    Responder,
    schema::{
        ElicitationMode, InitializeResponse, MessageId, PermissionOption, SessionConfigOption, SessionId, TerminalId,
        ToolCallId,
    },
};
use tokio::sync::Notify;

use crate::client::{Launcher, Options, connection::Connection, output::Printer, session::lock};

/// The state of the client.
pub(super) struct Client {
    pub options: Options,
    pub launcher: Arc<dyn Launcher>,
    pub connection: Connection,
    pub printer: Printer,
    /// The answer to `initialize`.
    pub agent: OnceLock<InitializeResponse>,
    /// Notified at every change of a session and at every question.
    pub changed: Notify,
    sessions: Mutex<Sessions>,
    questions: Mutex<Vec<Question>>,
    /// The directory of the user.
    cwd: Mutex<PathBuf>,
    has_failed: AtomicBool,
}

/// The sessions of the agent.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    /// The open sessions, and those of which an update came before the response that opened them.
    pub open: HashMap<SessionId, Session>,
    /// The directories of those that the agent listed.
    pub listed: HashMap<SessionId, PathBuf>,
    pub current: Option<SessionId>,
}

/// A session as its updates describe it.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// Its directory, once it is open.
    pub cwd: Option<PathBuf>,
    /// The agent works: the last state was not `idle`.
    pub is_working: bool,
    /// A prompt was sent, and no work has been reported since.
    pub awaits_work: bool,
    /// The messages of the agent of which chunks were printed.
    pub printed: Vec<MessageId>,
    /// The tool calls that can be cancelled, in the order of their offers.
    pub tools: Vec<ToolCallId>,
    /// The terminals that can be cancelled.
    pub terminals: Vec<TerminalId>,
    pub options: Vec<SessionConfigOption>,
}

impl Session {
    /// Returns whether work is running or about to begin.
    pub(super) fn is_busy(&self) -> bool {
        self.is_working || self.awaits_work
    }
}

/// A request of the agent that waits for the user.
#[derive(Debug)]
pub(super) struct Question {
    pub session: Option<SessionId>,
    pub matter: Matter,
    pub responder: Responder,
}

/// The subject of a question.
#[derive(Debug)]
pub(super) enum Matter {
    Permission(Vec<PermissionOption>),
    Elicitation(ElicitationMode),
}

impl Client {
    pub(super) fn new(options: Options, launcher: Arc<dyn Launcher>) -> Self {
        Self {
            cwd: Mutex::new(options.cwd.clone()),
            options,
            launcher,
            connection: Connection::default(),
            printer: Printer::default(),
            agent: OnceLock::new(),
            changed: Notify::new(),
            sessions: Mutex::default(),
            questions: Mutex::default(),
            has_failed: AtomicBool::new(false),
        }
    }

    /// Returns the directory of new sessions.
    pub(super) fn cwd(&self) -> PathBuf {
        lock(&self.cwd).clone()
    }

    /// Changes the directory of new sessions, if another one is given.
    pub(super) fn go_to(&self, cwd: Option<PathBuf>) {
        if let Some(cwd) = cwd {
            *lock(&self.cwd) = cwd;
        }
    }

    /// Gives access to the sessions; never held across an await.
    pub(super) fn sessions(&self) -> MutexGuard<'_, Sessions> {
        lock(&self.sessions)
    }

    /// Changes the state of a session, which may not be open yet.
    pub(super) fn change(&self, id: &SessionId, change: impl FnOnce(&mut Session)) {
        change(self.sessions().open.entry(id.clone()).or_default());
        self.changed.notify_waiters();
    }

    /// Gives access to the open questions, oldest first.
    pub(super) fn questions(&self) -> MutexGuard<'_, Vec<Question>> {
        lock(&self.questions)
    }

    /// Waits until a condition holds for the sessions.
    pub(super) async fn until(&self, holds: impl Fn(&Sessions) -> bool) {
        loop {
            let changed = self.changed.notified();
            if holds(&self.sessions()) {
                return;
            }
            changed.await;
        }
    }

    /// Records a failure that does not end the client.
    pub(super) fn fail(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }
}
