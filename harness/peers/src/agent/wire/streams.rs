//! Threads on stdin and stdout, and the byte streams that the SDK is connected to.
//!
//! Blocking threads keep start-up and exit fast: a read that never returns does not hold the
//! process back, and a client that does not read does not stop the agent from receiving.

use std::{
    io::{self, Read as _, Write as _},
    pin::Pin,
    sync::{Arc, Mutex, mpsc as blocking},
    task::{Context, Poll},
    thread,
    time::Duration,
};

use agent_client_protocol::ByteStreams;
use futures::{AsyncRead, AsyncWrite, TryStreamExt as _, channel::mpsc};

use super::{bytes::spoil, gate::Gate};
use crate::agent::Options;

/// Time that is given to stdout at the end, for a client that reads slowly.
const DRAIN_LIMIT: Duration = Duration::from_millis(500);

/// A way to put lines on stdout past the SDK, and to wait for the last of them.
#[derive(Clone)]
pub(crate) struct Wire {
    out: blocking::Sender<Line>,
}

enum Line {
    Text(Vec<u8>),
    /// Answered once everything before it was written.
    Flush(blocking::SyncSender<()>),
}

impl Wire {
    /// Writes one message that the SDK would not send.
    pub(crate) fn write(&self, message: &serde_json::Value) {
        // The writer is gone only when stdout is closed; nobody could read the line then.
        let _ = self.out.send(Line::Text(format!("{message}\n").into_bytes()));
    }

    /// Waits until all earlier lines left the process, for half a second at most.
    pub(crate) fn drain(&self) {
        let (done, wait) = blocking::sync_channel(1);
        if self.out.send(Line::Flush(done)).is_ok() {
            let _ = wait.recv_timeout(DRAIN_LIMIT);
        }
    }
}

/// Opens stdin and stdout for the SDK.
pub(crate) fn open(options: Arc<Options>) -> (ByteStreams<impl AsyncWrite, impl AsyncRead>, Wire) {
    let (out, lines) = blocking::channel();
    thread::spawn(move || write_lines(&lines));
    let wire = Wire { out };

    let (chunks, incoming) = mpsc::unbounded();
    let gate = Gate::new(Arc::clone(&options), wire.clone(), chunks.clone());
    let gate = gate.map(|gate| Arc::new(Mutex::new(gate)));
    let reader = gate.clone();
    thread::spawn(move || read_chunks(&options, reader.as_deref(), &chunks));
    let outgoing = Outbox { wire: wire.clone(), gate, line: Vec::new() };
    (ByteStreams::new(outgoing, incoming.into_async_read()), wire)
}

type Chunk = io::Result<Vec<u8>>;

fn read_chunks(options: &Options, gate: Option<&Mutex<Gate>>, chunks: &mpsc::UnboundedSender<Chunk>) {
    let mut stdin = io::stdin().lock();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = match stdin.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => break,
            Ok(length) => length,
        };
        let bytes = spoil(&buffer[..length], options);
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

fn write_lines(lines: &blocking::Receiver<Line>) {
    let mut stdout = io::stdout().lock();
    for line in lines {
        match line {
            Line::Text(text) => {
                if stdout.write_all(&text).and_then(|()| stdout.flush()).is_err() {
                    return;
                }
            }
            Line::Flush(done) => {
                let _ = done.send(());
            }
        }
    }
}

fn lock(gate: &Mutex<Gate>) -> std::sync::MutexGuard<'_, Gate> {
    gate.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Collects what the SDK writes into lines.
struct Outbox {
    wire: Wire,
    gate: Option<Arc<Mutex<Gate>>>,
    line: Vec<u8>,
}

impl AsyncWrite for Outbox {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                let line = match &self.gate {
                    Some(gate) => lock(gate).outgoing(line),
                    None => line,
                };
                if self.wire.out.send(Line::Text(line)).is_err() {
                    return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
                }
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
