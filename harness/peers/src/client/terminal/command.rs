//! One command of a terminal: its process group, its output, and its exit.

use std::{
    io,
    os::unix::process::ExitStatusExt as _,
    process::Stdio,
    sync::{Arc, Mutex},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{io::AsyncReadExt as _, process::ChildStdout, sync::watch, task::JoinHandle, time::timeout};

use super::tail::Tail;
use crate::{group::Group, sync::lock};

/// How long the rest of the output may take after the exit; only another process that holds the pipe takes longer.
const REST: Duration = Duration::from_millis(50);

/// How long a killed command may take to exit; only one that is stuck in the kernel takes longer.
const KILLED: Duration = Duration::from_secs(2);

/// The exit of a command: one of both is there, if the system tells.
#[derive(Debug, Clone, Default)]
pub(super) struct Exit {
    pub code: Option<i32>,
    pub signal: Option<String>,
}

/// A started command; dropping it kills its group.
#[derive(Debug)]
pub(super) struct Command {
    group: Option<Pid>,
    tail: Arc<Mutex<Tail>>,
    exit: watch::Receiver<Option<Exit>>,
    pump: JoinHandle<()>,
}

impl Command {
    /// Starts a command with both outputs in one pipe.
    pub(super) fn start(mut command: tokio::process::Command, tail: Tail) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let group = Group::start(&mut command)?;
        // The pipe ends with the command only if this process does not hold it open.
        drop(command);
        let output = ChildStdout::from_std(std::process::ChildStdout::from(std::os::fd::OwnedFd::from(reader)))?;
        let id = group.child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let tail = Arc::new(Mutex::new(tail));
        let (report, exit) = watch::channel(None);
        let pump = tokio::spawn(pump(group, output, Arc::clone(&tail), report));
        Ok(Self { group: id, tail, exit, pump })
    }

    /// Returns the output so far, and whether its beginning was dropped.
    pub(super) fn output(&self) -> (String, bool) {
        lock(&self.tail).read()
    }

    pub(super) fn exit(&self) -> Option<Exit> {
        self.exit.borrow().clone()
    }

    /// Waits for the exit; `None` if the command was dropped before.
    pub(super) fn exited(&self) -> impl Future<Output = Option<Exit>> + Send + use<> {
        let mut exit = self.exit.clone();
        async move { exit.wait_for(Option::is_some).await.ok()?.clone() }
    }

    /// Kills the whole group and does not wait.
    pub(super) fn signal(&self) {
        if let Some(group) = self.group {
            // An error means that the group has already gone.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }

    /// Kills the whole group and waits for the exit, up to a limit.
    pub(super) async fn kill(&self) {
        self.signal();
        // After the limit, the best available answer is that it was killed.
        let _ = timeout(KILLED, self.exited()).await;
        // The wait for the exit gets its answer before the kill.
        tokio::task::yield_now().await;
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        self.signal();
        self.pump.abort();
    }
}

/// Moves output from the pipe to the tail, and reports the exit once the tail has all output of the command itself.
async fn pump(mut group: Group, mut output: ChildStdout, tail: Arc<Mutex<Tail>>, report: watch::Sender<Option<Exit>>) {
    let exit = tokio::select! {
        exit = group.child.wait() => exit,
        () = read_to_end(&mut output, &tail) => group.child.wait().await,
    };
    // After the limit, the rest is not the command's own.
    let _ = timeout(REST, read_to_end(&mut output, &tail)).await;
    lock(&tail).finish();
    let exit = exit.map(|exit| Exit { code: exit.code(), signal: exit.signal().map(signal_name) });
    report.send_replace(Some(exit.unwrap_or_default()));
    read_to_end(&mut output, &tail).await;
    // Dropping the group kills it, so it must live as long as the command.
    std::future::pending::<()>().await;
}

async fn read_to_end(output: &mut ChildStdout, tail: &Mutex<Tail>) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match output.read(&mut buffer).await {
            Ok(0) | Err(_) => return,
            Ok(length) => lock(tail).push(&buffer[..length]),
        }
    }
}

fn signal_name(number: i32) -> String {
    // The numbers that are the same on all systems.
    let names =
        ["HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "", "FPE", "KILL", "", "SEGV", "", "PIPE", "ALRM", "TERM"];
    let name = usize::try_from(number - 1).ok().and_then(|at| names.get(at)).filter(|name| !name.is_empty());
    name.map_or_else(|| format!("SIG{number}"), |name| format!("SIG{name}"))
}
