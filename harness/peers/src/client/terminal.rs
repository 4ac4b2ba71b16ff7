//! Terminals: real processes that the agent starts, watches, kills and releases.

mod command;
mod tail;

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use agent_client_protocol::{Error, v1::schema::CreateTerminalRequest};
use serde_json::{Value, json};
use tokio::process;

use self::{
    command::{Command, Exit},
    tail::{DEFAULT_LIMIT, Tail},
};
use super::{
    errors::{failed, invalid, not_found},
    session::Sessions,
};
use crate::sync::lock;

/// A terminal and the session that it belongs to.
#[derive(Debug)]
struct Terminal {
    session: String,
    command: Command,
}

/// All terminals of the connection, by id.
#[derive(Debug, Default)]
pub(super) struct Terminals(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    terminals: HashMap<String, Arc<Terminal>>,
    n_created: u64,
    is_closed: bool,
}

impl Terminals {
    /// Starts a command.
    pub(super) fn create(&self, sessions: &Sessions, request: &CreateTerminalRequest) -> Result<Value, Error> {
        let session = request.session_id.to_string();
        sessions.check(&session)?;
        let cwd = sessions.read(&session, |session| session.cwd.clone()).flatten().unwrap_or_default();
        let limit = request.output_byte_limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let tail = Tail::new(limit.unwrap_or(DEFAULT_LIMIT));
        let command = Command::start(command(request, cwd)?, tail).map_err(|error| failed(&error.to_string()))?;
        let mut state = lock(&self.0);
        if state.is_closed {
            return Err(Error::request_cancelled());
        }
        state.n_created += 1;
        let id = format!("terminal-{}", state.n_created);
        state.terminals.insert(id.clone(), Arc::new(Terminal { session, command }));
        Ok(json!({"terminalId": id}))
    }

    /// Returns the output so far, and the exit status once there is one.
    pub(super) fn output(&self, session: &str, id: &str) -> Result<Value, Error> {
        let terminal = self.find(session, id)?;
        // The status comes first: once there is one, the output is complete.
        let exit = terminal.command.exit();
        let (output, truncated) = terminal.command.output();
        let mut result = json!({"output": output, "truncated": truncated});
        if let Some(exit) = exit {
            result["exitStatus"] = status(&exit);
        }
        Ok(result)
    }

    /// Returns the exit status when the command has exited.
    pub(super) async fn wait_for_exit(&self, session: &str, id: &str) -> Result<Value, Error> {
        // Only the registry holds the terminal, so that a release ends this wait.
        let exited = self.find(session, id)?.command.exited();
        exited.await.map(|exit| status(&exit)).ok_or_else(|| not_found("the terminal was released"))
    }

    /// Kills the command, waits for its exit, and keeps the terminal.
    pub(super) async fn kill(&self, session: &str, id: &str) -> Result<Value, Error> {
        self.find(session, id)?.command.kill().await;
        Ok(json!({}))
    }

    /// Kills the command and removes the terminal, whose id is unknown from now on.
    pub(super) async fn release(&self, session: &str, id: &str) -> Result<Value, Error> {
        let terminal = self.find(session, id)?;
        lock(&self.0).terminals.remove(id);
        terminal.command.kill().await;
        Ok(json!({}))
    }

    /// Kills and removes the terminals of a session.
    pub(super) async fn release_session(&self, session: &str) {
        let released: Vec<_> = {
            let mut state = lock(&self.0);
            state.terminals.extract_if(|_, terminal| terminal.session == session).collect()
        };
        kill_all(released).await;
    }

    /// Kills all terminals and accepts no new one.
    pub(super) async fn shut_down(&self) {
        let released: Vec<_> = {
            let mut state = lock(&self.0);
            state.is_closed = true;
            state.terminals.drain().collect()
        };
        kill_all(released).await;
    }

    /// Finds a terminal; a terminal of another session counts as unknown.
    fn find(&self, session: &str, id: &str) -> Result<Arc<Terminal>, Error> {
        let found = lock(&self.0).terminals.get(id).filter(|terminal| terminal.session == session).cloned();
        found.ok_or_else(|| not_found("unknown terminal"))
    }
}

async fn kill_all(terminals: Vec<(String, Arc<Terminal>)>) {
    terminals.iter().for_each(|(_, terminal)| terminal.command.signal());
    for (_, terminal) in terminals {
        terminal.command.kill().await;
    }
}

fn command(request: &CreateTerminalRequest, cwd: PathBuf) -> Result<process::Command, Error> {
    let cwd = request.cwd.clone().unwrap_or(cwd);
    if !cwd.is_absolute() {
        return Err(invalid("the cwd is not absolute"));
    }
    let is_variable = |name: &str| !name.is_empty() && !name.contains(['=', '\0']);
    if !request.env.iter().all(|variable| is_variable(&variable.name)) {
        return Err(invalid("the name of a variable is not possible"));
    }
    // A relative path with a slash starts in the command's own directory.
    let program = if request.command.contains('/') { cwd.join(&request.command) } else { (&request.command).into() };
    let mut command = process::Command::new(program);
    let variables = request.env.iter().map(|variable| (&variable.name, &variable.value));
    command.args(&request.args).current_dir(cwd).envs(variables);
    Ok(command)
}

/// Writes a status with both members, as in the protocol's examples; the SDK omits null members.
fn status(exit: &Exit) -> Value {
    json!({"exitCode": exit.code, "signal": exit.signal})
}
