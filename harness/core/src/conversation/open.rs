//! The requests that wait for an answer.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use super::exchange::Exchange;
use crate::requirement::Party;
use crate::wire::RpcId;

/// The requests that were sent and not answered yet, in the order in which they were sent. They can also be found by
/// sender and id.
#[derive(Debug, Clone, Default)]
pub struct OpenRequests {
    /// The requests by a number that grows with each request, since one event can hold several requests.
    in_order: BTreeMap<usize, Rc<Exchange>>,
    by_id: HashMap<(Party, RpcId), usize>,
    next: usize,
}

impl OpenRequests {
    /// Returns the request that a party sent with this id.
    pub fn get(&self, key: &(Party, RpcId)) -> Option<&Rc<Exchange>> {
        self.in_order.get(self.by_id.get(key)?)
    }

    pub(super) fn get_mut(&mut self, key: &(Party, RpcId)) -> Option<&mut Exchange> {
        self.in_order.get_mut(self.by_id.get(key)?).map(Rc::make_mut)
    }

    /// Whether a party waits for the answer to a request with this id.
    pub fn contains_key(&self, key: &(Party, RpcId)) -> bool {
        self.by_id.contains_key(key)
    }

    /// Returns the requests of both parties, in the order of sending.
    pub fn values(&self) -> impl Iterator<Item = &Rc<Exchange>> + Clone {
        self.in_order.values()
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = &mut Rc<Exchange>> {
        self.in_order.values_mut()
    }

    /// Adds a request. Returns the earlier request of its sender with the same id that it replaces, if there is one.
    pub(super) fn insert(&mut self, exchange: Exchange) -> Option<Rc<Exchange>> {
        let before = self.by_id.insert((exchange.from, exchange.id.clone()), self.next);
        let before = before.and_then(|number| self.in_order.remove(&number));
        self.in_order.insert(self.next, Rc::new(exchange));
        self.next += 1;
        before
    }

    pub(super) fn remove(&mut self, key: &(Party, RpcId)) -> Option<Rc<Exchange>> {
        self.in_order.remove(&self.by_id.remove(key)?)
    }

    /// Drops the older half if there are more than `most`; returns whether it did.
    pub(super) fn keep_newest(&mut self, most: usize) -> bool {
        let many = self.in_order.len() > most;
        if many {
            let middle = self.in_order.keys().copied().nth(self.in_order.len() / 2).unwrap_or_default();
            self.in_order = self.in_order.split_off(&(middle + 1));
            self.by_id.retain(|_, number| *number > middle);
        }
        many
    }
}
