//! The replay of a session's history on `session/load`.

use agent_client_protocol::v1::schema::SessionUpdate;

use super::{Fault, server::Agent, session::Session};

impl Agent {
    /// Sends the whole conversation again, in its order and with its ids; nothing is run.
    pub(super) fn replay(&self, session: &Session) {
        let mut history = session.record().history.clone();
        if self.options.commits(Fault::ReplayIncomplete) {
            let is_message = |update: &SessionUpdate| matches!(update, SessionUpdate::AgentMessageChunk(_));
            if let Some(last) = history.iter().rposition(is_message) {
                history.remove(last);
            }
        }
        history.into_iter().for_each(|update| self.notify(session, update));
    }
}
