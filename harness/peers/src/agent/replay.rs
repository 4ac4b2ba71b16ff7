//! The replay of a session's history on `session/load`.

use super::{server::Agent, session::Session};

impl Agent {
    /// Sends the whole conversation again, in its order and with its ids; nothing is run.
    pub(super) fn replay(&self, session: &Session) {
        let history = session.record().history.clone();
        history.into_iter().for_each(|update| self.notify(session, update));
    }
}
