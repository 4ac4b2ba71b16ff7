//! The tester's fences that are requests of the protocol. Neither they nor their answers are evidence of anything else.
//!
//! A fence by the unknown request [`FENCE`](crate::trace::FENCE) is checked like every other message; the answer to an
//! unknown request is the subject of a requirement.

use std::collections::{BTreeMap, BTreeSet};

use crate::conversation::Conversation;
use crate::requirement::Party;
use crate::wire::{Envelope, RpcId};

/// The fences of all connections of one trace.
#[derive(Debug, Default)]
pub(super) struct Fences {
    /// The connections on which the next request is a fence.
    announced: BTreeSet<usize>,
    /// Their events, by connection, sender and id. They are kept, since a subject may answer twice.
    sent: BTreeMap<(usize, Party, RpcId), usize>,
}

impl Fences {
    /// Records that the next request on the connection is a fence.
    pub(super) fn announce(&mut self, connection: usize) {
        self.announced.insert(connection);
    }

    /// Whether the message is a fence or the answer to one. The conversation learns only that a request was answered,
    /// and which session it opened, since an agent may send updates for that session.
    pub(super) fn claim(
        &mut self,
        connection: usize,
        now: (usize, u64),
        from: Party,
        envelope: Envelope<'_>,
        conversation: &mut Conversation,
    ) -> bool {
        match envelope {
            Envelope::Call(call) => {
                let Some(id) = call.id.filter(|_| self.announced.remove(&connection)) else { return false };
                self.sent.insert((connection, from, RpcId::new(id)), now.0);
                conversation.open_fence(now, from, id, &call);
                true
            }
            Envelope::Response { id: Some(id), result, .. } if !self.sent.is_empty() => {
                let sender = from.other();
                let id = RpcId::new(id);
                let Some(&request) = self.sent.get(&(connection, sender, id.clone())) else { return false };
                conversation.close_fence(now.0, request, (sender, id), result);
                true
            }
            _ => false,
        }
    }
}
