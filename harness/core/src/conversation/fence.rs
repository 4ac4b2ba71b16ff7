//! A request of the protocol that the tester sends only as a fence.

use serde_json::Value;

use super::{Conversation, Exchange, Opening, Session};
use crate::requirement::Party;
use crate::wire::{Call, Members, RpcId};

impl Conversation {
    /// Processes a fence. Only a fence that opens a session has an effect: an update for that session may come before
    /// the answer. It counts as deliberate, so that no check expects anything of its answer.
    pub(crate) fn open_fence(&mut self, (n, us): (usize, u64), from: Party, id: &Value, call: &Call<'_>) {
        if call.method != "session/new" {
            return;
        }
        let id = RpcId::new(id);
        let exchange = Exchange {
            n,
            us,
            heard: self.heard,
            from,
            id: id.clone(),
            method: call.method.to_owned(),
            deliberate: true,
            cancel_requested: None,
            turn: None,
            turn_cancelled: None,
            params: call.params.cloned().unwrap_or_default(),
        };
        self.open.insert(exchange);
    }

    /// Processes the answer to a fence, and the session that it opened.
    pub(crate) fn close_fence(&mut self, n: usize, request: usize, key: (Party, RpcId), result: Option<&Value>) {
        let latest = self.latest_answered.entry(key.0).or_default();
        *latest = request.max(*latest);
        let Some(exchange) = self.open.remove(&key) else { return };
        if let Some((result, id)) = result.and_then(|result| Some((result, result.text("sessionId")?))) {
            let mut session = Session::new(Opening::New, n, &exchange.params);
            session.learn_state(n, result);
            self.sessions.entry(id.to_owned()).or_insert(session);
        }
    }
}
