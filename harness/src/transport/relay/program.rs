//! The relay's own side, which runs in the process that the client started.

use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::frame::{Caller, FromRelay, LASTING_WORD, ToRelay, WORD};
use crate::sync::lock;
use crate::transport::pipe::{self, PIECE, PIECE_POLL, PIECE_TAKEN};
use crate::transport::unix;

/// The exit code of a relay whose harness has gone.
const ALONE: u8 = 70;

/// The signals that are forwarded instead of obeyed.
const SIGNALS: [(SignalKind, &str); 3] =
    [(SignalKind::terminate(), "SIGTERM"), (SignalKind::interrupt(), "SIGINT"), (SignalKind::hangup(), "SIGHUP")];

/// Runs the relay if this process was started as one; otherwise returns `None` at once.
///
/// Every program that drives subjects through this library must call it first in `main`: a client starts that same
/// program as its agent, and an agent starts it as an MCP server.
pub fn run_if_asked() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    let word = args.next()?;
    if word != WORD && word != LASTING_WORD {
        return None;
    }
    let socket = args.next().unwrap_or_default();
    Some(match run(Path::new(&socket), args.collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{}", why_alone(&error, word == LASTING_WORD));
            ExitCode::from(ALONE)
        }
    })
}

/// Returns the error message of a relay that cannot reach the harness.
fn why_alone(error: &io::Error, lasting: bool) -> String {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused if lasting => {
            "no manual run of acp-conformance is in progress; start one with `acp-conformance client --manual`"
                .to_owned()
        }
        _ => format!("this program is played by acp-conformance, which cannot be reached: {error}"),
    }
}

/// The stream to the harness, to which several threads write whole frames.
type Harness = Arc<Mutex<UnixStream>>;

fn run(socket: &Path, args: Vec<OsString>) -> io::Result<()> {
    let mut orders = UnixStream::connect(socket)?;
    let harness: Harness = Arc::new(Mutex::new(orders.try_clone()?));
    // The signals are caught before another process can send one.
    watch_signals(Arc::clone(&harness))?;
    send(&harness, &FromRelay::Hello(Box::new(caller(&args))));
    let input = Arc::clone(&harness);
    std::thread::spawn(move || pump_input(&input));
    let (queue, said) = channel();
    std::thread::spawn(move || obey(&said, &harness));
    // A client that does not read blocks the thread that carries out orders, but not this one, which notices the end of
    // the harness.
    while let Ok(order) = ToRelay::read(&mut orders) {
        let _ = queue.send(order);
    }
    end(0)
}

/// Sends the harness a frame; without a harness, it does nothing.
fn send(harness: &Harness, what: &FromRelay) {
    let mut stream = lock(harness);
    if stream.write_all(&what.encode()).is_err() {
        end(0);
    }
}

fn pump_input(harness: &Harness) {
    let mut buffer = vec![0; PIECE];
    let mut input = io::stdin().lock();
    loop {
        match input.read(&mut buffer) {
            Ok(n @ 1..) => send(harness, &FromRelay::Input(buffer[..n].to_vec())),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return send(harness, &FromRelay::InputEnded),
        }
    }
}

fn obey(orders: &Receiver<ToRelay>, harness: &Harness) {
    let mut broken = false;
    for order in orders {
        let written = match order {
            ToRelay::Output(bytes) => write(&bytes),
            ToRelay::Piece(bytes) => write(&bytes).map(|()| wait_until_taken()),
            ToRelay::Stderr(bytes) => {
                // The standard error of an agent may have no reader.
                let _ = io::stderr().write_all(&bytes);
                Ok(())
            }
            ToRelay::CloseOutput => close_output(),
            ToRelay::Exit(code) => end(code),
            ToRelay::Kill => {
                unix::signal_process(std::process::id(), "SIGKILL");
                Ok(())
            }
        };
        if written.is_err() && !broken {
            broken = true;
            send(harness, &FromRelay::OutputBroken);
        }
    }
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(bytes)?;
    output.flush()
}

fn wait_until_taken() {
    let started = Instant::now();
    while pipe::unread_bytes(&io::stdout()) > 0 && started.elapsed() < PIECE_TAKEN {
        std::thread::sleep(PIECE_POLL);
    }
}

/// Replaces standard output with another file, which closes it for the client.
fn close_output() -> io::Result<()> {
    let nowhere = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdout(&nowhere)?)
}

fn watch_signals(harness: Harness) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let mut streams = Vec::new();
    {
        let _context = runtime.enter();
        for (kind, name) in SIGNALS {
            streams.push((signal(kind)?, name));
        }
    }
    std::thread::spawn(move || {
        runtime.block_on(async {
            let Ok([term, int, hup]) = <[(Signal, &str); 3]>::try_from(streams) else { return };
            let ((mut term, term_name), (mut int, int_name), (mut hup, hup_name)) = (term, int, hup);
            loop {
                let name = tokio::select! {
                    _ = term.recv() => term_name,
                    _ = int.recv() => int_name,
                    _ = hup.recv() => hup_name,
                };
                send(&harness, &FromRelay::Signal(name.to_owned()));
            }
        });
    });
    Ok(())
}

fn caller(args: &[OsString]) -> Caller {
    let text = |text: &OsStr| text.to_string_lossy().into_owned();
    Caller {
        pid: std::process::id(),
        parent: std::os::unix::process::parent_id(),
        args: args.iter().map(|arg| text(arg)).collect(),
        cwd: std::env::current_dir().map(|cwd| cwd.display().to_string()).unwrap_or_default(),
        environment: std::env::vars_os().map(|(name, value)| (text(&name), text(&value))).collect(),
        terminal: io::stdin().is_terminal() && io::stdout().is_terminal(),
    }
}

#[expect(clippy::exit, reason = "another thread may be blocked without end")]
fn end(code: i32) -> ! {
    std::process::exit(code)
}
