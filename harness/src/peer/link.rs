//! A connection to a subject over its standard streams: three byte streams and a process, as one stream of events.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::ChildStdin;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use super::pipe;
use super::process::{Exit, Launch, Process, ProcessGroup, SpawnError};

/// Something that came from the subject.
#[derive(Debug)]
pub enum LinkEvent {
    /// Bytes on its standard output.
    Output(Vec<u8>),
    /// Its standard output ended.
    OutputEnded,
    /// Bytes on its standard error.
    Stderr(Vec<u8>),
    /// Its standard input takes nothing any more.
    InputBroken,
    /// The process ended.
    Exited(Exit),
}

/// How many events wait for the runner at most. When it falls behind, the subject is made to wait, so that a flood
/// costs no memory.
const BACKLOG: usize = 64;

/// How much is read at once.
const PIECE: usize = 64 << 10;

/// How long the writer waits at most for the subject to take one piece of a message that is cut up on purpose.
const PIECE_TAKEN: Duration = Duration::from_millis(100);

/// How often it looks whether the piece was taken.
const PIECE_POLL: Duration = Duration::from_micros(200);

/// How long the output is still read after the whole process group was killed; only a process that left the group can
/// hold it open then.
const LAST_OUTPUT: Duration = Duration::from_millis(250);

/// A running subject.
pub struct Link {
    /// The process id of the subject.
    pub pid: u32,
    group: ProcessGroup,
    input: Option<mpsc::UnboundedSender<Vec<Vec<u8>>>>,
    events: mpsc::Receiver<LinkEvent>,
}

impl Link {
    /// Starts the subject and the tasks that serve its streams; needs a Tokio runtime.
    ///
    /// # Errors
    ///
    /// Only that the program could not be started.
    pub fn open(launch: &Launch) -> Result<Self, SpawnError> {
        let Process { stdin, stdout, stderr, mut leader, group } = launch.spawn()?;
        let pid = leader.id();
        let (sender, events) = mpsc::channel(BACKLOG);
        let (input, pieces) = mpsc::unbounded_channel();
        tokio::spawn(write_all(stdin, pieces, sender.clone()));
        tokio::spawn(read_all(stderr, sender.clone(), LinkEvent::Stderr, None));
        tokio::spawn(read_all(stdout, sender.clone(), LinkEvent::Output, Some(LinkEvent::OutputEnded)));
        tokio::spawn(async move {
            if let Ok(exit) = leader.wait().await {
                let _ = sender.send(LinkEvent::Exited(exit)).await;
            }
        });
        Ok(Self { pid, group, input: Some(input), events })
    }

    /// Queues bytes for the subject, in pieces that are written one after the other.
    pub fn write(&self, pieces: Vec<Vec<u8>>) {
        if let Some(input) = &self.input {
            // A closed queue means that the input is broken, and that came as an event.
            let _ = input.send(pieces);
        }
    }

    /// Closes the subject's standard input, after everything that is queued.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// The next event, or nothing when the deadline comes first or nothing can come any more.
    pub async fn next(&mut self, deadline: Instant) -> Option<LinkEvent> {
        timeout_at(deadline, self.events.recv()).await.ok().flatten()
    }

    /// The next event, whenever it comes.
    pub async fn recv(&mut self) -> Option<LinkEvent> {
        self.events.recv().await
    }

    /// Asks the process group to end.
    pub fn terminate(&self) {
        self.group.terminate();
    }

    /// Ends the process group.
    pub fn kill(&self) {
        self.group.kill();
    }

    /// The deadline for output that is still on its way after [`kill`](Self::kill).
    #[must_use]
    pub fn last_output_deadline() -> Instant {
        Instant::now() + LAST_OUTPUT
    }
}

async fn read_all(
    mut stream: impl AsyncRead + Unpin,
    events: mpsc::Sender<LinkEvent>,
    wrap: fn(Vec<u8>) -> LinkEvent,
    end: Option<LinkEvent>,
) {
    let mut buffer = vec![0; PIECE];
    while let Ok(n @ 1..) = stream.read(&mut buffer).await {
        if events.send(wrap(buffer[..n].to_vec())).await.is_err() {
            return;
        }
    }
    if let Some(end) = end {
        let _ = events.send(end).await;
    }
}

async fn write_all(
    mut stdin: ChildStdin,
    mut queue: mpsc::UnboundedReceiver<Vec<Vec<u8>>>,
    events: mpsc::Sender<LinkEvent>,
) {
    while let Some(pieces) = queue.recv().await {
        let cut_up = pieces.len() > 1;
        for piece in pieces {
            if write_piece(&mut stdin, &piece, cut_up).await.is_err() {
                let _ = events.send(LinkEvent::InputBroken).await;
                return;
            }
        }
    }
}

/// Writes one piece; where a message is cut up, the next piece follows only when the subject has read this one.
async fn write_piece(stdin: &mut ChildStdin, piece: &[u8], cut_up: bool) -> io::Result<()> {
    stdin.write_all(piece).await?;
    stdin.flush().await?;
    if cut_up {
        let taken = async {
            while pipe::unread_bytes(stdin) > 0 {
                tokio::time::sleep(PIECE_POLL).await;
            }
        };
        let _ = timeout(PIECE_TAKEN, taken).await;
    }
    Ok(())
}
