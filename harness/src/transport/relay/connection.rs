//! The tasks that serve the relays: each relay is a connection of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::{FromRelay, Relays, ToRelay};
use crate::transport::ACCEPT_AGAIN;
use crate::transport::link::LinkEvent;

/// How long a relay has to say who it is, on a machine that is busy with other things.
const GREETING: Duration = Duration::from_secs(10);

/// Something that the process which a client takes for its agent is to do, in the order of giving.
#[derive(Debug)]
pub(in crate::transport) enum Order {
    /// It writes these pieces, one after the other.
    Write(Vec<Vec<u8>>),
    /// It writes this to its standard error.
    Stderr(Vec<u8>),
    /// It closes its standard output.
    CloseOutput,
    /// It exits with this code.
    Exit(i32),
    /// It is ended by SIGKILL.
    Kill,
}

impl Order {
    /// How many bytes it writes to standard output.
    fn size(&self) -> usize {
        match self {
            Self::Write(pieces) => pieces.iter().map(Vec::len).sum(),
            _ => 0,
        }
    }
}

/// Serves every relay that calls, until nobody listens to the events any more.
pub(in crate::transport) async fn serve(relays: Relays, events: mpsc::Sender<LinkEvent>) {
    let mut number = 0;
    while !events.is_closed() {
        let Ok(stream) = relays.accept().await else {
            tokio::time::sleep(ACCEPT_AGAIN).await;
            continue;
        };
        let (mut from, to) = stream.into_split();
        // A relay greets at once; one that was killed or stopped before it could is no connection.
        let Ok(Ok(FromRelay::Hello(caller))) = timeout(GREETING, FromRelay::read(&mut from)).await else { continue };
        let (orders, queue) = mpsc::unbounded_channel();
        let unread = Arc::new(AtomicUsize::new(0));
        tokio::spawn(give(to, queue, Arc::clone(&unread)));
        let orders = RelayOrders { orders, unread };
        if events.send(LinkEvent::Connected { connection: number, caller, orders }).await.is_err() {
            return;
        }
        tokio::spawn(listen(number, from, events.clone()));
        number += 1;
    }
}

/// Where the orders for one relay go. A relay ends when this is dropped.
#[derive(Debug)]
pub struct RelayOrders {
    orders: mpsc::UnboundedSender<Order>,
    /// The bytes that wait to be written.
    unread: Arc<AtomicUsize>,
}

impl RelayOrders {
    /// Queues an order; a relay that has ended takes none, which its connection tells.
    pub(in crate::transport) fn give(&self, order: Order) {
        self.unread.fetch_add(order.size(), Ordering::Relaxed);
        let _ = self.orders.send(order);
    }

    /// How many bytes wait to be written, because the relay does not take them.
    pub(in crate::transport) fn unread(&self) -> usize {
        self.unread.load(Ordering::Relaxed)
    }
}

async fn listen(number: usize, mut from: OwnedReadHalf, events: mpsc::Sender<LinkEvent>) {
    let mut ended = false;
    while let Ok(frame) = FromRelay::read(&mut from).await {
        let event = match frame {
            FromRelay::Hello(_) => continue,
            FromRelay::Input(bytes) => LinkEvent::Output { connection: number, bytes },
            FromRelay::InputEnded => {
                ended = true;
                LinkEvent::OutputEnded { connection: number }
            }
            FromRelay::Signal(name) => LinkEvent::AgentSignalled { connection: number, name },
            FromRelay::OutputBroken => LinkEvent::InputBroken { connection: number },
        };
        if events.send(event).await.is_err() {
            return;
        }
    }
    // A relay that is gone, perhaps killed by its client, says no more.
    if !ended {
        let _ = events.send(LinkEvent::OutputEnded { connection: number }).await;
    }
    let _ = events.send(LinkEvent::AgentEnded { connection: number }).await;
}

async fn give(mut to: OwnedWriteHalf, mut queue: mpsc::UnboundedReceiver<Order>, unread: Arc<AtomicUsize>) {
    while let Some(order) = queue.recv().await {
        let size = order.size();
        let frames = match order {
            Order::Write(mut pieces) if pieces.len() == 1 => pieces.drain(..).map(ToRelay::Output).collect(),
            Order::Write(pieces) => pieces.into_iter().map(ToRelay::Piece).collect(),
            Order::Stderr(bytes) => vec![ToRelay::Stderr(bytes)],
            Order::CloseOutput => vec![ToRelay::CloseOutput],
            Order::Exit(code) => vec![ToRelay::Exit(code)],
            Order::Kill => vec![ToRelay::Kill],
        };
        for frame in frames {
            if to.write_all(&frame.encode()).await.is_err() {
                return;
            }
        }
        unread.fetch_sub(size, Ordering::Relaxed);
    }
}
