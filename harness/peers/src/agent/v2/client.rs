//! The client at the other end of the connection.

use std::sync::Mutex;

use agent_client_protocol::{
    Client as ClientRole, JsonRpcNotification,
    v2::{
        ConnectionTo,
        schema::{SessionId, SessionUpdate, UpdateSessionNotification},
    },
};

use crate::agent::{sync::lock, visits::Visits};

/// The capabilities of the client that this agent uses.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Capabilities {
    pub elicits_forms: bool,
    pub opens_urls: bool,
    pub knows_extension: bool,
}

/// The client, from its `initialize` on.
pub(super) struct Client {
    pub connection: ConnectionTo<ClientRole>,
    /// The pages that its user was asked to visit.
    pub visits: Visits,
    capabilities: Mutex<Capabilities>,
}

impl Client {
    pub(super) fn new(connection: ConnectionTo<ClientRole>) -> Self {
        Self { connection, visits: Visits::default(), capabilities: Mutex::default() }
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
    pub(super) fn update(&self, session: &SessionId, update: SessionUpdate) {
        self.notify(UpdateSessionNotification::new(session.clone(), update));
    }

    /// Sends a notification.
    pub(super) fn notify(&self, notification: impl JsonRpcNotification) {
        // This fails only if the connection has ended.
        let _ = self.connection.send_notification(notification);
    }
}
