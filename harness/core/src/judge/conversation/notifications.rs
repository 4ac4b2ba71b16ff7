//! Notifications that their receiver may still have to handle: a response without a request may answer one of them.

use std::collections::{BTreeMap, VecDeque};

use crate::judge::outcome::Outcome;
use crate::judge::seen::Answer;
use crate::requirement::Party;
use crate::wire::RpcId;

/// The notifications of each party after its last request that was answered.
#[derive(Debug, Clone, Default)]
pub struct PendingNotifications {
    pending: BTreeMap<Party, VecDeque<(usize, String)>>,
}

/// The bound on the notifications that are remembered of each party.
const MOST: usize = 64;

impl PendingNotifications {
    /// Takes in a notification.
    pub(super) fn add(&mut self, n: usize, sender: Party, method: &str) {
        let pending = self.pending.entry(sender).or_default();
        let oldest = if pending.len() == MOST { pending.pop_front() } else { None };
        let mut text = oldest.map(|(_, text)| text).unwrap_or_default();
        method.clone_into(&mut text);
        pending.push_back((n, text));
    }

    /// Takes in that the request at event `n` was answered: what its sender said before it was read before it.
    pub(super) fn settle(&mut self, n: usize, sender: Party) {
        if let Some(pending) = self.pending.get_mut(&sender) {
            pending.retain(|(told, _)| *told > n);
        }
    }

    /// The notifications of `sender` that this answer to no request may be to: the one that it names, or else all.
    #[must_use]
    pub fn answered_by(&self, answer: &Answer<'_>, sender: Party) -> Vec<(usize, &str)> {
        let all = self.pending.get(&sender).into_iter().flatten().map(|(n, method)| (*n, method.as_str()));
        let to_none = answer.exchange.is_none() && answer.id.is_none_or(|id| *id == RpcId::Null);
        // Who says that a line is no JSON does not answer a notification that it read.
        if !to_none || answer.outcome.error_code() == Some(-32700) {
            return Vec::new();
        }
        let Outcome::Error(error) = answer.outcome else { return all.collect() };
        let text = error.to_string();
        let named = all.clone().find(|(_, method)| text.contains(method));
        named.map_or_else(|| all.collect(), |named| vec![named])
    }
}
