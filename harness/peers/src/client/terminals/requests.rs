//! The requests about terminals.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
};

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
    registry::Terminal,
    tail::{DEFAULT_LIMIT, Sloppiness, Tail},
};
use crate::client::{
    Fault, question,
    serve::answer,
    session::Session,
    state::{Client, failed, invalid, lock, not_found},
};

/// Starts a command and answers at once.
pub(in crate::client) fn create(
    client: &Arc<Client>,
    request: CreateTerminalRequest,
    responder: Responder,
) -> Result<(), Error> {
    let terminal = match start(client, &request) {
        Ok(terminal) => Arc::new(terminal),
        Err(error) => return responder.respond_with_error(error),
    };
    let ended = terminal.command.ended();
    let created = client.terminals.add(client, terminal).map(CreateTerminalResponse::new);
    if !client.commits(Fault::CreateWaits) {
        return answer(responder, created);
    }
    tokio::spawn(async move {
        ended.await;
        // Fails only when the connection has ended.
        let _ = answer(responder, created);
    });
    Ok(())
}

/// Answers with the output so far.
pub(in crate::client) fn output(
    client: &Arc<Client>,
    request: &TerminalOutputRequest,
    responder: Responder,
) -> Result<(), Error> {
    let terminal = match client.terminals.find(&request.session_id, &request.terminal_id) {
        Ok(terminal) => terminal,
        Err(_) if client.commits(Fault::UnknownTerminalServed) => {
            return answer(responder, Ok(json!({"output": "", "truncated": false})));
        }
        Err(error) => return responder.respond_with_error(error),
    };
    if client.commits(Fault::OutputWaits) {
        let client = Arc::clone(client);
        tokio::spawn(async move {
            terminal.command.ended().await;
            // Fails only when the connection has ended.
            let _ = answer(responder, Ok(captured(&client, &terminal)));
        });
        return Ok(());
    }
    answer(responder, Ok(captured(client, &terminal)))
}

/// Answers when the command has ended.
pub(in crate::client) fn wait_for_exit(
    client: &Arc<Client>,
    request: &WaitForTerminalExitRequest,
    responder: Responder,
) -> Result<(), Error> {
    let terminal = match client.terminals.find(&request.session_id, &request.terminal_id) {
        Ok(terminal) => terminal,
        Err(error) => return responder.respond_with_error(error),
    };
    if client.commits(Fault::WaitAnswersAtOnce) {
        return answer(responder, Ok(told(&TerminalExitStatus::new())));
    }
    if client.commits(Fault::WaitAfterExitHangs) && terminal.command.end().is_some() {
        question::lose(client, responder);
        return Ok(());
    }
    let ended = terminal.command.ended();
    let (client, given_up) = (Arc::clone(client), responder.cancellation());
    tokio::spawn(async move {
        let end = tokio::select! {
            end = ended => end,
            () = given_up.cancelled() => return question::give_up(&client, responder),
        };
        let was_killed = terminal.was_killed.load(Ordering::Relaxed) && client.commits(Fault::KillLeavesWait);
        let was_released = terminal.was_released.load(Ordering::Relaxed) && client.commits(Fault::ReleaseDropsWaiter);
        if was_killed || was_released {
            return question::lose(&client, responder);
        }
        let status = end.map(|end| told(&reported(&client, end)));
        // Fails only when the connection has ended.
        let _ = answer(responder, status.ok_or_else(|| not_found("the terminal was released")));
    });
    Ok(())
}

/// Ends the command, keeps the terminal, and answers when the command has ended.
pub(in crate::client) fn kill(
    client: &Arc<Client>,
    request: &KillTerminalRequest,
    responder: Responder,
) -> Result<(), Error> {
    let terminal = match client.terminals.find(&request.session_id, &request.terminal_id) {
        Ok(terminal) => terminal,
        Err(error) => return responder.respond_with_error(error),
    };
    if client.commits(Fault::KillIgnored) {
        return answer(responder, Ok(KillTerminalResponse::new()));
    }
    if client.commits(Fault::KillRemoves) {
        client.terminals.remove(&request.terminal_id);
    }
    terminal.was_killed.store(true, Ordering::Relaxed);
    tokio::spawn(async move {
        terminal.command.kill().await;
        // Fails only when the connection has ended.
        let _ = answer(responder, Ok(KillTerminalResponse::new()));
    });
    Ok(())
}

/// Ends the command and forgets the terminal, whose id is unknown from here on.
pub(in crate::client) fn release(
    client: &Arc<Client>,
    request: &ReleaseTerminalRequest,
    responder: Responder,
) -> Result<(), Error> {
    let terminal = match client.terminals.find(&request.session_id, &request.terminal_id) {
        Ok(terminal) => terminal,
        Err(error) => return responder.respond_with_error(error),
    };
    if !client.commits(Fault::ReleasedStillServed) {
        client.terminals.remove(&request.terminal_id);
    }
    if client.commits(Fault::ReleaseLeavesProcess) {
        client.terminals.keep(terminal);
        return answer(responder, Ok(ReleaseTerminalResponse::new()));
    }
    terminal.was_released.store(true, Ordering::Relaxed);
    tokio::spawn(async move {
        terminal.command.kill().await;
        // Fails only when the connection has ended.
        let _ = answer(responder, Ok(ReleaseTerminalResponse::new()));
    });
    Ok(())
}

fn start(client: &Client, request: &CreateTerminalRequest) -> Result<Terminal, Error> {
    let session = client.served_session(&request.session_id)?;
    let command = command(client, request, &session)?;
    let asked = request.output_byte_limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let sloppiness = Sloppiness {
        cuts_characters: client.commits(Fault::CutInsideCharacter),
        keeps_head: client.commits(Fault::OutputHeadKept),
        counts_characters: client.commits(Fault::LimitCountsCharacters),
        denies_truncation: client.commits(Fault::TruncatedDenied),
        loses_last_chunk: client.commits(Fault::LastChunkLost),
    };
    let tail = Tail::new(asked.unwrap_or(DEFAULT_LIMIT), sloppiness);
    let command = Command::start(command, tail).map_err(|error| failed(&error.to_string()))?;
    Ok(Terminal { session: session.id.clone(), command, was_killed: false.into(), was_released: false.into() })
}

fn command(client: &Client, request: &CreateTerminalRequest, session: &Session) -> Result<process::Command, Error> {
    let cwd = request.cwd.as_deref().filter(|_| !client.commits(Fault::TerminalCwdIgnored));
    let cwd = cwd.unwrap_or(&session.cwd);
    if !cwd.is_absolute() {
        return Err(invalid("the cwd is not absolute"));
    }
    let is_variable = |name: &str| !name.is_empty() && !name.contains(['=', '\0']);
    if !request.env.iter().all(|variable| is_variable(&variable.name)) {
        return Err(invalid("the name of a variable is not possible"));
    }
    let mut command = if client.commits(Fault::ArgsJoined) {
        let mut shell = process::Command::new("sh");
        shell.arg("-c").arg([std::slice::from_ref(&request.command), &request.args].concat().join(" "));
        shell
    } else {
        let mut command = process::Command::new(program(&request.command, cwd));
        command.args(&request.args);
        command
    };
    command.current_dir(cwd);
    if !client.commits(Fault::EnvIgnored) {
        command.envs(request.env.iter().map(|variable| (&variable.name, &variable.value)));
    }
    Ok(command)
}

/// Makes a relative path with a slash mean what it means in the command's own directory.
fn program(command: &str, cwd: &Path) -> PathBuf {
    if command.contains('/') { cwd.join(command) } else { command.into() }
}

fn captured(client: &Client, terminal: &Terminal) -> Value {
    // Asked first: once an end is told, the output is complete.
    let end = terminal.command.end();
    let mut tail = lock(&terminal.command.tail);
    let (output, truncated) = tail.read();
    if client.commits(Fault::OutputForgotten) {
        tail.clear();
    }
    let mut result = json!({"output": output, "truncated": truncated});
    if let Some(end) = end {
        result["exitStatus"] = told(&reported(client, end));
    }
    result
}

/// Writes a status with both members, as the protocol shows it; the SDK leaves out what is null.
fn told(status: &TerminalExitStatus) -> Value {
    json!({"exitCode": status.exit_code, "signal": status.signal})
}

/// Returns the status as the client tells it.
fn reported(client: &Client, mut status: TerminalExitStatus) -> TerminalExitStatus {
    if client.commits(Fault::ExitCodeOne) && status.exit_code.is_some_and(|code| code > 0) {
        status.exit_code = Some(1);
    }
    if client.commits(Fault::SignalHidden) && status.signal.take().is_some() {
        status.exit_code = Some(0);
    }
    status
}
