//! What the area remembers: the proxy's question to its successor.

use serde_json::Value;

use crate::conversation::{Answer, CallSeen, PROXY_INITIALIZE};
use crate::wire::Members;

/// A message to or from the proxy's successor, in an envelope.
pub(super) const SUCCESSOR: &str = "proxy/successor";

/// What the proxy asked its successor about the connection.
#[derive(Debug, Default)]
pub struct State {
    /// It forwarded `initialize`.
    pub(super) forwarded: bool,
    /// The version in the successor's answer.
    pub(super) version: Option<Value>,
}

impl State {
    pub(in crate::areas) fn call(&mut self, call: &CallSeen<'_>) {
        self.forwarded |= call.method == SUCCESSOR && is_initialize(call.params);
    }

    pub(in crate::areas) fn response(&mut self, answer: &Answer<'_>) {
        let answered = answer.result_of(SUCCESSOR).filter(|(exchange, _)| is_initialize(Some(&exchange.params)));
        self.version =
            answered.and_then(|(_, result)| result.member("protocolVersion").cloned()).or(self.version.take());
    }
}

/// Whether an envelope contains `initialize`, or what a conductor sends instead to a successor that is a proxy as well.
fn is_initialize(envelope: Option<&Value>) -> bool {
    let method = envelope.and_then(|envelope| envelope.text("method"));
    method.is_some_and(|method| method == "initialize" || method == PROXY_INITIALIZE)
}
