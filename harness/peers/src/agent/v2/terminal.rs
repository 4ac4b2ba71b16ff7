//! Commands. They run in terminals of the agent, which the client only shows.

use std::{
    os::unix::process::ExitStatusExt as _,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex},
    time::Duration,
};

use agent_client_protocol::{
    schema::MaybeUndefined,
    v2::schema::{
        AbsolutePath, CommandPermissionSubject, RequestPermissionSubject, SessionUpdate, Terminal,
        TerminalCancelCapabilities, TerminalCapabilities, TerminalExitStatus, TerminalId, TerminalOutput,
        TerminalOutputChunk, TerminalUpdate, ToolCallContent, ToolCallStatus, ToolKind,
    },
};
use serde_json::json;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::Command,
    sync::Notify,
    time::timeout,
};

use super::{base64, client::Client, permission, session::Session, tool::Tool, turn::Turn};
use crate::{
    agent::{intent::RunCommand, permission::Answer, sync::lock, turn::Cancelled},
    group::Group,
};

/// Time that the output of a killed command gets to end; a process that left its group may hold it.
const LAST_OUTPUT: Duration = Duration::from_millis(500);

/// Runs a command, with permission unless the intent says otherwise.
pub(super) async fn run(turn: &Turn, intent: RunCommand) -> Result<(), Cancelled> {
    let Some((tool, cwd)) = announce(turn, &intent).await? else { return Ok(()) };
    let shown = Shown::open(&turn.client, &turn.session, &tool, &intent, &cwd);
    let cancel = tool.begin_cancellable(shown.as_content());
    let mut is_cancelled = false;
    let stop = async {
        tokio::select! {
            () = turn.cancelled() => {}
            () = cancel.notified() => is_cancelled = true,
            () = shown.stop.notified() => {}
        }
    };
    let ran = shown.run(&intent, &cwd, stop).await;
    turn.check()?;
    match ran {
        Ok((output, status)) => {
            let result =
                json!({"exitCode": status.code(), "signal": status.signal().map(signal_name), "output": output});
            let end = match status.success() || intent.kill {
                _ if is_cancelled => ToolCallStatus::Cancelled,
                true => ToolCallStatus::Completed,
                false => ToolCallStatus::Failed,
            };
            tool.end(end, result);
            turn.say(&format!("The command printed:\n{output}"));
        }
        Err(problem) => {
            tool.fail(&problem);
            turn.say(&format!("The command could not be run: {problem}"));
        }
    }
    Ok(())
}

/// Starts a command that continues after the turn.
pub(super) async fn run_in_background(turn: &Turn, intent: RunCommand) -> Result<(), Cancelled> {
    let Some((tool, cwd)) = announce(turn, &intent).await? else { return Ok(()) };
    let shown = Shown::open(&turn.client, &turn.session, &tool, &intent, &cwd);
    tool.begin_with(|update| update.content(vec![shown.as_content()]));
    turn.session.change_state(|state| state.background.push(shown.id.clone()), None);
    let session = Arc::clone(&turn.session);
    turn.session.run_in_background(async move {
        let stop = Arc::clone(&shown.stop);
        // The terminal shows the result.
        let _ = shown.run(&intent, &cwd, stop.notified()).await;
        session.change_state(|state| state.background.retain(|id| *id != shown.id), None);
    });
    tool.complete(json!({"background": true}));
    turn.say("The command runs in the background.");
    Ok(())
}

/// Announces the command and asks for permission; returns `None` if the user did not allow it.
async fn announce<'turn>(turn: &'turn Turn, intent: &RunCommand) -> Result<Option<(Tool<'turn>, PathBuf)>, Cancelled> {
    let title = line(intent);
    let cwd = turn.session.resolve(intent.cwd.as_deref().unwrap_or(Path::new("")));
    let tool = turn.announce("run_command", &title, ToolKind::Execute, |call| {
        call.raw_input(json!({"command": intent.command, "args": intent.args, "cwd": cwd}))
    });
    let subject = CommandPermissionSubject::new(&title, AbsolutePath::new(&cwd)).tool_call_id(tool.id.clone());
    let subject = RequestPermissionSubject::Command(subject);
    let answer =
        if intent.ask { permission::ask(turn, &tool, "Run a command", subject).await? } else { Answer::Allowed };
    if answer != Answer::Allowed {
        permission::refuse(turn, tool, answer);
        return Ok(None);
    }
    Ok(Some((tool, cwd)))
}

fn line(intent: &RunCommand) -> String {
    [std::slice::from_ref(&intent.command), &intent.args].concat().join(" ")
}

/// A terminal that the client shows.
struct Shown {
    client: Arc<Client>,
    session: Arc<Session>,
    id: TerminalId,
    /// Notified when the client cancels the terminal.
    stop: Arc<Notify>,
}

impl Shown {
    /// Shows a terminal for the command of a tool call, which the client may cancel.
    fn open(client: &Arc<Client>, session: &Arc<Session>, tool: &Tool<'_>, intent: &RunCommand, cwd: &Path) -> Self {
        let id = TerminalId::new(format!("terminal-of-{}", tool.id.0));
        let stop = session.terminals.offer(&id.0);
        let capabilities = TerminalCapabilities::new().cancel(TerminalCancelCapabilities::new());
        let update = TerminalUpdate::new(id.clone())
            .command(line(intent))
            .cwd(AbsolutePath::new(cwd))
            .capabilities(capabilities);
        session.update(SessionUpdate::TerminalUpdate(update));
        Self { client: Arc::clone(client), session: Arc::clone(session), id, stop }
    }

    fn as_content(&self) -> ToolCallContent {
        ToolCallContent::Terminal(Terminal::new(self.id.clone()))
    }

    /// Runs the command to its end, or kills it on a stop, and shows its output and its end.
    async fn run(
        &self,
        intent: &RunCommand,
        cwd: &Path,
        stop: impl Future<Output = ()>,
    ) -> Result<(String, ExitStatus), String> {
        let mut output = Vec::new();
        let ran = self.execute(intent, cwd, stop, &mut output).await;
        self.session.terminals.withdraw(&self.id.0);
        let status = ran.as_ref().ok().map_or_else(TerminalExitStatus::new, |status| {
            TerminalExitStatus::new().exit_code(status.code().map(i64::from)).signal(status.signal().map(signal_name))
        });
        let end = TerminalUpdate::new(self.id.clone())
            .output(TerminalOutput::new(base64::encode(&output)))
            .exit_status(status)
            .capabilities(MaybeUndefined::Null);
        self.session.update(SessionUpdate::TerminalUpdate(end));
        Ok((String::from_utf8_lossy(&output).into_owned(), ran?))
    }

    async fn execute(
        &self,
        intent: &RunCommand,
        cwd: &Path,
        stop: impl Future<Output = ()>,
        output: &mut Vec<u8>,
    ) -> Result<ExitStatus, String> {
        let mut command = Command::new(&intent.command);
        command.args(&intent.args).envs(&intent.env).current_dir(cwd);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut group = Group::start(&mut command).map_err(|error| error.to_string())?;
        if intent.kill {
            group.kill();
        }
        let (stdout, stderr) = (group.child.stdout.take(), group.child.stderr.take());
        let output = Mutex::new(output);
        let mut read = std::pin::pin!(async { tokio::join!(self.show(stdout, &output), self.show(stderr, &output)) });
        tokio::select! {
            _ = &mut read => {}
            () = stop => {
                group.kill();
                let _ = timeout(LAST_OUTPUT, read).await;
            }
        }
        group.child.wait().await.map_err(|error| error.to_string())
    }

    /// Shows the output of a pipe as it comes.
    async fn show(&self, pipe: Option<impl AsyncRead + Unpin>, output: &Mutex<&mut Vec<u8>>) {
        let Some(mut pipe) = pipe else { return };
        let mut buffer = [0; 4096];
        while let Ok(n_bytes @ 1..) = pipe.read(&mut buffer).await {
            let bytes = &buffer[..n_bytes];
            lock(output).extend_from_slice(bytes);
            let chunk = TerminalOutputChunk::new(self.id.clone(), base64::encode(bytes));
            self.client.update(&self.session.id, SessionUpdate::TerminalOutputChunk(chunk));
        }
    }
}

/// Returns the conventional name of a signal, or its number if it is a rare one.
fn signal_name(signal: i32) -> String {
    match signal {
        2 => "SIGINT".to_owned(),
        9 => "SIGKILL".to_owned(),
        15 => "SIGTERM".to_owned(),
        other => other.to_string(),
    }
}
