//! Stops a run early: on Ctrl-C, SIGTERM, SIGHUP, a time limit or a failed case. Running cases are ended as usual, so
//! that no process or folder remains, and no new case begins.

use std::sync::{LazyLock, mpsc};
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::watch;

use crate::transport::signal::StopRequests;

/// The reason why a run stops early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Ctrl-C, SIGTERM or SIGHUP.
    Signal,
    /// The time limit of the run.
    TimeLimit,
    /// A failed case.
    Failure,
}

/// The requests to stop since the first case began.
#[derive(Debug, Default)]
struct Asked {
    signals: usize,
    /// Another reason to stop.
    other: Option<Stop>,
    /// Whether the time limit is near.
    is_near: bool,
}

impl Asked {
    const fn stop(&self) -> Option<Stop> {
        if self.signals > 0 { Some(Stop::Signal) } else { self.other }
    }
}

/// One thread listens from the first case on, since a signal must not be lost while a case is being ended.
static ASKED: LazyLock<watch::Sender<Asked>> = LazyLock::new(|| {
    let asked = watch::Sender::new(Asked::default());
    let (ready, listening) = mpsc::channel();
    let sender = asked.clone();
    std::thread::spawn(move || {
        if let Ok(runtime) = Builder::new_current_thread().enable_all().build() {
            runtime.block_on(async {
                let mut requests = StopRequests::listen();
                let _ = ready.send(());
                loop {
                    requests.next().await;
                    sender.send_modify(|asked| asked.signals += 1);
                }
            });
        }
    });
    // An error means that signals cannot be caught.
    let _ = listening.recv();
    asked
});

/// Listens from now on, so that everything that starts afterwards is cleaned up.
pub(super) fn listen() {
    LazyLock::force(&ASKED);
}

/// Returns why the run has to stop, if it has to.
pub fn stopped() -> Option<Stop> {
    ASKED.borrow().stop()
}

/// Whether no further case begins: the run has to stop, or its time limit is so near that the rest of the time is for
/// confirming the failures that it has seen.
pub fn is_stopping() -> bool {
    let asked = ASKED.borrow();
    asked.is_near || asked.stop().is_some()
}

/// Returns how many signals to stop this program has got, and listens to them from now on.
pub fn signals() -> usize {
    ASKED.borrow().signals
}

/// The longest time that a run keeps for confirming failures: the start of a slow agent and a case, a few times.
const LONGEST_RESERVE: Duration = Duration::from_secs(30);

/// Stops the run in order after this time. No further case begins in the last quarter of it, or the last 30 seconds.
/// They are for confirming failures: a failure of a conversation counts only if a second process shows it.
pub fn stop_after(limit: Duration) {
    std::thread::spawn(move || {
        let reserve = LONGEST_RESERVE.min(limit / 4);
        std::thread::sleep(limit - reserve);
        ASKED.send_modify(|asked| asked.is_near = true);
        std::thread::sleep(reserve);
        stop(Stop::TimeLimit);
    });
}

/// Stops the run in order for this reason, unless it already stops.
pub fn stop(why: Stop) {
    ASKED.send_modify(|asked| asked.other = asked.other.or(Some(why)));
}

/// Waits until this program has got so many signals to stop.
///
/// # Errors
///
/// The system refuses an event loop.
pub fn wait_for_signals(count: usize) -> std::io::Result<()> {
    let runtime = Builder::new_current_thread().build()?;
    // The sender lives as long as the program, so this cannot fail.
    let _ = runtime.block_on(ASKED.subscribe().wait_for(|asked| asked.signals >= count));
    Ok(())
}

/// Returns when the run has to stop.
pub(super) async fn interruption() {
    if ASKED.subscribe().wait_for(|asked| asked.stop().is_some()).await.is_err() {
        // Without a listener, this never happens.
        std::future::pending::<()>().await;
    }
}
