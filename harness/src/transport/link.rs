//! A connection to a subject, as one stream of events: an agent over its standard streams, a client through the relays that
//! it starts for its agent.

use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::process::ChildStdin;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use super::pipe::{self, PIECE, PIECE_POLL, PIECE_TAKEN};
use super::process::{Launch, Leader, Process, ProcessGroup, SpawnError, TerminalProcess};
use super::relay::{Caller, Order, RelayOrders, Relays, serve};
use crate::trace::Exit;

/// Something that came from the subject. An agent has one connection; a client has one for each start of its agent.
#[derive(Debug)]
pub enum LinkEvent {
    /// A client started its agent.
    Connected {
        /// The number of the connection, from 0.
        connection: usize,
        /// Who started it.
        caller: Box<Caller>,
        /// Where to write; the link keeps it.
        orders: RelayOrders,
    },
    /// Bytes on the protocol stream.
    Output {
        /// The connection.
        connection: usize,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// The protocol stream ended.
    OutputEnded {
        /// The connection.
        connection: usize,
    },
    /// The subject takes nothing any more.
    InputBroken {
        /// The connection.
        connection: usize,
    },
    /// A client sent its agent a signal.
    AgentSignalled {
        /// The connection.
        connection: usize,
        /// The name of the signal.
        name: String,
    },
    /// The process that a client took for its agent is gone.
    AgentEnded {
        /// The connection.
        connection: usize,
    },
    /// Bytes on the standard output of a client, which is not its protocol stream.
    Stdout(Vec<u8>),
    /// Bytes on the standard error of the subject.
    Stderr(Vec<u8>),
    /// The process ended.
    Exited(Exit),
}

/// How many events wait for the runner at most. When it falls behind, the subject is made to wait, so that a flood
/// costs no memory.
const BACKLOG: usize = 64;

/// How long the output is still read after the whole process group was killed; only a process that left the group can
/// hold it open then.
const LAST_OUTPUT: Duration = Duration::from_millis(250);

/// A running subject.
pub struct Link {
    /// The process id of the subject; none if somebody else started it.
    pub pid: Option<u32>,
    group: Option<ProcessGroup>,
    /// The ways to the subject, by connection.
    inputs: Vec<Input>,
    /// The standard input of a client.
    keyboard: Option<mpsc::UnboundedSender<Vec<Vec<u8>>>>,
    events: mpsc::Receiver<LinkEvent>,
}

/// The way to the subject on one connection.
enum Input {
    Pipe(Option<mpsc::UnboundedSender<Vec<Vec<u8>>>>),
    Relay(RelayOrders),
}

impl Link {
    /// Starts an agent and the tasks that serve its streams; needs a Tokio runtime.
    ///
    /// # Errors
    ///
    /// Only that the program could not be started.
    pub fn to_agent(launch: &Launch) -> Result<Self, SpawnError> {
        let process = launch.spawn()?;
        let output = |bytes| LinkEvent::Output { connection: 0, bytes };
        let end = || Some(LinkEvent::OutputEnded { connection: 0 });
        let (mut link, _) = Self::serve(process, output, end);
        let input = link.keyboard.take();
        link.inputs.push(Input::Pipe(input));
        Ok(link)
    }

    /// Starts a client, which will start what it takes for its agent; needs a Tokio runtime.
    ///
    /// # Errors
    ///
    /// Only that the program could not be started.
    pub fn to_client(launch: &Launch, relays: Relays) -> Result<Self, SpawnError> {
        let (link, events) = Self::serve(launch.spawn()?, LinkEvent::Stdout, || None);
        tokio::spawn(serve(relays, events));
        Ok(link)
    }

    /// Starts a client on a terminal of its own; what it shows there comes as its standard output.
    ///
    /// # Errors
    ///
    /// Only that the program could not be started.
    pub fn to_client_on_terminal(launch: &Launch, relays: Relays) -> Result<Self, SpawnError> {
        let TerminalProcess { terminal, leader, group } = launch.spawn_on_terminal()?;
        let (shown, typed) = terminal.into_split();
        let (link, events, pieces) = Self::of(leader, group);
        tokio::spawn(type_all(typed, pieces));
        tokio::spawn(read_all(shown, events.clone(), LinkEvent::Stdout, None));
        tokio::spawn(serve(relays, events));
        Ok(link)
    }

    /// Waits for whoever starts the relays, which nobody here does: a client that a person starts, or an agent that starts an
    /// MCP server; needs a Tokio runtime.
    #[must_use]
    pub fn to_relays(relays: Relays) -> Self {
        let (sender, events) = mpsc::channel(BACKLOG);
        tokio::spawn(serve(relays, sender));
        Self { pid: None, group: None, inputs: Vec::new(), keyboard: None, events }
    }

    fn serve(
        process: Process,
        output: impl Fn(Vec<u8>) -> LinkEvent + Send + 'static,
        end: impl Fn() -> Option<LinkEvent>,
    ) -> (Self, mpsc::Sender<LinkEvent>) {
        let Process { stdin, stdout, stderr, leader, group } = process;
        let (link, sender, pieces) = Self::of(leader, group);
        tokio::spawn(write_all(stdin, pieces, sender.clone()));
        tokio::spawn(read_all(stderr, sender.clone(), LinkEvent::Stderr, None));
        tokio::spawn(read_all(stdout, sender.clone(), output, end()));
        (link, sender)
    }

    /// A link with the task that waits for the process, and the queue of what is to be written to it.
    fn of(
        mut leader: Leader,
        group: ProcessGroup,
    ) -> (Self, mpsc::Sender<LinkEvent>, mpsc::UnboundedReceiver<Vec<Vec<u8>>>) {
        let pid = Some(leader.id());
        let (sender, events) = mpsc::channel(BACKLOG);
        let (keyboard, pieces) = mpsc::unbounded_channel();
        let exits = sender.clone();
        tokio::spawn(async move {
            if let Ok(exit) = leader.wait().await {
                let _ = exits.send(LinkEvent::Exited(exit)).await;
            }
        });
        let link = Self { pid, group: Some(group), inputs: Vec::new(), keyboard: Some(keyboard), events };
        (link, sender, pieces)
    }

    /// Queues bytes for the subject, in pieces that are written one after the other.
    pub fn write(&self, connection: usize, pieces: Vec<Vec<u8>>) {
        match self.inputs.get(connection) {
            // A closed queue means that the input is broken, and that came as an event.
            Some(Input::Pipe(Some(input))) => drop(input.send(pieces)),
            Some(Input::Relay(orders)) => orders.give(Order::Write(pieces)),
            _ => {}
        }
    }

    /// How many bytes were queued for a relay and not taken by it yet.
    #[must_use]
    pub fn unread(&self, connection: usize) -> usize {
        match self.inputs.get(connection) {
            Some(Input::Relay(orders)) => orders.unread(),
            _ => 0,
        }
    }

    /// Ends the protocol stream to the subject, after everything that is queued.
    pub fn close_input(&mut self, connection: usize) {
        match self.inputs.get_mut(connection) {
            Some(Input::Pipe(input)) => *input = None,
            Some(Input::Relay(orders)) => orders.give(Order::CloseOutput),
            None => {}
        }
    }

    /// Has the process that a client takes for its agent write to its standard error.
    pub fn agent_stderr(&self, connection: usize, bytes: Vec<u8>) {
        if let Some(Input::Relay(orders)) = self.inputs.get(connection) {
            orders.give(Order::Stderr(bytes));
        }
    }

    /// Has the process that a client takes for its agent exit, after everything that is queued.
    pub fn exit_agent(&self, connection: usize, code: i32) {
        if let Some(Input::Relay(orders)) = self.inputs.get(connection) {
            orders.give(Order::Exit(code));
        }
    }

    /// Has SIGKILL end the process that a client takes for its agent, after everything that is queued.
    pub fn kill_agent(&self, connection: usize) {
        if let Some(Input::Relay(orders)) = self.inputs.get(connection) {
            orders.give(Order::Kill);
        }
    }

    /// Queues bytes for the standard input of a client.
    pub fn type_in(&self, bytes: Vec<u8>) {
        if let Some(keyboard) = &self.keyboard {
            let _ = keyboard.send(vec![bytes]);
        }
    }

    /// Ends the standard input of a client, after everything that is queued.
    pub fn end_typing(&mut self) {
        self.keyboard = None;
    }

    /// The next event, or nothing when the deadline comes first or nothing can come any more.
    pub async fn next(&mut self, deadline: Instant) -> Option<LinkEvent> {
        timeout_at(deadline, self.events.recv()).await.ok().flatten()
    }

    /// As [`next`](Self::next) without a deadline, for one who waits for several links at once.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<LinkEvent>> {
        self.events.poll_recv(context)
    }

    /// Takes a new connection into use.
    pub fn accept(&mut self, orders: RelayOrders) {
        self.inputs.push(Input::Relay(orders));
    }

    /// Sends a signal to the subject itself, and not to what it started; false when there is no signal of this name.
    pub fn signal(&self, name: &str) -> bool {
        self.group.as_ref().is_some_and(|group| group.signal_leader(name))
    }

    /// Whether a process of the group runs.
    #[must_use]
    pub fn runs(&self) -> bool {
        self.group.as_ref().is_some_and(ProcessGroup::alive)
    }

    /// Asks the process group to end.
    pub fn terminate(&self) {
        if let Some(group) = &self.group {
            group.terminate();
        }
    }

    /// Ends the process group; if a person started the subject, only what it takes for its agent.
    pub fn kill(&self) {
        match &self.group {
            Some(group) => group.kill(),
            None => (0..self.inputs.len()).for_each(|connection| self.exit_agent(connection, 0)),
        }
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
    wrap: impl Fn(Vec<u8>) -> LinkEvent,
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

/// Types on a terminal.
async fn type_all(mut terminal: impl AsyncWrite + Unpin, mut queue: mpsc::UnboundedReceiver<Vec<Vec<u8>>>) {
    while let Some(pieces) = queue.recv().await {
        for piece in pieces {
            // A terminal that is gone has shown the end of its program.
            if terminal.write_all(&piece).await.is_err() {
                return;
            }
        }
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
                let _ = events.send(LinkEvent::InputBroken { connection: 0 }).await;
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
