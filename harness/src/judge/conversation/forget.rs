//! What is forgotten: a recording may be longer than any memory, so what is old makes room for what is new.

use super::Conversation;
use crate::wire::RpcId;

impl Conversation {
    /// Takes in that an answer with this id came from one of the parties, and that nothing tells from which.
    pub(in crate::judge) fn lose_answer(&mut self, _id: &RpcId) {}

    /// Forgets what is old where there is too much.
    pub(in crate::judge) fn forget_old(&mut self) {}
}
