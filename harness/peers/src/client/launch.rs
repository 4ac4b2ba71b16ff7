//! The agent's program: started as the agent, and again for a login in a terminal. An agent behind a URL is dialled
//! instead.

use std::{
    io::{self, Write as _},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use futures::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite},
    process::Command,
    task::JoinHandle,
    time::timeout,
};
use tokio_util::task::AbortOnDropHandle;

use super::{agent_info::TerminalLogin, options::Options};
use crate::group::Group;

/// Time for the agent to exit after its input was closed.
const EXIT_LIMIT: Duration = Duration::from_secs(1);

/// Starts the agent.
pub trait Launcher: Send + Sync {
    /// Starts the agent; it inherits the client's stderr.
    ///
    /// # Errors
    ///
    /// The program cannot be started.
    fn start(&self) -> io::Result<(AgentProcess, Pipes)>;

    /// Runs a login in a terminal until it exits.
    ///
    /// The user is not logged in afterwards.
    fn log_in<'a>(&'a self, login: &'a TerminalLogin) -> BoxFuture<'a, io::Result<()>>;
}

/// The client's ends of the agent's pipes.
pub struct Pipes {
    /// The agent's stdin.
    pub to_agent: Box<dyn AsyncWrite + Send + Unpin>,
    /// The agent's stdout.
    pub from_agent: Box<dyn AsyncRead + Send + Unpin>,
}

/// The agent's program in the client's command line.
#[derive(Debug, Clone)]
pub struct AgentProgram {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Variables in addition to those of the client.
    pub env: Vec<(String, String)>,
}

impl AgentProgram {
    /// Returns the program that the options name.
    pub fn new(options: &Options) -> Self {
        Self { command: options.agent.clone(), env: options.env.clone() }
    }

    fn command(&self) -> Command {
        let (program, args) = self.command.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
        let mut command = Command::new(program);
        command.args(args).envs(self.env.iter().cloned());
        command
    }

    /// Returns the command of a login: that of the agent, with the additions of the login.
    pub fn login_command(&self, login: &TerminalLogin) -> Command {
        let mut command = self.command();
        command.args(&login.args).envs(&login.env).kill_on_drop(true);
        command
    }
}

impl Launcher for AgentProgram {
    fn start(&self) -> io::Result<(AgentProcess, Pipes)> {
        let mut group = Group::start(self.command().stdin(Stdio::piped()).stdout(Stdio::piped()))?;
        let to_agent = Box::new(group.child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?);
        let from_agent = Box::new(group.child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?);
        Ok((AgentProcess(Running::Here(group)), Pipes { to_agent, from_agent }))
    }

    fn log_in<'a>(&'a self, login: &'a TerminalLogin) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async {
            let status = run_in_terminal(self.login_command(login)).await?;
            if status.success() { Ok(()) } else { Err(io::Error::other(status.to_string())) }
        })
    }
}

/// Runs a command in a terminal of its own, and copies its output to stderr.
async fn run_in_terminal(command: Command) -> io::Result<ExitStatus> {
    let (mut terminal, screen) = pty_process::open().map_err(io::Error::other)?;
    terminal.resize(pty_process::Size::new(24, 80)).map_err(io::Error::other)?;
    let mut child = pty_process::Command::from(command).spawn(screen).map_err(io::Error::other)?;
    let mut piece = [0; 4096];
    // Reading fails once no process has the terminal open.
    while let Ok(n @ 1..) = terminal.read(&mut piece).await {
        // The user may have closed stderr.
        let _ = io::stderr().write_all(&piece[..n]);
    }
    child.wait().await
}

/// The running agent; dropping it kills its whole process group, or ends the connection to it.
#[derive(Debug)]
pub struct AgentProcess(Running);

#[derive(Debug)]
enum Running {
    Here(Group),
    /// The end of the connection to an agent behind a URL.
    Elsewhere(Shared<BoxFuture<'static, String>>),
}

impl AgentProcess {
    /// Returns an agent behind a URL, with the task that serves the connection to it.
    pub(super) fn dialled(connection: JoinHandle<Result<(), String>>) -> Self {
        let connection = AbortOnDropHandle::new(connection);
        let ended = connection.map(|ended| match ended {
            Ok(Ok(())) => "the connection ended".to_owned(),
            Ok(Err(reason)) => reason,
            Err(error) => error.to_string(),
        });
        Self(Running::Elsewhere(ended.boxed().shared()))
    }

    /// Waits for the exit of the agent, or the end of the connection to it; returns how it ended.
    pub(super) async fn exited(&mut self) -> Option<String> {
        match &mut self.0 {
            Running::Here(group) => group.child.wait().await.ok().map(|status| status.to_string()),
            Running::Elsewhere(ended) => Some(ended.clone().await),
        }
    }

    /// Gives the agent time to exit by itself, then kills the rest of its group.
    pub(super) async fn end(mut self) {
        let exited = timeout(EXIT_LIMIT, self.exited()).await;
        let Running::Here(group) = &self.0 else { return };
        group.kill();
        if exited.is_err() {
            // This reaps the killed process.
            let _ = timeout(EXIT_LIMIT, self.exited()).await;
        }
    }
}
