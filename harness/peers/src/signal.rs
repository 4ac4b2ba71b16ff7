//! The signals that stop a program.

use tokio::signal::unix::{SignalKind, signal};

/// Waits for SIGHUP, SIGTERM or SIGINT.
pub(crate) async fn hangup_or_stop() {
    let Ok(mut hangup) = signal(SignalKind::hangup()) else { return stop_signal().await };
    tokio::select! {
        _ = hangup.recv() => {}
        () = stop_signal() => {}
    }
}

/// Waits for SIGTERM or SIGINT.
pub(crate) async fn stop_signal() {
    let (Ok(mut terminate), Ok(mut interrupt)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
}
