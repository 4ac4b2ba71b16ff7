//! Threads on two pipes, and the byte streams that the SDK is connected to.
//!
//! Blocking threads keep start-up and exit fast: a read that never returns does not hold the
//! process back, and a peer that does not read does not stop this one from receiving.

use std::{
    io::{self, Read, Write},
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc as blocking},
    task::{Context, Poll},
    thread,
    time::Duration,
};

use agent_client_protocol::ByteStreams;
use futures::{AsyncRead, AsyncWrite, TryStreamExt as _, channel::mpsc};

use super::{Framing, Lines};

/// Time that is given to the last lines at the end, for a peer that reads slowly.
const DRAIN_LIMIT: Duration = Duration::from_millis(500);

/// What stands between the pipes and the SDK, and may change, refuse or hold messages.
pub(crate) trait Gate: Send + 'static {
    /// Takes bytes from the other side; answers whether anybody still listens.
    fn incoming(&mut self, bytes: &[u8]) -> bool;

    /// Notes that nothing more comes.
    fn close(&mut self);

    /// Looks at a line that the SDK writes, and returns what is to be written.
    fn outgoing(&mut self, line: Vec<u8>) -> Vec<u8>;

    /// Returns what is still to be written when the SDK writes nothing more.
    fn kept_back(&mut self) -> Vec<u8> {
        Vec::new()
    }
}

/// A way to put lines on the output past the SDK, to wait for the last of them, and to close it.
#[derive(Clone)]
pub(crate) struct Wire {
    out: blocking::Sender<Line>,
}

enum Line {
    Text(Vec<u8>),
    /// Answered once everything before it was written.
    Flush(blocking::SyncSender<()>),
    Close,
}

impl Wire {
    /// Writes one message that the SDK would not send.
    pub(crate) fn write(&self, message: &serde_json::Value) {
        // The writer is gone only when the output is closed; nobody could read the line then.
        let _ = self.out.send(Line::Text(format!("{message}\n").into_bytes()));
    }

    /// Waits until all earlier lines left the process, for half a second at most.
    pub(crate) fn drain(&self) {
        let (done, wait) = blocking::sync_channel(1);
        if self.out.send(Line::Flush(done)).is_ok() {
            let _ = wait.recv_timeout(DRAIN_LIMIT);
        }
    }

    /// Closes the output behind all earlier lines.
    pub(crate) fn close(&self) {
        // The writer is gone only when the output is closed already.
        let _ = self.out.send(Line::Close);
    }
}

/// The way of bytes to the SDK.
pub(crate) struct Inward {
    chunks: Option<mpsc::UnboundedSender<Chunk>>,
}

impl Inward {
    /// Gives bytes to the SDK.
    pub(crate) fn pass(&self, bytes: Vec<u8>) {
        if let Some(chunks) = &self.chunks {
            // A closed receiver means that the connection ends.
            let _ = chunks.unbounded_send(Ok(bytes));
        }
    }

    /// Lets the SDK see the end of the input.
    pub(crate) fn close(&mut self) {
        self.chunks = None;
    }

    /// Tells whether the SDK still listens.
    pub(crate) fn is_open(&self) -> bool {
        self.chunks.as_ref().is_some_and(|chunks| !chunks.is_closed())
    }
}

/// Opens a pair of pipes for the SDK, with the gate that `build` wants in between, if any.
pub(crate) fn open<G: Gate>(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    framing: Framing,
    build: impl FnOnce(Wire, Inward) -> Option<G>,
) -> (ByteStreams<impl AsyncWrite, impl AsyncRead>, Wire) {
    let (out, lines) = blocking::channel();
    thread::spawn(move || write_lines(output, &lines));
    let wire = Wire { out };

    let (chunks, incoming) = mpsc::unbounded();
    let gate = build(wire.clone(), Inward { chunks: Some(chunks.clone()) });
    let gate = gate.map(|gate| Arc::new(Mutex::new(gate)));
    let reader = gate.clone();
    thread::spawn(move || read_chunks(input, framing, reader.as_deref(), &chunks));
    let outgoing = Outbox { wire: wire.clone(), gate, lines: Lines::default() };
    (ByteStreams::new(outgoing, incoming.into_async_read()), wire)
}

type Chunk = io::Result<Vec<u8>>;

fn read_chunks<G: Gate>(
    mut input: impl Read,
    framing: Framing,
    gate: Option<&Mutex<G>>,
    chunks: &mpsc::UnboundedSender<Chunk>,
) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = match input.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => break,
            Ok(length) => length,
        };
        let bytes = framing.read(&buffer[..length]);
        let delivered = match gate {
            Some(gate) => lock(gate).incoming(&bytes),
            None => chunks.unbounded_send(Ok(bytes)).is_ok(),
        };
        if !delivered {
            return;
        }
    }
    if let Some(gate) = gate {
        lock(gate).close();
    }
}

fn write_lines(mut output: impl Write, lines: &blocking::Receiver<Line>) {
    for line in lines {
        match line {
            Line::Text(text) => {
                if output.write_all(&text).and_then(|()| output.flush()).is_err() {
                    return;
                }
            }
            Line::Flush(done) => {
                let _ = done.send(());
            }
            Line::Close => return,
        }
    }
}

fn lock<G>(gate: &Mutex<G>) -> MutexGuard<'_, G> {
    gate.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Collects what the SDK writes into lines.
struct Outbox<G: Gate> {
    wire: Wire,
    gate: Option<Arc<Mutex<G>>>,
    lines: Lines,
}

impl<G: Gate> AsyncWrite for Outbox<G> {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        for line in self.lines.push(bytes) {
            let line = match &self.gate {
                Some(gate) => lock(gate).outgoing(line),
                None => line,
            };
            if self.wire.out.send(Line::Text(line)).is_err() {
                return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
            }
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_close(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl<G: Gate> Drop for Outbox<G> {
    fn drop(&mut self) {
        let kept_back = self.gate.as_ref().map(|gate| lock(gate).kept_back()).unwrap_or_default();
        // The writer is gone only when the output is closed; nobody could read the lines then.
        let _ = self.wire.out.send(Line::Text(kept_back));
    }
}
