//! The children of this process: those that it starts, and on Linux those that it takes over, since whoever started them has
//! ended.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::process::Child;

use crate::transport::unix as platform;

/// The children that somebody waits for. It is locked while one is being started.
static STARTED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Whether orphans are taken over.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// How long the last orphans may take to end, once they were killed, and how often it is looked whether they have.
const END: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(1);

fn started() -> MutexGuard<'static, BTreeSet<u32>> {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work` while no process is being started, for a moment in which every child inherits whatever is open.
pub(in crate::transport) fn exclusively<T>(work: impl FnOnce() -> T) -> T {
    let _alone = started();
    work()
}

/// Starts a child, and returns it with its process id.
pub(super) fn start<E: From<io::Error>>(spawn: impl FnOnce() -> Result<Child, E>) -> Result<(Child, u32), E> {
    let mut started = started();
    let child = spawn()?;
    let id = child.id().ok_or_else(|| io::Error::other("the child has no process id"))?;
    started.insert(id);
    Ok((child, id))
}

/// Says that the child has ended and was waited for, so that its id may be that of another process.
pub(super) fn ended(id: u32) {
    started().remove(&id);
}

/// Kills every process whose environment carries `ACP_CONFORMANCE_CASE=<marker>`, and returns how many there were.
///
/// This finds descendants that left their group, as a daemon does, unless they also cleared their environment; those end with
/// [`Orphans`]. Works on Linux only; elsewhere it finds nothing.
pub fn reap_marked(marker: &str) -> usize {
    let killed = platform::kill_marked(marker);
    wait_for_orphans();
    killed
}

/// Waits for the orphans that have ended, so that nothing is left of them. A child that somebody else waits for is left alone.
fn wait_for_orphans() {
    // Only who takes over orphans can tell them from the children of other code in the same program.
    if !ADOPTS.load(Ordering::Relaxed) {
        return;
    }
    for id in platform::ended_children() {
        // One that is just being started is among those who are waited for when the lock is free.
        if !started().contains(&id) {
            platform::wait_for_ended(id);
        }
    }
}

/// Kills everything that this program has started, with what comes from it as far as the system tells. No process starts after
/// this, so it is for a program that ends at once.
pub fn kill_all() {
    let started = started();
    started.iter().copied().for_each(platform::kill_group);
    std::mem::forget(started);
    if ADOPTS.load(Ordering::Relaxed) {
        kill_descendants();
    }
}

/// Kills every process that comes from this one, on Linux, and waits for them, though not for ever.
fn kill_descendants() {
    let deadline = Instant::now() + END;
    loop {
        // Killing one makes orphans of its children, which the next round finds again.
        let left = platform::descendants();
        for id in &left {
            platform::signal_process(*id, "SIGKILL");
            platform::wait_for_ended(*id);
        }
        if left.is_empty() || Instant::now() >= deadline {
            break;
        }
        std::thread::sleep(PAUSE);
    }
}

/// While this lives, whatever a descendant leaves behind becomes a child of this process, on Linux. Dropping it ends every
/// process that comes from this one, also those that left their group and took the mark out of their environment.
///
/// It is for a program whose only children are those of [`Launch`](crate::transport::process::Launch), and for one at a time.
/// Where there are children already, as those of a shell that became this program, nothing is taken over.
#[derive(Debug)]
#[must_use = "what is not kept ends at once"]
pub struct Orphans(());

impl Orphans {
    /// Takes over orphans from here on.
    pub fn adopt() -> Self {
        let adopts = platform::descendants().is_empty() && platform::adopt_orphans(true);
        ADOPTS.store(adopts, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for Orphans {
    fn drop(&mut self) {
        if !ADOPTS.swap(false, Ordering::Relaxed) {
            return;
        }
        kill_descendants();
        platform::adopt_orphans(false);
    }
}
