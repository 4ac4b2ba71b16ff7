//! Requests to stop that reach this program itself.

use std::future::pending;

use tokio::signal::unix::{SignalKind, signal};

/// Returns when somebody asks this program to stop, by Ctrl-C or by SIGTERM; needs a Tokio runtime.
///
/// From the first call on, the two no longer end the program by themselves.
pub async fn asked_to_stop() {
    let arrival = async |kind| match signal(kind) {
        Ok(mut signals) => {
            signals.recv().await;
        }
        Err(_) => pending().await,
    };
    tokio::select! {
        () = arrival(SignalKind::interrupt()) => {}
        () = arrival(SignalKind::terminate()) => {}
    }
}
