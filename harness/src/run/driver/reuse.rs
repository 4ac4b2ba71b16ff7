//! A process of an agent that goes on to a further case.

use std::io;

use serde_json::{Value, json};

use super::serve::Role;
use super::{Asked, Driver, Seen};
use crate::case::model::TesterSetup;
use crate::requirement::Party;
use crate::run::record::Recorder;
use crate::run::tester::Services;
use crate::trace::{ProcessEvent, Reuse, What};
use crate::wire::{Envelope, RpcId, read_line};

/// JSON-RPC's code for what the other side could not have known.
const INTERNAL_ERROR: i32 = -32603;

impl Driver {
    /// Goes on to a further case. The recorder holds how the process began.
    pub fn go_on(self, recorder: Recorder, services: Services, setup: TesterSetup, earlier: Reuse) -> Self {
        let Self { edition, link, connections, stdout, stderr, writing, model, .. } = self;
        let fresh = Self::new(edition, link, Party::Agent, recorder, Role::Client(services), setup);
        let mut driver = Self { connections, stdout, stderr, writing, model, ..fresh };
        driver.hear_beginning();
        driver.recorder.record(What::Process(ProcessEvent::Reused(earlier.clone())));
        driver.earlier = Some(earlier);
        driver
    }

    /// Has the model write down the exchanges of another case.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn turn_model_to(&mut self, case: &str) -> io::Result<()> {
        self.model.as_mut().map_or(Ok(()), |model| model.turn_to(case))
    }

    /// Takes in what the subject said at the beginning, as if it had just come.
    fn hear_beginning(&mut self) {
        for event in self.recorder.events() {
            if let What::Line { from: Party::Agent, bytes, .. } = &event.what {
                let value = read_line(bytes).one().unwrap_or_default();
                self.inbox.push(Seen { n: event.n, connection: event.connection, value, taken: None });
            }
        }
    }

    /// Whether the process has served earlier cases.
    pub const fn is_reused(&self) -> bool {
        self.earlier.is_some()
    }

    /// Gives the request with which the process began the label that this case has for it, and says at which event it
    /// stands.
    pub fn take_over(&mut self, label: &str) -> Option<usize> {
        let mut lines = self.recorder.events().iter().filter_map(|event| match &event.what {
            What::Line { from: Party::Client, bytes, .. } => Some((event.n, bytes)),
            _ => None,
        });
        let (n, bytes) = lines.next()?;
        let message = read_line(bytes).one()?;
        let request = Asked {
            n,
            connection: 0,
            id: RpcId::new(&message["id"]),
            method: message["method"].as_str()?.to_owned(),
            params: message["params"].clone(),
            from: 0,
            at: tokio::time::Instant::now(),
        };
        self.asked.insert(label.to_owned(), request);
        Some(n)
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
    pub async fn end_services(&self) {
        if let Role::Client(services) = &self.role {
            services.clone().shutdown().await;
        }
    }

    /// How many requests of the tester have an id.
    pub const fn requests(&self) -> i64 {
        self.writing.count()
    }
}
