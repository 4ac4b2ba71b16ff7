//! Which terminals there are.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, atomic::AtomicBool},
};

use agent_client_protocol::{
    Error,
    v1::schema::{SessionId, TerminalId},
};

use super::command::Command;
use crate::client::{
    Fault,
    state::{Client, lock, not_found},
};

/// A terminal and the session that it belongs to.
#[derive(Debug)]
pub(super) struct Terminal {
    pub session: SessionId,
    pub command: Command,
    pub was_killed: AtomicBool,
    pub was_released: AtomicBool,
}

/// All terminals of the connection.
#[derive(Debug, Default)]
pub(in crate::client) struct Terminals {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    terminals: HashMap<TerminalId, Arc<Terminal>>,
    n_created: u64,
    is_closed: bool,
    /// Terminals that a fault keeps although they were released.
    kept: Vec<Arc<Terminal>>,
}

impl Terminals {
    /// Adds a terminal under an id that no other one had.
    pub(super) fn add(&self, client: &Client, terminal: Arc<Terminal>) -> Result<TerminalId, Error> {
        let mut state = lock(&self.state);
        if state.is_closed {
            return Err(Error::request_cancelled());
        }
        state.n_created += 1;
        let constant = client.commits(Fault::ConstantTerminalId);
        let id = TerminalId::new(if constant { "main".to_owned() } else { format!("terminal-{}", state.n_created) });
        if let Some(hidden) = state.terminals.insert(id.clone(), terminal) {
            state.kept.push(hidden);
        }
        Ok(id)
    }

    /// Finds a terminal; one of another session is as unknown as one that never was.
    pub(super) fn find(&self, session: &SessionId, id: &TerminalId) -> Result<Arc<Terminal>, Error> {
        let found = lock(&self.state).terminals.get(id).filter(|terminal| terminal.session == *session).cloned();
        found.ok_or_else(|| not_found("there is no such terminal"))
    }

    /// Makes an id unknown.
    pub(super) fn remove(&self, id: &TerminalId) {
        lock(&self.state).terminals.remove(id);
    }

    /// Keeps a terminal to the end of the client.
    pub(super) fn keep(&self, terminal: Arc<Terminal>) {
        lock(&self.state).kept.push(terminal);
    }

    /// Kills and forgets the terminals of a session.
    pub(in crate::client) async fn release_session(&self, session: &SessionId) {
        let released: Vec<_> = {
            let mut state = lock(&self.state);
            let released = state.terminals.extract_if(|_, terminal| terminal.session == *session);
            released.map(|(_, terminal)| terminal).collect()
        };
        kill_all(&released).await;
    }

    /// Kills all terminals and accepts no new one.
    pub(in crate::client) async fn shut_down(&self) {
        let released: Vec<_> = {
            let mut state = lock(&self.state);
            state.is_closed = true;
            let kept = std::mem::take(&mut state.kept);
            state.terminals.drain().map(|(_, terminal)| terminal).chain(kept).collect()
        };
        kill_all(&released).await;
    }
}

async fn kill_all(terminals: &[Arc<Terminal>]) {
    terminals.iter().for_each(|terminal| terminal.command.signal());
    for terminal in terminals {
        terminal.command.kill().await;
    }
}
