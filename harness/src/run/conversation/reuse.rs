//! A process of an agent that goes on to a further case.

use std::io;

use serde_json::{Value, json};

use super::Conversation;
use super::serve::Role;
use crate::case::model::TesterSetup;
use crate::requirement::Party;
use crate::run::channel::{Message, State};
use crate::run::recorder::Recorder;
use crate::run::tester::Services;
use crate::trace::{ProcessEvent, Reuse, What};
use crate::wire::{Envelope, read_line};

/// JSON-RPC's code for what the other side could not have known.
const INTERNAL_ERROR: i32 = -32603;

impl Conversation {
    /// Goes on to a further case. The recorder holds how the process began.
    pub(in crate::run) fn go_on(
        self,
        recorder: Recorder,
        services: Services,
        setup: TesterSetup,
        earlier: Reuse,
    ) -> Self {
        let Self { edition, link, state, connections, stdout, stderr, writing, model, .. } = self;
        let fresh = Self::new(link, State::new(Party::Agent, recorder), Role::Client(services), setup, edition);
        let mut conversation = Self { connections, stdout, stderr, writing, model, ..fresh };
        conversation.state.connections = state.connections;
        conversation.state.is_reused = true;
        conversation.repeat_beginning();
        conversation.state.recorder.record(What::Process(ProcessEvent::Reused(earlier.clone())));
        conversation.earlier = Some(earlier);
        conversation
    }

    /// Has the model write down the exchanges of another case.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub(in crate::run) fn turn_model_to(&mut self, case: &str) -> io::Result<()> {
        self.model.as_mut().map_or(Ok(()), |model| model.turn_to(case))
    }

    /// Delivers the messages of the beginning again, to the next case.
    fn repeat_beginning(&mut self) {
        for event in self.state.recorder.events() {
            if let What::Line { from: Party::Agent, bytes, .. } = &event.what {
                let value = read_line(bytes).one().unwrap_or_default();
                self.unread.push(Message { n: event.n, connection: event.connection, value });
            }
        }
    }

    /// A message of an earlier case stands in the trace, and no transcript waits for it. What it asks for is over.
    pub(super) fn late(&mut self, connection: usize, value: &Value) {
        if let Envelope::Call(call) = Envelope::of(value)
            && let Some(id) = call.id
        {
            self.send_error(connection, id, json!({ "code": INTERNAL_ERROR, "message": "the session is over" }));
        }
    }

    /// Ends the services of the case, with all terminals that are still running.
    pub(in crate::run) async fn end_services(&self) {
        if let Role::Client(services) = &self.role {
            services.clone().shutdown().await;
        }
    }

    /// How many requests of the tester have an id.
    pub(in crate::run) const fn requests(&self) -> i64 {
        self.writing.count()
    }
}
