//! A connection to a subject, as one stream of events: an agent over its standard streams, a client through the relays
//! that it starts for its agent.

use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::process::ChildStdin;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use super::dial::{self, Server};
use super::endpoint::Endpoint;
use super::event::{Input, LinkEvent, Outgoing};
use super::pipe::{self, PIECE, PIECE_POLL, PIECE_TAKEN};
use super::process::{Launch, Leader, Process, ProcessGroup, SpawnError, TerminalProcess};
use super::relay::{Order, Relays, serve};

/// The most events that wait for the runner. Beyond that the subject has to wait, so that a flood uses no memory.
const BACKLOG: usize = 64;

/// The time for reading the output after the whole process group was killed. Only a process that left the group can
/// still hold it open.
const LAST_OUTPUT: Duration = Duration::from_millis(250);

/// A running subject.
pub struct Link {
    /// The process id of the subject; `None` if a person started it.
    pub pid: Option<u32>,
    group: Option<ProcessGroup>,
    /// The handles for writing to the subject, by connection.
    inputs: Vec<Input>,
    /// Whether the subject is an agent that serves.
    serves: bool,
    /// The standard input of a client.
    keyboard: Option<mpsc::UnboundedSender<Vec<Vec<u8>>>>,
    events: mpsc::Receiver<LinkEvent>,
}

/// How a client reaches its agent.
#[derive(Debug)]
pub enum Entrance {
    /// It starts a relay.
    Relays(Relays),
    /// It connects to an address.
    Endpoint(Endpoint),
}

impl Entrance {
    /// Serves every connection until the receiver of the events is dropped.
    async fn serve(self, events: mpsc::Sender<LinkEvent>) {
        match self {
            Self::Relays(relays) => serve(relays, events).await,
            Self::Endpoint(endpoint) => endpoint.serve(events).await,
        }
    }
}

impl Link {
    /// Starts an agent and the tasks that serve its streams, as this connection; needs a Tokio runtime.
    pub fn to_agent(launch: &Launch, connection: usize) -> Result<Self, SpawnError> {
        let process = launch.spawn()?;
        let output = move |bytes| LinkEvent::Output { connection, bytes };
        let end = || Some(LinkEvent::OutputEnded { connection });
        let (mut link, _) = Self::serve(process, connection, output, end);
        let input = link.keyboard.take();
        // Those before it belong to processes that have ended.
        link.inputs.extend((0..connection).map(|_| Input::Pipe(None)));
        link.inputs.push(Input::Pipe(input));
        Ok(link)
    }

    /// Connects to an agent that serves, as this connection, after starting it if it does not run. It has this time to
    /// accept the connection, at most until [`close_input`](Self::close_input). Needs a Tokio runtime.
    ///
    /// # Errors
    ///
    /// The program could not be started. That nothing serves there is an event.
    pub fn to_server(
        launch: Option<&Launch>,
        server: Server,
        limit: Duration,
        connection: usize,
    ) -> Result<Self, SpawnError> {
        let (sender, queue) = mpsc::unbounded_channel();
        let (mut link, events) = match launch {
            Some(launch) => Self::serve(launch.spawn()?, connection, LinkEvent::Stdout, || None),
            None => {
                let (sender, events) = mpsc::channel(BACKLOG);
                (Self { pid: None, group: None, inputs: Vec::new(), serves: false, keyboard: None, events }, sender)
            }
        };
        link.serves = true;
        tokio::spawn(dial::dial(server, connection, launch.is_some(), limit, queue, events));
        link.inputs.extend((0..connection).map(|_| Input::Pipe(None)));
        link.inputs.push(Input::Messages(sender));
        Ok(link)
    }

    /// Starts a client, which will reach its agent by this entrance; needs a Tokio runtime.
    pub fn to_client(launch: &Launch, agent: Entrance) -> Result<Self, SpawnError> {
        let (link, events) = Self::serve(launch.spawn()?, 0, LinkEvent::Stdout, || None);
        tokio::spawn(agent.serve(events));
        Ok(link)
    }

    /// Starts a client on a terminal of its own; its output there arrives as standard output.
    pub fn to_client_on_terminal(launch: &Launch, agent: Entrance) -> Result<Self, SpawnError> {
        let TerminalProcess { terminal, leader, group } = launch.spawn_on_terminal()?;
        let (shown, typed) = terminal.into_split();
        let (link, events, pieces) = Self::of(leader, group);
        tokio::spawn(type_all(typed, pieces));
        tokio::spawn(read_all(shown, events.clone(), LinkEvent::Stdout, None));
        tokio::spawn(agent.serve(events));
        Ok(link)
    }

    /// Waits for relays that another program starts: a client that a person started, or an agent that starts an MCP
    /// server; needs a Tokio runtime.
    pub fn to_relays(relays: Relays) -> Self {
        let (sender, events) = mpsc::channel(BACKLOG);
        tokio::spawn(serve(relays, sender));
        Self { pid: None, group: None, inputs: Vec::new(), serves: false, keyboard: None, events }
    }

    fn serve(
        process: Process,
        connection: usize,
        output: impl Fn(Vec<u8>) -> LinkEvent + Send + 'static,
        end: impl Fn() -> Option<LinkEvent>,
    ) -> (Self, mpsc::Sender<LinkEvent>) {
        let Process { stdin, stdout, stderr, leader, group } = process;
        let (link, sender, pieces) = Self::of(leader, group);
        tokio::spawn(write_all(stdin, pieces, connection, sender.clone()));
        tokio::spawn(read_all(stderr, sender.clone(), LinkEvent::Stderr, None));
        tokio::spawn(read_all(stdout, sender.clone(), output, end()));
        (link, sender)
    }

    /// Creates a link with the task that waits for the process, and the queue of bytes for it.
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
        let link =
            Self { pid, group: Some(group), inputs: Vec::new(), serves: false, keyboard: Some(keyboard), events };
        (link, sender, pieces)
    }

    /// Queues bytes for the subject, in pieces that are written one after the other.
    pub fn write(&self, connection: usize, pieces: Vec<Vec<u8>>) {
        match self.inputs.get(connection) {
            // A closed queue means broken input, which was already reported as an event.
            Some(Input::Pipe(Some(input))) => drop(input.send(pieces)),
            Some(Input::Relay(orders)) => orders.give(Order::Write(pieces)),
            Some(Input::Messages(input)) => {
                let bytes = pieces.concat();
                let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
                lines.for_each(|line| drop(input.send(Outgoing::Message(line.to_vec()))));
            }
            _ => {}
        }
    }

    /// Queues an action of the client's end of HTTP or of a WebSocket.
    pub fn dialled(&self, connection: usize, action: Outgoing) {
        if let Some(Input::Messages(input)) = self.inputs.get(connection) {
            let _ = input.send(action);
        }
    }

    /// Returns the number of bytes queued for a relay that it has not taken yet.
    pub fn unread(&self, connection: usize) -> usize {
        match self.inputs.get(connection) {
            Some(Input::Relay(orders)) => orders.unread(),
            _ => 0,
        }
    }

    /// Ends the protocol stream to the subject, after everything queued before.
    pub fn close_input(&mut self, connection: usize) {
        match self.inputs.get_mut(connection) {
            Some(Input::Pipe(input)) => *input = None,
            Some(Input::Relay(orders)) => orders.give(Order::CloseOutput),
            // A connection that is still being opened notices this, too.
            Some(input @ Input::Messages(_)) => *input = Input::Pipe(None),
            None => {}
        }
    }

    /// Makes the process that a client takes for its agent write to its standard error.
    pub fn agent_stderr(&self, connection: usize, bytes: Vec<u8>) {
        if let Some(Input::Relay(orders)) = self.inputs.get(connection) {
            orders.give(Order::Stderr(bytes));
        }
    }

    /// Makes the process that a client takes for its agent exit, after everything queued before.
    pub fn exit_agent(&self, connection: usize, code: i32) {
        self.end_agent(connection, Order::Exit(code));
    }

    /// Kills the process that a client takes for its agent with SIGKILL, after everything queued before.
    pub fn kill_agent(&self, connection: usize) {
        self.end_agent(connection, Order::Kill);
    }

    fn end_agent(&self, connection: usize, order: Order) {
        match self.inputs.get(connection) {
            Some(Input::Relay(orders)) => orders.give(order),
            Some(Input::Messages(input)) => drop(input.send(Outgoing::End)),
            _ => {}
        }
    }

    /// Queues bytes for the standard input of a client.
    pub fn type_in(&self, bytes: Vec<u8>) {
        if let Some(keyboard) = &self.keyboard {
            let _ = keyboard.send(vec![bytes]);
        }
    }

    /// Ends the standard input of a client, after everything queued before.
    pub fn end_typing(&mut self) {
        self.keyboard = None;
    }

    /// Returns the next event; `None` if the deadline comes first or nothing more can come.
    pub async fn next(&mut self, deadline: Instant) -> Option<LinkEvent> {
        timeout_at(deadline, self.events.recv()).await.ok().flatten()
    }

    /// Like [`next`](Self::next), but without a deadline, for callers that wait for several links at once.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<LinkEvent>> {
        self.events.poll_recv(context)
    }

    /// Starts to use a new connection.
    pub fn accept(&mut self, input: Input) {
        self.inputs.push(input);
    }

    /// Sends a signal to the subject itself but not to its children; false if the name is unknown.
    pub fn signal(&self, name: &str) -> bool {
        self.group.as_ref().is_some_and(|group| group.signal_leader(name))
    }

    /// Whether the subject is an agent that serves: its process outlives a connection.
    pub const fn serves(&self) -> bool {
        self.serves
    }

    /// Whether a process of the group is running.
    pub fn runs(&self) -> bool {
        self.group.as_ref().is_some_and(ProcessGroup::alive)
    }

    /// Sends SIGTERM to the process group.
    pub fn terminate(&self) {
        if let Some(group) = &self.group {
            group.terminate();
        }
    }

    /// Kills the process group; if a person started the subject, only the process that it takes for its agent.
    pub fn kill(&self) {
        match &self.group {
            Some(group) => group.kill(),
            None => (0..self.inputs.len()).for_each(|connection| self.exit_agent(connection, 0)),
        }
    }

    /// Returns the deadline for output that still arrives after [`kill`](Self::kill).
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
            // A closed terminal has already reported the end of its program.
            if terminal.write_all(&piece).await.is_err() {
                return;
            }
        }
    }
}

async fn write_all(
    mut stdin: ChildStdin,
    mut queue: mpsc::UnboundedReceiver<Vec<Vec<u8>>>,
    connection: usize,
    events: mpsc::Sender<LinkEvent>,
) {
    while let Some(pieces) = queue.recv().await {
        let cut_up = pieces.len() > 1;
        for piece in pieces {
            if write_piece(&mut stdin, &piece, cut_up).await.is_err() {
                let _ = events.send(LinkEvent::InputBroken { connection }).await;
                return;
            }
        }
    }
}

/// Writes one piece; if a message is split, the next piece follows only when the subject has read this one.
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
