//! One open session: where it works, what can be chosen in it, and whether a turn runs.

use std::{
    path::PathBuf,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use agent_client_protocol::{
    RequestCancellationHandle,
    v1::schema::{SessionConfigOption, SessionId, SessionModeState},
};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;

use super::state::lock;

/// Whether the agent works for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turn {
    Idle,
    Running,
    /// The user stopped the turn, and the agent has not answered yet.
    Cancelling,
}

/// What can be chosen in a session, as the results of session/new, load and resume say it.
#[derive(Debug, Clone, Default)]
pub(super) struct Choices {
    pub modes: Option<SessionModeState>,
    /// `None` if the agent has no config options.
    pub options: Option<Vec<SessionConfigOption>>,
}

/// One open session.
#[derive(Debug)]
pub(super) struct Session {
    pub id: SessionId,
    pub cwd: PathBuf,
    choices: Mutex<Choices>,
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
            turn: watch::channel(Turn::Idle).0,
            prompt: Mutex::default(),
            is_closing: AtomicBool::new(false),
        }
    }

    /// Returns what can be chosen.
    pub(super) fn choices(&self) -> Choices {
        lock(&self.choices).clone()
    }

    /// Changes what can be chosen.
    pub(super) fn change(&self, change: impl FnOnce(&mut Choices)) {
        change(&mut lock(&self.choices));
    }

    /// Returns what the session is doing.
    pub(super) fn turn(&self) -> Turn {
        *self.turn.borrow()
    }

    /// Notes what the session is doing; answers what it did before.
    pub(super) fn set_turn(&self, turn: Turn) -> Turn {
        self.turn.send_replace(turn)
    }

    /// Waits until no turn runs in this session.
    pub(super) async fn idle(&self) {
        // Fails only without a sender, which lives as long as the session.
        let _ = self.turn.subscribe().wait_for(|turn| *turn == Turn::Idle).await;
    }

    /// Keeps or forgets the way to give up the open prompt.
    pub(super) fn set_prompt(&self, prompt: Option<RequestCancellationHandle>) {
        *lock(&self.prompt) = prompt;
    }

    /// Returns the way to give up the open prompt.
    pub(super) fn prompt(&self) -> Option<RequestCancellationHandle> {
        lock(&self.prompt).clone()
    }

    /// Notes that the user closes the session.
    pub(super) fn close(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
    }

    /// Tells whether questions are pointless, because the user stopped the turn or closes the session.
    pub(super) fn is_given_up(&self) -> bool {
        self.turn() == Turn::Cancelling || self.is_closing.load(Ordering::Relaxed)
    }
}

impl Choices {
    /// Reads the choices out of a result, leaving out what is of an unknown kind.
    pub(super) fn read(result: &Value) -> Self {
        let modes = result.get("modes").and_then(|modes| SessionModeState::deserialize(modes).ok());
        let options = result.get("configOptions").and_then(Value::as_array);
        let known = |options: &Vec<Value>| {
            options.iter().filter_map(|option| SessionConfigOption::deserialize(option).ok()).collect()
        };
        Self { modes, options: options.map(known) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_kinds_of_options_are_left_out() {
        let known = json!({"id": "a", "name": "A", "type": "boolean", "currentValue": true, "category": "_mine"});
        let choices = Choices::read(&json!({"configOptions": [{"id": "b", "name": "B", "type": "dial"}, known]}));
        assert!(choices.modes.is_none());
        assert_eq!(choices.options.map(|options| options.len()), Some(1));
    }
}
