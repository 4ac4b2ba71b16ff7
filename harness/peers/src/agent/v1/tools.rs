//! The files and terminals of the client, which only version 1 has.

use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::{
    CreateTerminalRequest, EnvVariable, KillTerminalRequest, ReadTextFileRequest, ReleaseTerminalRequest,
    TerminalExitStatus, TerminalId, TerminalOutputRequest, WaitForTerminalExitRequest, WriteTextFileRequest,
};

use crate::agent::{
    errors::describe,
    intent::RunCommand,
    process::Ran,
    tool::Tool,
    turn::{Cancelled, Turn},
    update::ToolBegins,
};

/// Reads a file, or a part of it.
pub(in crate::agent) async fn read_file(
    turn: &Turn,
    path: &Path,
    line: Option<u32>,
    limit: Option<u32>,
) -> Result<Result<String, String>, Cancelled> {
    let request = ReadTextFileRequest::new(turn.session.id.clone(), path).line(line).limit(limit);
    let response = turn.request(Ok(request)).await?;
    Ok(response.map(|response| response.content).map_err(|error| describe(&error)))
}

/// Writes a file as a whole.
pub(in crate::agent) async fn write_file(
    turn: &Turn,
    path: &Path,
    content: &str,
) -> Result<Result<(), String>, Cancelled> {
    let request = WriteTextFileRequest::new(turn.session.id.clone(), path, content);
    Ok(turn.request(Ok(request)).await?.map(|_| ()).map_err(|error| describe(&error)))
}

/// Runs the command of a tool call in a terminal, which the tool call embeds.
pub(in crate::agent) async fn run(
    turn: &Turn,
    tool: &Tool<'_>,
    intent: &RunCommand,
    cwd: PathBuf,
) -> Result<Result<Ran, String>, Cancelled> {
    turn.check()?;
    let env = intent.env.iter().map(|(name, value)| EnvVariable::new(name, value)).collect();
    let request = CreateTerminalRequest::new(turn.session.id.clone(), &intent.command)
        .args(intent.args.clone())
        .env(env)
        .cwd(cwd)
        .output_byte_limit(intent.byte_limit);
    // A terminal that was created despite a cancel must still be released.
    let terminal = match turn.request_to_end(request).await {
        Some(Ok(response)) => response.terminal_id,
        Some(Err(error)) => return Ok(Err(describe(&error))),
        None => return Err(Cancelled),
    };
    tool.begin_with(ToolBegins { terminal: Some(terminal.to_string()), ..ToolBegins::default() });
    let used = watch(turn, intent.kill, &terminal).await;
    release(turn, &terminal).await;
    used
}

/// Lets the command exit, or kills it, and reads its output.
async fn watch(turn: &Turn, kill: bool, terminal: &TerminalId) -> Result<Result<Ran, String>, Cancelled> {
    let session = &turn.session.id;
    let ended = if kill {
        let kill = KillTerminalRequest::new(session.clone(), terminal.clone());
        turn.request(Ok(kill)).await?.map(|_| TerminalExitStatus::new())
    } else {
        let wait = WaitForTerminalExitRequest::new(session.clone(), terminal.clone());
        turn.request(Ok(wait)).await?.map(|response| response.exit_status)
    };
    let status = match ended {
        Ok(status) => status,
        Err(error) => return Ok(Err(describe(&error))),
    };
    let output = turn.request(Ok(TerminalOutputRequest::new(session.clone(), terminal.clone()))).await?;
    let code = status.exit_code.map(i64::from);
    let ran = output.map(|output| Ran { output: output.output, code, signal: status.signal });
    Ok(ran.map_err(|error| describe(&error)))
}

/// Releases the terminal, even after a cancel, and does not depend on the answer.
async fn release(turn: &Turn, terminal: &TerminalId) {
    let release = ReleaseTerminalRequest::new(turn.session.id.clone(), terminal.clone());
    let sent = turn.client.connection.send_request(release);
    if turn.is_cancelled() {
        sent.detach();
        return;
    }
    // If the client no longer knows the terminal, it is already released.
    let _ = sent.block_task().await;
}
