//! Notifications that their receiver may still have to handle: a response without a request may belong to one of them.

use std::collections::{BTreeMap, VecDeque};

use crate::conversation::outcome::Outcome;
use crate::conversation::seen::Answer;
use crate::requirement::Party;
use crate::wire::RpcId;

/// The notifications of each party after its last answered request.
#[derive(Debug, Clone, Default)]
pub struct PendingNotifications {
    pending: BTreeMap<Party, VecDeque<(usize, String)>>,
}

/// The most notifications that are remembered of each party.
const MOST: usize = 64;

impl PendingNotifications {
    /// Adds a notification.
    pub(super) fn add(&mut self, n: usize, sender: Party, method: &str) {
        let pending = self.pending.entry(sender).or_default();
        let oldest = if pending.len() == MOST { pending.pop_front() } else { None };
        let mut text = oldest.map(|(_, text)| text).unwrap_or_default();
        method.clone_into(&mut text);
        pending.push_back((n, text));
    }

    /// Records that the request at event `n` was answered, so its sender's earlier messages were read.
    pub(super) fn settle(&mut self, n: usize, sender: Party) {
        if let Some(pending) = self.pending.get_mut(&sender) {
            pending.retain(|(sent, _)| *sent > n);
        }
    }

    /// Returns the notifications of `sender` that this answer without a request may belong to: the one that it names,
    /// or else all.
    pub fn answered_by(&self, answer: &Answer<'_>, sender: Party) -> Vec<(usize, &str)> {
        let all = self.pending.get(&sender).into_iter().flatten().map(|(n, method)| (*n, method.as_str()));
        let to_none = answer.exchange.is_none() && answer.id.is_none_or(|id| *id == RpcId::Null);
        // An answer with the code for invalid JSON does not belong to a notification, which was read.
        if !to_none || answer.outcome.error_code() == Some(-32700) {
            return Vec::new();
        }
        let Outcome::Error(error) = answer.outcome else { return all.collect() };
        let text = error.to_string();
        let named = all.clone().find(|(_, method)| text.contains(method));
        named.map_or_else(|| all.collect(), |named| vec![named])
    }
}
