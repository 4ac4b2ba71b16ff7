//! The open sessions: their directories, settings and turns.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use agent_client_protocol::{
    Error, RequestCancellationHandle,
    v1::schema::{SessionConfigOption, SessionId, SessionModeState},
};
use serde::Deserialize as _;
use serde_json::Value;
use tokio::sync::watch;

use super::errors::invalid;

/// The state of the turn of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Idle,
    Running,
    /// The user stopped the turn, and the agent has not answered yet.
    Cancelling,
}

/// The choices in a session, as the results of session/new, load and resume list them.
#[derive(Debug, Clone, Default)]
pub(super) struct Choices {
    pub modes: Option<SessionModeState>,
    /// `None` if the agent has no config options.
    pub options: Option<Vec<SessionConfigOption>>,
}

impl Choices {
    /// Reads the choices from a result, without options of unknown types.
    pub(super) fn read(result: &Value) -> Self {
        let modes = result.get("modes").and_then(|modes| SessionModeState::deserialize(modes).ok());
        let options = result.get("configOptions").and_then(Value::as_array);
        let known = |options: &Vec<Value>| {
            options.iter().filter_map(|option| SessionConfigOption::deserialize(option).ok()).collect()
        };
        Self { modes, options: options.map(known) }
    }
}

/// One open session.
#[derive(Debug)]
pub(super) struct Session {
    pub id: SessionId,
    pub cwd: PathBuf,
    choices: Mutex<Choices>,
    /// The names in the last list of slash commands; `None` before the first list.
    commands: Mutex<Option<Vec<String>>>,
    turn: watch::Sender<Turn>,
    prompt: Mutex<Option<RequestCancellationHandle>>,
    is_closing: AtomicBool,
}

impl Session {
    pub(super) fn new(id: SessionId, cwd: PathBuf) -> Self {
        Self {
            id,
            cwd,
            choices: Mutex::default(),
            commands: Mutex::default(),
            turn: watch::channel(Turn::Idle).0,
            prompt: Mutex::default(),
            is_closing: AtomicBool::new(false),
        }
    }

    pub(super) fn choices(&self) -> Choices {
        lock(&self.choices).clone()
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut Choices)) {
        change(&mut lock(&self.choices));
    }

    /// Replaces the list of slash commands.
    pub(super) fn set_commands(&self, names: Vec<String>) {
        *lock(&self.commands) = Some(names);
    }

    /// Returns whether the agent removed a command from its list, or never had it there.
    pub(super) fn lacks_command(&self, name: &str) -> bool {
        lock(&self.commands).as_ref().is_some_and(|names| names.iter().all(|known| known != name))
    }

    pub(super) fn turn(&self) -> Turn {
        *self.turn.borrow()
    }

    pub(super) fn set_turn(&self, turn: Turn) {
        self.turn.send_replace(turn);
    }

    /// Waits until no turn runs in this session.
    pub(super) async fn idle(&self) {
        // Fails only without a sender, which lives as long as the session.
        let _ = self.turn.subscribe().wait_for(|turn| *turn == Turn::Idle).await;
    }

    /// Sets or clears the handle that cancels the open prompt.
    pub(super) fn set_prompt(&self, prompt: Option<RequestCancellationHandle>) {
        *lock(&self.prompt) = prompt;
    }

    pub(super) fn prompt(&self) -> Option<RequestCancellationHandle> {
        lock(&self.prompt).clone()
    }

    /// Records that the user closes the session.
    pub(super) fn close(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
    }

    /// Returns whether the user stopped the turn or closes the session, so that questions are pointless.
    pub(super) fn is_given_up(&self) -> bool {
        self.turn() == Turn::Cancelling || self.is_closing.load(Ordering::Relaxed)
    }
}

/// An entry in the agent's list of sessions.
#[derive(Debug, Clone, Default)]
pub(super) struct Listed {
    pub cwd: PathBuf,
    pub directories: Vec<PathBuf>,
}

/// The sessions that this connection knows.
#[derive(Debug)]
pub(super) struct Sessions {
    known: Mutex<Known>,
    n_running: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct Known {
    open: HashMap<SessionId, Arc<Session>>,
    current: Option<SessionId>,
    listed: HashMap<SessionId, Listed>,
}

impl Default for Sessions {
    fn default() -> Self {
        Self { known: Mutex::default(), n_running: watch::channel(0).0 }
    }
}

impl Sessions {
    /// Finds an open session.
    pub(super) fn find(&self, id: &SessionId) -> Option<Arc<Session>> {
        lock(&self.known).open.get(id).cloned()
    }

    /// Returns the session that a request of the agent names.
    pub(super) fn named(&self, id: &SessionId) -> Result<Arc<Session>, Error> {
        self.find(id).ok_or_else(|| invalid("unknown session"))
    }

    /// Returns the session that the user works in.
    pub(super) fn current(&self) -> Option<Arc<Session>> {
        let known = lock(&self.known);
        known.current.as_ref().and_then(|id| known.open.get(id)).cloned()
    }

    /// Makes a session the current one.
    pub(super) fn make_current(&self, id: &SessionId) {
        lock(&self.known).current = Some(id.clone());
    }

    pub(super) fn all(&self) -> Vec<Arc<Session>> {
        lock(&self.known).open.values().cloned().collect()
    }

    /// Opens a session to requests; returns the earlier one with its id.
    pub(super) fn add(&self, session: Arc<Session>) -> Option<Arc<Session>> {
        lock(&self.known).open.insert(session.id.clone(), session)
    }

    pub(super) fn remove(&self, id: &SessionId) {
        lock(&self.known).open.remove(id);
    }

    /// Returns the latest entry about a session in the agent's list.
    pub(super) fn listed(&self, id: &SessionId) -> Option<Listed> {
        lock(&self.known).listed.get(id).cloned()
    }

    pub(super) fn set_listed(&self, id: SessionId, listed: Listed) {
        lock(&self.known).listed.insert(id, listed);
    }

    pub(super) fn begin_turn(&self, session: &Session) {
        session.set_turn(Turn::Running);
        self.n_running.send_modify(|n_running| *n_running += 1);
    }

    pub(super) fn end_turn(&self, session: &Session) {
        session.set_prompt(None);
        session.set_turn(Turn::Idle);
        self.n_running.send_modify(|n_running| *n_running = n_running.saturating_sub(1));
    }

    /// Waits until no turn runs.
    pub(super) async fn turns_ended(&self) {
        // Fails only without a sender, which lives as long as the sessions.
        let _ = self.n_running.subscribe().wait_for(|n_running| *n_running == 0).await;
    }

    /// Returns whether a turn runs in any session.
    pub(super) fn is_busy(&self) -> bool {
        *self.n_running.borrow() > 0
    }
}

/// Locks, also after a panic elsewhere.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn leaves_out_options_of_unknown_types() {
        let known = json!({"id": "a", "name": "A", "type": "boolean", "currentValue": true, "category": "_mine"});
        let choices = Choices::read(&json!({"configOptions": [{"id": "b", "name": "B", "type": "dial"}, known]}));
        assert!(choices.modes.is_none());
        assert_eq!(choices.options.map(|options| options.len()), Some(1));
    }
}
