//! The terminals of the connection, by id.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use agent_client_protocol::{
    Error,
    v1::schema::{SessionId, TerminalId},
};

use super::command::Command;
use crate::client::{errors::not_found, session::lock};

/// A terminal and the session that it belongs to.
#[derive(Debug)]
pub(super) struct Terminal {
    pub session: SessionId,
    pub command: Command,
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
}

impl Terminals {
    /// Adds a terminal under a new id.
    pub(super) fn add(&self, terminal: Terminal) -> Result<TerminalId, Error> {
        let mut state = lock(&self.state);
        if state.is_closed {
            return Err(Error::request_cancelled());
        }
        state.n_created += 1;
        let id = TerminalId::new(format!("terminal-{}", state.n_created));
        state.terminals.insert(id.clone(), Arc::new(terminal));
        Ok(id)
    }

    /// Finds a terminal; a terminal of another session counts as unknown.
    pub(super) fn find(&self, session: &SessionId, id: &TerminalId) -> Result<Arc<Terminal>, Error> {
        let found = lock(&self.state).terminals.get(id).filter(|terminal| terminal.session == *session).cloned();
        found.ok_or_else(|| not_found("unknown terminal"))
    }

    /// Removes an id.
    pub(super) fn remove(&self, id: &TerminalId) {
        lock(&self.state).terminals.remove(id);
    }

    /// Kills and removes the terminals of a session.
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
            state.terminals.drain().map(|(_, terminal)| terminal).collect()
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
