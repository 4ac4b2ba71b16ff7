//! Requests to stop that reach this program itself.

use std::future::pending;
use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The requests to stop, by Ctrl-C or by SIGTERM.
#[derive(Debug)]
pub struct StopRequests {
    interrupt: io::Result<Signal>,
    terminate: io::Result<Signal>,
}

impl StopRequests {
    /// Listens from here on; needs a Tokio runtime. The two signals no longer end the program by themselves.
    #[must_use]
    pub fn listen() -> Self {
        Self { interrupt: signal(SignalKind::interrupt()), terminate: signal(SignalKind::terminate()) }
    }

    /// Waits for the next request.
    pub async fn next(&mut self) {
        let arrival = async |signals: &mut io::Result<Signal>| match signals {
            Ok(signals) => {
                signals.recv().await;
            }
            Err(_) => pending().await,
        };
        tokio::select! {
            () = arrival(&mut self.interrupt) => {}
            () = arrival(&mut self.terminate) => {}
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
