//! The start of the agent by a client with faults: with layers in its pipes, or with a login that goes wrong.

use std::{
    fs::File,
    io,
    os::fd::AsFd as _,
    process::{ExitStatus, Stdio},
    thread,
};

use futures::{StreamExt as _, channel::mpsc, future::BoxFuture};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    process::Command,
};

use acp_conformance_peers::client::{AgentProcess, AgentProgram, Dialer, Launcher, Options, Pipes, TerminalLogin};

use crate::{
    layer::{Layer, Onward},
    layered::{Faults, Launch},
    relay::{self, Relay},
};

/// Larger than most messages.
const BUFFER: usize = 64 * 1024;

/// A line that replaces one that was not UTF-8.
const NOT_UTF_8: &[u8] = b"\xff\n";

/// Starts the agent with faults, or dials it.
pub(crate) struct FaultyLauncher {
    program: AgentProgram,
    dialer: Option<Dialer>,
    faults: Faults,
}

impl FaultyLauncher {
    pub(crate) fn new(options: &Options, faults: Faults) -> Self {
        let dialer = options.url.clone().map(|url| Dialer::new(url, faults.dial_rules()));
        Self { program: AgentProgram::new(options), dialer, faults }
    }

    /// Prepares the client before it starts.
    pub(crate) fn prepare(&self) -> io::Result<()> {
        if self.commits(Launch::Lingers) { hold_input_open() } else { Ok(()) }
    }

    fn commits(&self, launch: Launch) -> bool {
        self.faults.launches(launch)
    }

    fn login_command(&self, login: &TerminalLogin) -> Command {
        let mut program = self.program.clone();
        if self.commits(Launch::LoginArgsReplaced) {
            program.command.truncate(1);
        }
        let mut login = login.clone();
        if self.commits(Launch::LoginEnvLoses) {
            login.env.extend(program.env.iter().cloned());
        }
        if self.commits(Launch::LoginBare) {
            program.env.clear();
        }
        program.login_command(&login)
    }

    async fn run_login(&self, login: &TerminalLogin) -> io::Result<()> {
        let command = self.login_command(login);
        let message = self.commits(Launch::LoginAddressed).then(|| {
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}).to_string()
        });
        let (printed, status) = match self.commits(Launch::LoginPiped) {
            true => in_pipes(command).await?,
            false => in_terminal(command, message).await?,
        };
        let says_so = || String::from_utf8_lossy(&printed).to_lowercase().contains("login successful");
        let succeeds = status.success()
            || self.commits(Launch::LoginAlwaysSucceeds)
            || self.commits(Launch::LoginKilledSucceeds) && status.code().is_none()
            || self.commits(Launch::LoginWordsSucceed) && says_so();
        if succeeds { Ok(()) } else { Err(io::Error::other(status.to_string())) }
    }
}

/// Replaces standard input by a pipe that carries the same bytes and has no end.
fn hold_input_open() -> io::Result<()> {
    let (reader, mut writer) = io::pipe()?;
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    rustix::stdio::dup2_stdin(&reader)?;
    thread::spawn(move || {
        // The writer stays open, so the client waits for more without success.
        let _ = io::copy(&mut input, &mut writer);
        loop {
            thread::park();
        }
    });
    Ok(())
}

type Ended = (Vec<u8>, ExitStatus);

async fn in_pipes(mut command: Command) -> io::Result<Ended> {
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let output = child.wait_with_output().await?;
    Ok((output.stdout, output.status))
}

async fn in_terminal(command: Command, message: Option<String>) -> io::Result<Ended> {
    let (mut terminal, screen) = pty_process::open().map_err(io::Error::other)?;
    let mut child = pty_process::Command::from(command).spawn(screen).map_err(io::Error::other)?;
    if let Some(message) = message {
        terminal.write_all(format!("{message}\n").as_bytes()).await?;
    }
    let mut printed = Vec::new();
    // Reading fails once no process has the terminal open.
    let _ = terminal.read_to_end(&mut printed).await;
    Ok((printed, child.wait().await?))
}

impl Launcher for FaultyLauncher {
    fn start(&self) -> io::Result<(AgentProcess, Pipes)> {
        let mut program = self.program.clone();
        if self.commits(Launch::StderrMerged) {
            let shell = ["sh", "-c", r#"exec "$0" "$@" 2>&1"#].map(str::to_owned);
            program.command.splice(0..0, shell);
        }
        let (process, pipes) = match &self.dialer {
            Some(dialer) => dialer.start()?,
            None => program.start()?,
        };
        Ok((process, self.relayed(pipes)))
    }

    fn log_in<'a>(&'a self, login: &'a TerminalLogin) -> BoxFuture<'a, io::Result<()>> {
        match &self.dialer {
            Some(dialer) => dialer.log_in(login),
            None => Box::pin(self.run_login(login)),
        }
    }
}

impl FaultyLauncher {
    /// Puts the faults between the agent and the client.
    fn relayed(&self, agent: Pipes) -> Pipes {
        let (to_client, incoming) = mpsc::unbounded();
        let (outgoing, from_client) = mpsc::unbounded();
        let (to_agent, lines) = mpsc::unbounded();
        let mut relay = Relay::new(&self.faults, to_client, to_agent);
        if self.commits(Launch::LoginKeepsConnection) {
            relay.add(Box::new(KeepConnection::new(self.program.clone())));
        }
        tokio::spawn(relay.run(agent.from_agent, from_client));
        tokio::spawn(relay::write(agent.to_agent, lines));
        let (client_reads, own) = tokio::io::duplex(BUFFER);
        let bytes =
            |line: io::Result<String>| line.map_or_else(|_| NOT_UTF_8.to_vec(), |line| format!("{line}\n").into());
        tokio::spawn(relay::write(own, incoming.map(bytes)));
        let (client_writes, own) = tokio::io::duplex(BUFFER);
        tokio::spawn(async move {
            let mut lines = BufReader::new(own).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                if outgoing.unbounded_send(line).is_err() {
                    return;
                }
            }
        });
        Pipes { to_agent: Box::new(client_writes), from_agent: Box::new(client_reads) }
    }
}

/// Logs in by itself when `session/new` needs it, and repeats the request on the same connection.
struct KeepConnection {
    program: AgentProgram,
    login: Option<TerminalLogin>,
}

impl KeepConnection {
    fn new(program: AgentProgram) -> Self {
        Self { program, login: None }
    }

    /// Runs the login while the rest of the client waits.
    fn log_in(&self, login: &TerminalLogin) -> bool {
        let command = self.program.login_command(login);
        let run = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(in_terminal(command, None))
        };
        let ended = thread::scope(|scope| scope.spawn(run).join());
        matches!(ended, Ok(Ok((_, status))) if status.success())
    }
}

impl Layer for KeepConnection {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        let mut methods = message.pointer("/result/authMethods").and_then(Value::as_array).into_iter().flatten();
        if let Some(method) = methods.find(|method| method["type"] == "terminal") {
            self.login = Some(TerminalLogin::read(method));
        }
        let asked = onward.answers("session/new").filter(|_| message["error"]["code"] == -32000);
        match (asked, &self.login) {
            (Some(asked), Some(login)) if self.log_in(login) => onward.outward(asked),
            _ => onward.inward(message),
        }
    }
}
