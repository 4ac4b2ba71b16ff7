//! Running commands, in a terminal of the client if it has terminals.

use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::{
    CreateTerminalRequest, EnvVariable, KillTerminalRequest, ReleaseTerminalRequest, Terminal, TerminalExitStatus,
    TerminalId, TerminalOutputRequest, ToolCallContent, ToolCallUpdateFields, ToolKind, WaitForTerminalExitRequest,
};
use serde_json::json;

use super::{
    intent::RunCommand,
    permission::{self, Answer},
    process::{self, Ran},
    reply::describe,
    tool::{Tool, text_content},
    turn::{Cancelled, Turn},
};

/// Runs a command, with permission unless the intent skips it.
pub(super) async fn run(turn: &Turn, intent: RunCommand) -> Result<(), Cancelled> {
    let title = [std::slice::from_ref(&intent.command), &intent.args].concat().join(" ");
    let cwd = turn.session.resolve(intent.cwd.as_deref().unwrap_or(Path::new("")));
    let tool = turn.announce(&title, ToolKind::Execute, |call| {
        call.raw_input(json!({"command": intent.command, "args": intent.args, "cwd": cwd}))
    });
    let answer = if intent.ask { permission::ask(turn, &tool).await? } else { Answer::Allowed };
    if answer != Answer::Allowed {
        permission::refuse(turn, tool, answer);
        return Ok(());
    }
    match execute(turn, &tool, &intent, &cwd).await? {
        Ok((ran, is_embedded)) => {
            let output = json!({"exitCode": ran.code, "signal": ran.signal, "output": ran.output});
            // Content of the update would replace the embedded terminal.
            let content = (!is_embedded).then(|| text_content(&ran.output));
            if ran.has_failed() && !intent.kill {
                tool.fail_with(content, output);
            } else {
                tool.complete(content, output);
            }
            turn.say(&format!("The command printed:\n{}", ran.output));
        }
        Err(problem) => {
            tool.fail(&problem);
            turn.say(&format!("The command could not be run: {problem}"));
        }
    }
    Ok(())
}

/// Executes the command; the flag tells whether a terminal is embedded in the tool call.
async fn execute(
    turn: &Turn,
    tool: &Tool<'_>,
    intent: &RunCommand,
    cwd: &Path,
) -> Result<Result<(Ran, bool), String>, Cancelled> {
    if turn.client.capabilities().has_terminals {
        let ran = in_terminal(turn, tool, intent, cwd.to_owned()).await?;
        return Ok(ran.map(|ran| (ran, true)));
    }
    tool.begin();
    let ran = turn.unless_cancelled(process::run(intent, cwd)).await?;
    Ok(ran.map(|ran| (ran, false)))
}

async fn in_terminal(
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
    let embedded = vec![ToolCallContent::Terminal(Terminal::new(terminal.clone()))];
    tool.begin_with(ToolCallUpdateFields::new().content(embedded));
    let used = watch(turn, intent.kill, &terminal).await;
    release(turn, &terminal).await;
    used
}

/// Lets the command exit, or kills it, and reads its output.
async fn watch(turn: &Turn, kill: bool, terminal: &TerminalId) -> Result<Result<Ran, String>, Cancelled> {
    let session = &turn.session.id;
    let ended = if kill {
        let kill = KillTerminalRequest::new(session.clone(), terminal.clone());
        turn.request(kill).await?.map(|_| TerminalExitStatus::new())
    } else {
        let wait = WaitForTerminalExitRequest::new(session.clone(), terminal.clone());
        turn.request(wait).await?.map(|response| response.exit_status)
    };
    let status = match ended {
        Ok(status) => status,
        Err(error) => return Ok(Err(describe(&error))),
    };
    let output = turn.request(TerminalOutputRequest::new(session.clone(), terminal.clone())).await?;
    let ran = output.map(|output| Ran { output: output.output, code: status.exit_code, signal: status.signal });
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
