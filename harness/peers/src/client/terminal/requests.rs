//! The requests about terminals.

use std::path::{Path, PathBuf};

use agent_client_protocol::{
    Error,
    v1::{
        Responder,
        schema::{
            CreateTerminalRequest, CreateTerminalResponse, KillTerminalRequest, KillTerminalResponse,
            ReleaseTerminalRequest, ReleaseTerminalResponse, TerminalExitStatus, TerminalOutputRequest,
            WaitForTerminalExitRequest,
        },
    },
};
use serde_json::{Value, json};
use tokio::process;

use super::{
    command::Command,
    registry::{Terminal, Terminals},
    tail::{DEFAULT_LIMIT, Tail},
};
use crate::client::{
    errors::{failed, invalid, not_found},
    question::{answer, give_up},
    session::{Session, Sessions, lock},
};

impl Terminals {
    /// Starts a command.
    pub(in crate::client) fn create(
        &self,
        sessions: &Sessions,
        request: &CreateTerminalRequest,
    ) -> Result<CreateTerminalResponse, Error> {
        let session = sessions.named(&request.session_id)?;
        let limit = request.output_byte_limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let tail = Tail::new(limit.unwrap_or(DEFAULT_LIMIT));
        let command = Command::start(command(request, &session)?, tail).map_err(|error| failed(&error.to_string()))?;
        self.add(Terminal { session: session.id.clone(), command }).map(CreateTerminalResponse::new)
    }

    /// Returns the output so far, and the exit status once there is one.
    pub(in crate::client) fn output(&self, request: &TerminalOutputRequest) -> Result<Value, Error> {
        let terminal = self.find(&request.session_id, &request.terminal_id)?;
        // The status comes first: once there is one, the output is complete.
        let end = terminal.command.end();
        let (output, truncated) = lock(&terminal.command.tail).read();
        let mut result = json!({"output": output, "truncated": truncated});
        if let Some(end) = end {
            result["exitStatus"] = with_nulls(&end);
        }
        Ok(result)
    }

    /// Answers when the command has exited.
    pub(in crate::client) fn wait_for_exit(
        &self,
        request: &WaitForTerminalExitRequest,
        responder: Responder,
    ) -> Result<(), Error> {
        let terminal = match self.find(&request.session_id, &request.terminal_id) {
            Ok(terminal) => terminal,
            Err(error) => return responder.respond_with_error(error),
        };
        let (ended, given_up) = (terminal.command.ended(), responder.cancellation());
        tokio::spawn(async move {
            let end = tokio::select! {
                end = ended => end,
                () = given_up.cancelled() => return give_up(responder),
            };
            let status = end.map(|end| with_nulls(&end)).ok_or_else(|| not_found("the terminal was released"));
            // This fails only if the connection has ended.
            let _ = answer(responder, status);
        });
        Ok(())
    }

    /// Kills the command, keeps the terminal, and answers when the command has exited.
    pub(in crate::client) fn kill(&self, request: &KillTerminalRequest, responder: Responder) -> Result<(), Error> {
        let terminal = match self.find(&request.session_id, &request.terminal_id) {
            Ok(terminal) => terminal,
            Err(error) => return responder.respond_with_error(error),
        };
        tokio::spawn(async move {
            terminal.command.kill().await;
            // This fails only if the connection has ended.
            let _ = answer(responder, Ok(KillTerminalResponse::new()));
        });
        Ok(())
    }

    /// Kills the command and removes the terminal, whose id is unknown from now on.
    pub(in crate::client) fn release(
        &self,
        request: &ReleaseTerminalRequest,
        responder: Responder,
    ) -> Result<(), Error> {
        let terminal = match self.find(&request.session_id, &request.terminal_id) {
            Ok(terminal) => terminal,
            Err(error) => return responder.respond_with_error(error),
        };
        self.remove(&request.terminal_id);
        tokio::spawn(async move {
            terminal.command.kill().await;
            // This fails only if the connection has ended.
            let _ = answer(responder, Ok(ReleaseTerminalResponse::new()));
        });
        Ok(())
    }
}

fn command(request: &CreateTerminalRequest, session: &Session) -> Result<process::Command, Error> {
    let cwd = request.cwd.as_deref().unwrap_or(&session.cwd);
    if !cwd.is_absolute() {
        return Err(invalid("the cwd is not absolute"));
    }
    let is_variable = |name: &str| !name.is_empty() && !name.contains(['=', '\0']);
    if !request.env.iter().all(|variable| is_variable(&variable.name)) {
        return Err(invalid("the name of a variable is not possible"));
    }
    let mut command = process::Command::new(program(&request.command, cwd));
    let variables = request.env.iter().map(|variable| (&variable.name, &variable.value));
    command.args(&request.args).current_dir(cwd).envs(variables);
    Ok(command)
}

/// Resolves a relative path with a slash in the command's own directory.
fn program(command: &str, cwd: &Path) -> PathBuf {
    if command.contains('/') { cwd.join(command) } else { command.into() }
}

/// Writes a status with both members, as in the protocol's examples; the SDK omits null members.
fn with_nulls(status: &TerminalExitStatus) -> Value {
    json!({"exitCode": status.exit_code, "signal": status.signal})
}
