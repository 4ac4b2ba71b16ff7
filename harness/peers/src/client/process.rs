//! The agent's process.

use std::{
    fs::File,
    io,
    os::fd::OwnedFd,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use tokio::time::timeout;

use super::{Fault, Options};
use crate::group::Group;

/// Time that the agent gets to end after its input was closed.
const END_LIMIT: Duration = Duration::from_secs(1);

/// The running agent; its whole group ends when this is dropped.
#[derive(Debug)]
pub(super) struct AgentProcess {
    group: Group,
}

/// The client's ends of the agent's pipes.
#[derive(Debug)]
pub(super) struct Pipes {
    pub to_agent: File,
    pub from_agent: File,
}

impl AgentProcess {
    /// Starts the agent; its stderr is the client's.
    pub(super) fn start(options: &Options) -> io::Result<(Self, Pipes)> {
        let (from_agent, stdout) = io::pipe()?;
        let mut command = options.agent_command();
        command.stdin(Stdio::piped());
        if options.commits(Fault::StderrMerged) {
            command.stderr(stdout.try_clone()?);
        }
        command.stdout(stdout);
        let mut group = Group::start(&mut command)?;
        let to_agent = group.child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?.into_owned_fd()?;
        Ok((Self { group }, Pipes { to_agent: to_agent.into(), from_agent: OwnedFd::from(from_agent).into() }))
    }

    /// Waits for the end of the agent.
    pub(super) async fn ended(&mut self) -> Option<ExitStatus> {
        self.group.child.wait().await.ok()
    }

    /// Gives the agent time to end by itself, then kills what is left of its group.
    pub(super) async fn end(mut self) -> Option<ExitStatus> {
        let status = timeout(END_LIMIT, self.ended()).await;
        self.group.kill();
        match status {
            Ok(status) => status,
            // Takes the killed process off the system's list.
            Err(_) => timeout(END_LIMIT, self.ended()).await.ok().flatten(),
        }
    }
}
