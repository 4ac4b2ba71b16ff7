//! A started program and its group: signals, waiting, and the guard that leaves nothing behind.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::time::{Instant, timeout_at};

use crate::trace::Exit;
use crate::transport::process::children;
use crate::transport::unix as platform;

/// The started program itself, as opposed to what it started in turn.
#[derive(Debug)]
pub struct Leader {
    child: Child,
    id: u32,
    gone: Arc<AtomicBool>,
}

type Streams = (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>);

/// Takes charge of a child that leads the group `id`.
pub(super) fn adopt(child: Child, id: u32) -> (Leader, ProcessGroup) {
    let group = ProcessGroup { id, gone: Arc::default() };
    (Leader { child, id, gone: Arc::clone(&group.gone) }, group)
}

impl Leader {
    pub(super) fn take_streams(&mut self) -> Streams {
        (self.child.stdin.take(), self.child.stdout.take(), self.child.stderr.take())
    }

    /// The process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Waits for the program to end; may be dropped and called again, and repeats its answer.
    ///
    /// # Errors
    /// Only if the system cannot tell the status of its child.
    pub async fn wait(&mut self) -> io::Result<Exit> {
        let status = self.child.wait().await?;
        children::ended(self.id);
        // With the leader reaped, its id protects nobody from reuse once the group is empty.
        if !platform::group_exists(self.id) {
            self.gone.store(true, Ordering::Relaxed);
        }
        Ok(platform::exit(status))
    }

    /// Waits as [`wait`](Self::wait) does, but for no longer than until `deadline`; `None` if it still runs then.
    ///
    /// # Errors
    /// Only if the system cannot tell the status of its child.
    pub async fn wait_until(&mut self, deadline: Instant) -> io::Result<Option<Exit>> {
        match timeout_at(deadline, self.wait()).await {
            Ok(exit) => exit.map(Some),
            Err(_) => Ok(None),
        }
    }
}

/// A process group of ours; dropping it kills whatever of it is left.
///
/// A process that left for a session of its own is not reached; that is what [`reap_marked`](crate::transport::process::reap_marked) is for.
#[derive(Debug)]
pub struct ProcessGroup {
    id: u32,
    /// Whether the group was seen empty, so that its id may belong to somebody else by now.
    gone: Arc<AtomicBool>,
}

impl ProcessGroup {
    /// The id of the group, which is the process id of its leader.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Asks every process of the group to end (SIGTERM).
    pub fn terminate(&self) {
        if !self.seen_gone() {
            platform::terminate_group(self.id);
        }
    }

    /// Ends every process of the group (SIGKILL).
    pub fn kill(&self) {
        if !self.seen_gone() {
            platform::kill_group(self.id);
        }
    }

    /// Sends the leader alone a signal, by its name; false when there is none of this name.
    pub fn signal_leader(&self, name: &str) -> bool {
        !self.seen_gone() && platform::signal_process(self.id, name)
    }

    /// Whether a process of the group still runs; one that ended but was not yet waited for does not count.
    #[must_use]
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
