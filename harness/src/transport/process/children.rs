//! The children of this process: those that it starts, and on Linux orphans that it adopts.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::process::Child;

use crate::sync::lock;
use crate::transport::process::{CASE_MARKER, ENTRY_MARKER};
use crate::transport::unix as platform;

/// The children with a waiter. It is locked while a child is being started.
static STARTED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Whether orphans are taken over.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// The time that the last orphans may take to end after the kill, and the interval of checks.
const END: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(1);

fn started() -> MutexGuard<'static, BTreeSet<u32>> {
    lock(&STARTED)
}

/// Runs `work` while no process is being started, since every child would inherit open files.
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

/// Records that the child has no waiter any more: it has ended and was waited for, or is left to [`reap_marked`].
pub(super) fn ended(id: u32) {
    started().remove(&id);
}

/// Kills every process whose environment carries `ACP_CONFORMANCE_CASE=<marker>`, and returns how many there were.
///
/// This finds descendants that left their group, as a daemon does, unless they also cleared their environment; those
/// end with [`Orphans`]. Works on Linux only; elsewhere it finds nothing.
pub fn reap_marked(marker: &str) -> usize {
    let killed = platform::kill_marked(CASE_MARKER, marker);
    wait_for_orphans();
    killed
}

/// Returns the command lines of the running processes whose environment carries `ACP_CONFORMANCE_CASE=<marker>`, apart
/// from the groups of children that this program still waits for. `None` where the system cannot tell: anywhere but on
/// Linux.
pub fn left_behind(marker: &str) -> Option<Vec<String>> {
    let marked = platform::marked_commands(CASE_MARKER, marker)?;
    let started = started();
    Some(marked.into_iter().filter(|(group, _)| !started.contains(group)).map(|(_, command)| command).collect())
}

/// Kills every process whose environment carries `ACP_CONFORMANCE_ENTRY=<marker>`, and a child with all of its
/// descendants. Other children are not affected. The child must not have been waited for, since its id may then be that
/// of another process.
///
/// Descendants and marks are found on Linux only; elsewhere, only the group of the child ends.
pub fn end_entry(child: Option<u32>, marker: &str) {
    if let Some(child) = child {
        // The child is stopped first, so that it starts nothing while its descendants are being found.
        platform::signal_process(child, "SIGSTOP");
        for id in platform::tree(child) {
            platform::signal_process(id, "SIGKILL");
        }
        platform::kill_group(child);
    }
    platform::kill_marked(ENTRY_MARKER, marker);
    wait_for_orphans();
}

/// Reaps the orphans that have ended. Children with a waiter are skipped.
fn wait_for_orphans() {
    // Only a process that adopts orphans can distinguish them from the children of other code in the same program.
    if !ADOPTS.load(Ordering::Relaxed) {
        return;
    }
    for id in platform::ended_children() {
        // A child that is just being started has its waiter once the lock is free.
        if !started().contains(&id) {
            platform::wait_for_ended(id);
        }
    }
}

/// Kills everything that this program has started, with all descendants that the system can find. No process starts
/// after this, so it is for a program that exits at once.
pub fn kill_all() {
    let started = started();
    started.iter().copied().for_each(platform::kill_group);
    std::mem::forget(started);
    if ADOPTS.load(Ordering::Relaxed) {
        kill_descendants();
    }
}

/// Kills every descendant of this process, on Linux, and waits for them for a limited time.
fn kill_descendants() {
    let deadline = Instant::now() + END;
    loop {
        // Killing one turns its children into orphans, which the next round finds.
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

/// While this exists, orphans of every descendant become children of this process, on Linux. Dropping it ends every
/// descendant, including those that left their group and removed the marker from their environment.
///
/// It is for a program whose only children come from [`Launch`](crate::transport::process::Launch), and only one may
/// exist. If there are children already, such as those of a shell that became this program, nothing is adopted.
#[derive(Debug)]
#[must_use = "processes end at once unless this is kept"]
pub struct Orphans(());

impl Orphans {
    /// Adopts orphans from now on.
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
