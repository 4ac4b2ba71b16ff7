//! Ctrl-C: the cases that run are ended like any other, so that no process and no folder is left over, and no case begins.

use std::sync::{LazyLock, mpsc};

use tokio::runtime::Builder;
use tokio::sync::watch;

use crate::transport::signal::asked_to_stop;

/// Says whether somebody asked this program to stop. One thread listens from the first case on, since a signal that
/// comes while a case is being ended must not be lost.
static STOP: LazyLock<watch::Receiver<bool>> = LazyLock::new(|| {
    let (asked, stop) = watch::channel(false);
    let (ready, listening) = mpsc::channel();
    std::thread::spawn(move || {
        if let Ok(runtime) = Builder::new_current_thread().enable_all().build() {
            runtime.block_on(async {
                let stop = asked_to_stop();
                let _ = ready.send(());
                stop.await;
            });
            let _ = asked.send(true);
        }
    });
    // An error means that signals cannot be caught; then there is nothing to wait for.
    let _ = listening.recv();
    stop
});

/// Listens from here on, so that everything that is started afterwards is cleaned up.
pub(super) fn listen() {
    LazyLock::force(&STOP);
}

/// Whether somebody asked this program to stop since the first case began.
#[must_use]
pub fn interrupted() -> bool {
    *STOP.borrow()
}

/// Returns when somebody asks this program to stop, or has asked before.
pub(super) async fn interruption() {
    if STOP.clone().wait_for(|asked| *asked).await.is_err() {
        // Without a listener it never happens.
        std::future::pending::<()>().await;
    }
}
