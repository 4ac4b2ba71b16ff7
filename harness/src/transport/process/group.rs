//! A started program and its group: signals, waiting, and the guard that kills the whole group.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::time::{Instant, timeout_at};

use crate::trace::Exit;
use crate::transport::process::children;
use crate::transport::unix as platform;

/// The started program itself, without its children.
#[derive(Debug)]
pub struct Leader {
    child: Child,
    id: u32,
    gone: Arc<AtomicBool>,
    /// Its exit is known.
    waited: bool,
}

type Streams = (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>);

/// Takes charge of a child that leads the group `id`.
pub(super) fn adopt(child: Child, id: u32) -> (Leader, ProcessGroup) {
    let group = ProcessGroup { id, gone: Arc::default() };
    (Leader { child, id, gone: Arc::clone(&group.gone), waited: false }, group)
}

impl Leader {
    pub(super) fn take_streams(&mut self) -> Streams {
        (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take())
    }

    /// Returns the process id.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Waits for the program to exit; may be dropped and called again, and then repeats its answer.
    ///
    /// # Errors
    /// If the system cannot report the status of its child.
    pub async fn wait(&mut self) -> io::Result<Exit> {
        let status = self.child.wait().await?;
        if !std::mem::replace(&mut self.waited, true) {
            children::ended(self.id);
        }
        // Once the leader is reaped and the group is empty, its id may be reused.
        if !platform::group_exists(self.id) {
            self.gone.store(true, Ordering::Relaxed);
        }
        Ok(platform::exit(status))
    }

    /// Like [`wait`](Self::wait), but only until `deadline`; `None` if the program is still running then.
    ///
    /// # Errors
    /// If the system cannot report the status of its child.
    pub async fn wait_until(&mut self, deadline: Instant) -> io::Result<Option<Exit>> {
        match timeout_at(deadline, self.wait()).await {
            Ok(exit) => exit.map(Some),
            Err(_) => Ok(None),
        }
    }
}

impl Drop for Leader {
    /// Without a waiter, a child is reaped like an orphan.
    fn drop(&mut self) {
        if !self.waited {
            children::ended(self.id);
        }
    }
}

/// A process group of ours; dropping it kills its remaining processes.
///
/// It does not reach a process that moved to a session of its own;
/// [`reap_marked`](crate::transport::process::reap_marked) does.
#[derive(Debug)]
pub struct ProcessGroup {
    id: u32,
    /// Whether the group was empty once, so that its id may have been reused.
    gone: Arc<AtomicBool>,
}

impl ProcessGroup {
    /// Returns the id of the group, which is the process id of its leader.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Sends SIGTERM to every process of the group.
    pub fn terminate(&self) {
        if !self.seen_gone() {
            platform::terminate_group(self.id);
        }
    }

    /// Sends SIGKILL to every process of the group.
    pub fn kill(&self) {
        if !self.seen_gone() {
            platform::kill_group(self.id);
        }
    }

    /// Sends a signal to the leader alone; false if the name is unknown.
    pub fn signal_leader(&self, name: &str) -> bool {
        !self.seen_gone() && platform::signal_process(self.id, name)
    }

    /// Whether a process of the group is still running; a zombie does not count.
    pub fn alive(&self) -> bool {
        if !platform::group_exists(self.id) {
            self.gone.store(true, Ordering::Relaxed);
        }
        !self.seen_gone() && platform::group_runs(self.id)
    }

    fn seen_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill();
    }
}
