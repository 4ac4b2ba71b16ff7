//! The client at the other end of the connection.

use std::{collections::BTreeSet, sync::Mutex};

use agent_client_protocol::{Client as ClientRole, ConnectionTo, UntypedMessage};
use serde_json::json;

use super::{
    capabilities::Capabilities,
    errors::log,
    options::Protocol,
    update::Update,
    wire::{Message, Wire},
};
use crate::sync::lock;

/// The client, from its `initialize` on.
pub(super) struct Client {
    pub connection: ConnectionTo<ClientRole>,
    /// The protocol version of the connection.
    pub wire: &'static dyn Wire,
    /// The pages that its user was asked to visit.
    pub visits: Visits,
    capabilities: Mutex<Capabilities>,
}

impl Client {
    pub(super) fn new(connection: ConnectionTo<ClientRole>, wire: &'static dyn Wire) -> Self {
        Self { connection, wire, visits: Visits::default(), capabilities: Mutex::default() }
    }

    /// Returns whether the connection has version 2 of the protocol.
    pub(super) fn is_v2(&self) -> bool {
        self.wire.version() == Protocol::V2
    }

    /// Returns the capabilities of the last `initialize`.
    pub(super) fn capabilities(&self) -> Capabilities {
        *lock(&self.capabilities)
    }

    /// Stores the capabilities of an `initialize`.
    pub(super) fn set_capabilities(&self, capabilities: Capabilities) {
        *lock(&self.capabilities) = capabilities;
    }

    /// Sends an update of a session.
    pub(super) fn update(&self, session: &str, update: &Update) {
        let messages = match update {
            Update::Newer(update) => {
                let params = json!({"sessionId": session, "update": update});
                UntypedMessage::new("session/update", params).map(|message| vec![message])
            }
            update => self.wire.updates(session, update, self.capabilities()),
        };
        match messages {
            Ok(messages) => messages.into_iter().for_each(|message| self.notify(Ok(message))),
            Err(error) => log(&format!("update not sent: {error}")),
        }
    }

    /// Sends a notification.
    pub(super) fn notify(&self, message: Message) {
        // This fails only if the connection has ended.
        let _ = message.and_then(|message| self.connection.send_notification(message));
    }
}

/// The awaited visits of all sessions.
#[derive(Debug, Default)]
pub(super) struct Visits {
    /// The number of visits so far, and the ids of those that are awaited.
    state: Mutex<(u64, BTreeSet<String>)>,
}

impl Visits {
    /// Begins to wait for a visit, and returns its id.
    pub(super) fn begin(&self) -> String {
        let (n_visits, awaited) = &mut *lock(&self.state);
        *n_visits += 1;
        let id = format!("visit-{n_visits}");
        awaited.insert(id.clone());
        id
    }

    /// Returns whether the visit has not been completed or abandoned yet.
    pub(super) fn is_awaited(&self, id: &str) -> bool {
        lock(&self.state).1.contains(id)
    }

    /// Ends the wait; returns whether the visit was awaited.
    pub(super) fn end(&self, id: &str) -> bool {
        lock(&self.state).1.remove(id)
    }
}
