//! Stop requests to this program itself.

use std::future::pending;
use std::io::{self, IsTerminal};
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

use super::unix::outlives_terminal;

/// The arrivals of one kind of signal.
type Arrivals = tokio::signal::unix::Signal;

/// Stop requests by Ctrl-C, SIGTERM or the end of the terminal.
#[derive(Debug)]
pub struct StopRequests {
    interrupt: io::Result<Arrivals>,
    terminate: io::Result<Arrivals>,
    /// `None` for a program that outlives its terminal.
    hangup: Option<io::Result<Arrivals>>,
}

impl StopRequests {
    /// Listens from now on; needs a Tokio runtime. These signals no longer end the program by themselves.
    pub fn listen() -> Self {
        Self {
            interrupt: signal(SignalKind::interrupt()),
            terminate: signal(SignalKind::terminate()),
            hangup: (!outlives_terminal()).then(|| signal(SignalKind::hangup())),
        }
    }

    /// Waits for the next request.
    pub async fn next(&mut self) {
        let arrival = async |signals: Option<&mut io::Result<Arrivals>>| match signals {
            Some(Ok(signals)) => {
                signals.recv().await;
            }
            None | Some(Err(_)) => pending().await,
        };
        tokio::select! {
            () = arrival(Some(&mut self.interrupt)) => {}
            () = arrival(Some(&mut self.terminate)) => {}
            () = arrival(self.hangup.as_mut()) => {}
        }
    }
}

/// Passes the signals that end a program on to this child, from a thread that ends with the program.
///
/// A terminal sends Ctrl-C to all programs of its foreground group, so the child gets that without help.
pub fn forward_signals(child: &Child) -> io::Result<()> {
    let pid = Pid::from_child(child);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let from_terminal = io::stderr().is_terminal();
    // The last three end a program that does not handle them, and an agent may: Node.js starts its debugger at SIGUSR1.
    let mut forwarded = vec![
        (SignalKind::terminate(), Signal::TERM),
        (SignalKind::hangup(), Signal::HUP),
        (SignalKind::user_defined1(), Signal::USR1),
        (SignalKind::user_defined2(), Signal::USR2),
        (SignalKind::alarm(), Signal::ALARM),
    ];
    if !from_terminal {
        forwarded.extend([(SignalKind::interrupt(), Signal::INT), (SignalKind::quit(), Signal::QUIT)]);
    }
    let listen = |(kind, number)| {
        let _context = runtime.enter();
        signal(kind).map(|arrivals| (arrivals, number))
    };
    let listeners = forwarded.into_iter().map(listen).collect::<io::Result<Vec<_>>>()?;
    std::thread::spawn(move || {
        runtime.block_on(async {
            let mut forwarding = JoinSet::new();
            for (mut arrivals, number) in listeners {
                forwarding.spawn(async move {
                    while arrivals.recv().await.is_some() {
                        let _ = kill_process(pid, number);
                    }
                });
            }
            forwarding.join_all().await;
        });
    });
    Ok(())
}

/// Ignores the signals with which a terminal or a person ends a program.
pub fn outlive_signals() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let _context = runtime.enter();
    // After the first listener, such a signal never ends the program again, even without a listener.
    [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup(), SignalKind::quit()]
        .into_iter()
        .try_for_each(|kind| signal(kind).map(drop))
}
