//! Stop requests to this program itself.

use std::future::pending;
use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Stop requests by Ctrl-C or SIGTERM.
#[derive(Debug)]
pub struct StopRequests {
    interrupt: io::Result<Signal>,
    terminate: io::Result<Signal>,
}

impl StopRequests {
    /// Listens from now on; needs a Tokio runtime. The two signals no longer end the program by themselves.
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

/// Ignores the signals with which a terminal or a person ends a program.
///
/// # Errors
///
/// Errors of the operating system.
pub fn outlive_signals() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _context = runtime.enter();
    // After the first listener, such a signal never ends the program again, even without a listener.
    [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup(), SignalKind::quit()]
        .into_iter()
        .try_for_each(|kind| signal(kind).map(drop))
}
