//! Requests to stop that reach this program itself.

use std::future::pending;
use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What ends when somebody asks this program to stop, by Ctrl-C or by SIGTERM; needs a Tokio runtime.
///
/// From the call on, the two no longer end the program by themselves.
pub fn asked_to_stop() -> impl Future<Output = ()> {
    let [interrupt, terminate] = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    let arrival = async |signals: io::Result<Signal>| match signals {
        Ok(mut signals) => {
            signals.recv().await;
        }
        Err(_) => pending().await,
    };
    async move {
        tokio::select! {
            () = arrival(interrupt) => {}
            () = arrival(terminate) => {}
        }
    }
}

/// Has the signals by which a terminal or a person ends a program end this one no more.
///
/// # Errors
///
/// Those of the system.
pub fn outlive_signals() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _context = runtime.enter();
    // Once somebody listens to a signal it never again ends the program, also when nobody listens any more.
    [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup(), SignalKind::quit()]
        .into_iter()
        .try_for_each(|kind| signal(kind).map(drop))
}
