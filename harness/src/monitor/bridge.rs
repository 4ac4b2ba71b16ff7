//! Bridges between standard streams and HTTP or WebSocket: each message of one party becomes one of the other's
//! transport.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::thread;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};

use super::tap::Sight;
use crate::requirement::Party;
use crate::trace::ProcessEvent;
use crate::transport::between::Between;
use crate::transport::dial::Server;
use crate::transport::endpoint::Endpoint;
use crate::transport::event::{Input, LinkEvent, Outgoing};
use crate::transport::link::Link;
use crate::transport::process::Launch;
use crate::wire::{Content, Framer, read_line};

/// The most bytes of one read.
const PIECE: usize = 64 << 10;

/// The most events of clients that wait.
const BACKLOG: usize = 64;

/// The time for a server to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// The time for an agent to exit after the end of its input, before it is killed; and for a client to read the rest.
const EXIT: Duration = Duration::from_secs(5);

/// The time until the next event, which may be any; the end of a session is an event as well.
const LONG: Duration = Duration::from_secs(1 << 30);

type Sights = mpsc::Sender<(usize, Sight)>;

/// Serves clients at an address, and starts an agent for each of their connections.
pub(super) async fn serve(endpoint: Endpoint, launch: Launch, sights: Sights) {
    let (sender, mut events) = mpsc::channel(BACKLOG);
    tokio::spawn(endpoint.serve(sender));
    // Removing one ends the input of the agent.
    let mut agents: HashMap<usize, mpsc::UnboundedSender<Vec<u8>>> = HashMap::new();
    while let Some(event) = events.recv().await {
        let (connection, sight) = match event {
            LinkEvent::Connected { connection, input, .. } => {
                let link = Link::to_agent(&launch, 0);
                let sight = match &link {
                    Ok(link) => ProcessEvent::Spawned { pid: link.pid.unwrap_or_default() },
                    Err(why) => ProcessEvent::NotSpawned(why.to_string()),
                };
                let _ = sights.send((connection, Sight::Process(sight))).await;
                let client = Reply::Network(input);
                match link {
                    Ok(link) => {
                        let (words, of_client) = mpsc::unbounded_channel();
                        agents.insert(connection, words);
                        tokio::spawn(converse(connection, link, of_client, client, sights.clone()));
                    }
                    Err(_) => client.end(),
                }
                continue;
            }
            LinkEvent::Output { connection, bytes } => {
                let sight = Sight::Bytes(Party::Client, bytes.clone());
                if sights.send((connection, sight)).await.is_err() {
                    return;
                }
                agents.get(&connection).map(|agent| agent.send(bytes));
                continue;
            }
            LinkEvent::OutputEnded { connection } => {
                agents.remove(&connection);
                (connection, Sight::Ended(Party::Client))
            }
            LinkEvent::Http { connection, event } => (connection, Sight::Http(event)),
            // An endpoint has no processes.
            _ => continue,
        };
        if sights.send((connection, sight)).await.is_err() {
            return;
        }
    }
}

/// Connects the client on these streams to an agent that serves. The process that the client takes for its agent ends
/// when this one does; if the client kills it, that is the end as well.
pub(super) async fn dial(server: Server, between: Between, sights: Sights) {
    let Ok(link) = Link::to_server(None, server, CONNECT, 0) else { return };
    let Between { from_client, to_client, from_agent, to_agent: _held, .. } = between;
    let (sender, mut read) = mpsc::channel(BACKLOG);
    let killed = sender.clone();
    thread::spawn(move || read_all(from_client, &sender));
    thread::spawn(move || {
        // It writes nothing.
        let _ = io::copy(&mut { from_agent }, &mut io::sink());
        killed.blocking_send(None)
    });
    let (words, of_client) = mpsc::unbounded_channel();
    let seen = sights.clone();
    tokio::spawn(async move {
        while let Some(Some(bytes)) = read.recv().await {
            let bytes: Vec<u8> = bytes;
            let _ = seen.send((0, Sight::Bytes(Party::Client, bytes.clone()))).await;
            if words.send(bytes).is_err() {
                return;
            }
        }
        let _ = seen.send((0, Sight::Ended(Party::Client))).await;
    });
    let (written, queue) = std::sync::mpsc::channel::<Vec<u8>>();
    let writer = thread::spawn(move || {
        // A client that closed its input ends soon, which is an event of its own.
        queue.iter().try_for_each(|bytes| { &to_client }.write_all(&bytes))
    });
    converse(0, link, of_client, Reply::Stream(written), sights).await;
    // The client may be slow to read the last words.
    let _ = timeout(EXIT, spawn_blocking(move || writer.join())).await;
}

/// Reads a stream to its end, which is `None`.
fn read_all(mut stream: File, read: &mpsc::Sender<Option<Vec<u8>>>) {
    let mut buffer = vec![0; PIECE];
    while let Ok(n @ 1..) = stream.read(&mut buffer) {
        if read.blocking_send(Some(buffer[..n].to_vec())).is_err() {
            return;
        }
    }
    let _ = read.blocking_send(None);
}

/// The way to the client.
enum Reply {
    Network(Input),
    Stream(std::sync::mpsc::Sender<Vec<u8>>),
}

impl Reply {
    /// Passes on output of the agent.
    fn pass_on(&self, framer: &mut Framer, bytes: &[u8]) {
        match self {
            Self::Stream(client) => drop(client.send(bytes.to_vec())),
            Self::Network(Input::Messages(client)) => framer.feed(bytes, |frame| {
                // Only messages travel over HTTP and WebSocket.
                if let Content::One { .. } = read_line(&frame.bytes) {
                    let _ = client.send(Outgoing::Message(frame.bytes));
                }
            }),
            Self::Network(_) => {}
        }
    }

    fn end(&self) {
        if let Self::Network(Input::Messages(client)) = self {
            let _ = client.send(Outgoing::End);
        }
    }
}

/// Passes messages on between a client and the agent of this link, until the agent has ended.
async fn converse(
    connection: usize,
    mut link: Link,
    mut of_client: mpsc::UnboundedReceiver<Vec<u8>>,
    client: Reply,
    sights: Sights,
) {
    let mut framers = (Framer::default(), Framer::default());
    let mut ends_at = None;
    loop {
        let deadline = ends_at.unwrap_or_else(|| Instant::now() + LONG);
        let event = tokio::select! {
            biased;
            event = link.next(deadline) => event,
            words = of_client.recv(), if ends_at.is_none() => {
                match words {
                    // A message is sent as soon as it is complete.
                    Some(words) => framers.0.feed(&words, |frame| {
                        link.write(0, vec![[&frame.bytes, frame.end.bytes()].concat()]);
                    }),
                    None => {
                        link.close_input(0);
                        ends_at = Some(Instant::now() + EXIT);
                    }
                }
                continue;
            }
        };
        let sight = match event {
            Some(LinkEvent::Output { bytes, .. }) => {
                let _ = sights.send((connection, Sight::Bytes(Party::Agent, bytes.clone()))).await;
                client.pass_on(&mut framers.1, &bytes);
                continue;
            }
            Some(LinkEvent::Stderr(bytes)) => {
                let _ = io::stderr().write_all(&bytes);
                continue;
            }
            Some(LinkEvent::InputBroken { .. }) => Sight::AgentDeaf,
            Some(LinkEvent::Http { event, .. }) => Sight::Http(event),
            Some(LinkEvent::OutputEnded { .. }) | None => break,
            Some(_) => continue,
        };
        if sights.send((connection, sight)).await.is_err() {
            break;
        }
    }
    client.end();
    let _ = sights.send((connection, Sight::Ended(Party::Agent))).await;
}
