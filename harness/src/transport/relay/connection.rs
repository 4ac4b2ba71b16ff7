//! The tasks that serve the relays: each relay is a connection of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::frame::{FromRelay, ToRelay};
use super::host::Relays;
use super::orders::{Order, RelayOrders};
use crate::transport::ACCEPT_AGAIN;
use crate::transport::event::{Input, LinkEvent};

/// The time for the first frame of a relay, which is generous for a busy machine.
const GREETING: Duration = Duration::from_secs(10);

/// Serves every relay that connects until the receiver of the events is dropped.
pub(in crate::transport) async fn serve(relays: Relays, events: mpsc::Sender<LinkEvent>) {
    let mut number = 0;
    while !events.is_closed() {
        let Ok(stream) = relays.accept().await else {
            tokio::time::sleep(ACCEPT_AGAIN).await;
            continue;
        };
        let (mut from, to) = stream.into_split();
        // A relay sends its first frame at once; one that was killed or stopped before that does not count as a
        // connection.
        let Ok(Ok(FromRelay::Hello(caller))) = timeout(GREETING, FromRelay::read(&mut from)).await else { continue };
        let (orders, queue) = mpsc::unbounded_channel();
        let unread = Arc::new(AtomicUsize::new(0));
        tokio::spawn(give(to, queue, Arc::clone(&unread)));
        let orders = RelayOrders { orders, unread };
        let connected = LinkEvent::Connected { connection: number, caller: Some(caller), input: Input::Relay(orders) };
        if events.send(connected).await.is_err() {
            return;
        }
        tokio::spawn(listen(number, from, events.clone()));
        number += 1;
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
    // A relay that has gone, perhaps killed by its client, sends no end of its input.
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
