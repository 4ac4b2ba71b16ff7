//! The orders to a relay.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::mpsc;

/// An order to the process that a client takes for its agent; orders are carried out in sequence.
#[derive(Debug)]
pub(in crate::transport) enum Order {
    /// Write these pieces, one after the other.
    Write(Vec<Vec<u8>>),
    /// Write this to standard error.
    Stderr(Vec<u8>),
    /// Close standard output.
    CloseOutput,
    /// Exit with this code.
    Exit(i32),
    /// Die by SIGKILL.
    Kill,
}

impl Order {
    /// Returns the number of bytes that it writes to standard output.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Write(pieces) => pieces.iter().map(Vec::len).sum(),
            _ => 0,
        }
    }
}

/// The sender of orders for one relay. Dropping it ends the relay.
#[derive(Debug)]
pub struct RelayOrders {
    pub(super) orders: mpsc::UnboundedSender<Order>,
    /// The bytes that wait to be written.
    pub(super) unread: Arc<AtomicUsize>,
}

impl RelayOrders {
    /// Queues an order; a relay that has ended accepts none, and its connection reports that.
    pub(in crate::transport) fn give(&self, order: Order) {
        self.unread.fetch_add(order.size(), Ordering::Relaxed);
        let _ = self.orders.send(order);
    }

    /// Returns the number of bytes that wait because the relay does not read them.
    pub(in crate::transport) fn unread(&self) -> usize {
        self.unread.load(Ordering::Relaxed)
    }
}
