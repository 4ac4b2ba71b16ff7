//! The state of the client during one connection.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::Value;

use super::{
    agent_info::{AgentInfo, Capabilities},
    connection::Connection,
    errors::Trouble,
    fs::Files,
    launch::Launcher,
    major::Major,
    open_questions::Questions,
    options::{Feature, Options},
    output::Printer,
    session::Sessions,
    terminal::Terminals,
};
use crate::sync::lock;

/// The state of the client; each part has its own file.
pub(super) struct Client {
    pub major: &'static Major,
    pub options: Options,
    pub launcher: Arc<dyn Launcher>,
    pub connection: Connection,
    pub sessions: Sessions,
    pub questions: Questions,
    pub files: Files,
    pub terminals: Terminals,
    pub printer: Printer,
    /// The answer to `initialize`.
    pub agent: OnceLock<AgentInfo>,
    /// The directory of the user.
    cwd: Mutex<PathBuf>,
    has_failed: AtomicBool,
}

impl Client {
    pub(super) fn new(major: &'static Major, options: Options, launcher: Arc<dyn Launcher>) -> Self {
        Self {
            major,
            files: Files::new(options.unsaved),
            cwd: Mutex::new(options.cwd.clone()),
            options,
            launcher,
            connection: Connection::default(),
            sessions: Sessions::default(),
            questions: Questions::default(),
            terminals: Terminals::default(),
            printer: Printer::default(),
            agent: OnceLock::new(),
            has_failed: AtomicBool::new(false),
        }
    }

    /// Returns whether a feature is advertised and served.
    pub(super) fn has(&self, feature: Feature) -> bool {
        self.options.with(feature)
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

    /// Returns the agent's description of itself; before `initialize`, an agent without capabilities.
    pub(super) fn agent(&self) -> &AgentInfo {
        self.agent.get_or_init(AgentInfo::default)
    }

    /// Refuses an act unless the agent advertises the method that it needs.
    pub(super) fn require(&self, method: &str, has: impl FnOnce(&Capabilities) -> bool) -> Result<(), Trouble> {
        let is_advertised = has(&self.agent().takes);
        is_advertised.then_some(()).ok_or_else(|| Trouble::refused(format!("the agent does not advertise {method}")))
    }

    /// Does an act that is a request with a result without content.
    pub(super) async fn act(&self, method: &str, params: Value) -> Result<(), Trouble> {
        let answer = self.connection.call(method, params, |_| ()).await;
        answer.map(drop).map_err(|error| Trouble::failed(method, &error))
    }

    /// Records a failure that does not end the client.
    pub(super) fn fail(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }
}
