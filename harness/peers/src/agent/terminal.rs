//! Commands: in a terminal of the client if it offers that, else in a process of the agent.
//!
//! In version 2 the process has a terminal of the agent, which the client shows.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde_json::json;
use tokio::sync::Notify;

use super::{
    intent::RunCommand,
    permission::{self, Answer},
    process::{self, Ran},
    session::Session,
    tool::Tool,
    turn::{Cancelled, Turn},
    update::{Status, ToolBegins, ToolCall, Update, Work},
    v1::tools as client_tools,
};
use crate::sync::lock;

/// Runs a command, with permission unless the intent skips it.
pub(super) async fn run(turn: &Turn, intent: RunCommand) -> Result<(), Cancelled> {
    let Some((tool, cwd)) = announce(turn, &intent).await? else { return Ok(()) };
    let mut is_cancelled = false;
    let (ran, is_shown) = if turn.client.capabilities().has_terminals {
        (client_tools::run(turn, &tool, &intent, cwd).await?, true)
    } else if turn.client.is_v2() {
        let terminal = Shown::open(&turn.session, &tool, &intent, &cwd);
        let cancel = tool.begin_cancellable(terminal.id.clone());
        let stop = async {
            tokio::select! {
                () = turn.cancelled() => {}
                () = cancel.notified() => is_cancelled = true,
                () = terminal.stop.notified() => {}
            }
        };
        (terminal.run(&intent, &cwd, stop).await, true)
    } else {
        tool.begin();
        (process::run(&intent, &cwd, turn.cancelled(), &Mutex::default(), |_| {}).await, false)
    };
    turn.check()?;
    match ran {
        Ok(ran) => {
            let status = match ran.has_failed() && !intent.kill {
                _ if is_cancelled => Status::Cancelled,
                true => Status::Failed,
                false => Status::Completed,
            };
            // A text would replace the terminal.
            let text = (!is_shown).then_some(&*ran.output);
            let output = json!({"exitCode": ran.code, "signal": ran.signal, "output": ran.output});
            tool.end(status, text, Some(output));
            turn.say(&format!("The command printed:\n{}", ran.output));
        }
        Err(problem) => {
            tool.fail(&problem);
            turn.say(&format!("The command could not be run: {problem}"));
        }
    }
    Ok(())
}

/// Starts a command that continues after the turn; only version 2 can report it.
pub(super) async fn run_in_background(turn: &Turn, intent: RunCommand) -> Result<(), Cancelled> {
    if !turn.client.is_v2() {
        turn.say("Version 1 of the protocol cannot express that.");
        return Ok(());
    }
    let Some((tool, cwd)) = announce(turn, &intent).await? else { return Ok(()) };
    let shown = Shown::open(&turn.session, &tool, &intent, &cwd);
    tool.begin_with(ToolBegins { terminal: Some(shown.id.clone()), ..ToolBegins::default() });
    let work = Work::Terminal(shown.id.clone());
    turn.session.change_state(|state| state.background.push(work.clone()), None);
    let session = Arc::clone(&turn.session);
    turn.session.run_in_background(async move {
        let stop = Arc::clone(&shown.stop);
        // The terminal shows the result.
        let _ = shown.run(&intent, &cwd, stop.notified()).await;
        session.change_state(|state| state.background.retain(|other| *other != work), None);
    });
    tool.complete(None, json!({"background": true}));
    turn.say("The command runs in the background.");
    Ok(())
}

/// Announces the command and asks for permission; returns `None` if the user did not allow it.
async fn announce<'turn>(turn: &'turn Turn, intent: &RunCommand) -> Result<Option<(Tool<'turn>, PathBuf)>, Cancelled> {
    let cwd = turn.session.resolve(intent.cwd.as_deref().unwrap_or(Path::new("")));
    let tool = turn.announce(ToolCall {
        input: Some(json!({"command": intent.command, "args": intent.args, "cwd": cwd})),
        ..ToolCall::new("run_command", &line(intent), "execute")
    });
    if intent.ask {
        let answer = permission::ask(turn, &tool, "Run a command", Some((line(intent), cwd.clone()))).await?;
        if answer != Answer::Allowed {
            permission::refuse(turn, tool, answer);
            return Ok(None);
        }
    }
    Ok(Some((tool, cwd)))
}

fn line(intent: &RunCommand) -> String {
    [std::slice::from_ref(&intent.command), &intent.args].concat().join(" ")
}

/// A terminal of the agent that the client shows and may cancel.
struct Shown {
    session: Arc<Session>,
    id: String,
    /// Notified when the client cancels the terminal.
    stop: Arc<Notify>,
}

impl Shown {
    /// Shows a terminal for the command of a tool call.
    fn open(session: &Arc<Session>, tool: &Tool<'_>, intent: &RunCommand, cwd: &Path) -> Self {
        let id = format!("terminal-of-{}", tool.id);
        let stop = session.terminals.offer(&id);
        session.update(Update::TerminalOpens(id.clone(), line(intent), cwd.to_owned()));
        Self { session: Arc::clone(session), id, stop }
    }

    /// Runs the command to its end, or kills it on a stop, and shows its output and its end.
    async fn run(&self, intent: &RunCommand, cwd: &Path, stop: impl Future<Output = ()>) -> Result<Ran, String> {
        let output = Mutex::default();
        let show = |bytes: &[u8]| {
            self.session.update(Update::TerminalOutput(self.id.clone(), BASE64.encode(bytes)));
        };
        let ran = process::run(intent, cwd, stop, &output, show).await;
        self.session.terminals.withdraw(&self.id);
        let (code, signal) = ran.as_ref().map_or((None, None), |ran| (ran.code, ran.signal.clone()));
        let output = BASE64.encode(&*lock(&output));
        self.session.update(Update::TerminalEnds(self.id.clone(), output, code, signal));
        ran
    }
}
