//! The start of a subject in a case.

use std::time::Duration;

use super::subject::Subject;
use crate::profile::places::Places;
use crate::requirement::Party;
use crate::run::timing::LONGEST_FIRST_START;
use crate::transport::dial::{BadServer, Server};
use crate::transport::link::Link;
use crate::transport::process::{Launch, SpawnError};

/// How the process of a subject is started in a case, and how it is reached.
#[derive(Debug, Clone)]
pub struct Start {
    /// How it is started.
    pub launch: Launch,
    /// Where an agent serves; absent on standard streams.
    server: Option<Server>,
    /// Whether it runs already, so that it is not started.
    runs: bool,
    /// The time to connect to it. The limits of the case are usually shorter, except at the first start of a run.
    limit: Duration,
}

impl Start {
    /// Describes the start of a subject.
    ///
    /// # Errors
    ///
    /// The address of the agent is invalid.
    pub fn new(launch: Launch, subject: &Subject, places: &Places) -> Result<Self, BadServer> {
        let server = if subject.party == Party::Agent { subject.reach.server(places)? } else { None };
        let limit = subject.limits.start.max(LONGEST_FIRST_START);
        Ok(Self { launch, server, runs: subject.command.is_empty(), limit })
    }

    /// Starts an agent and connects to it; needs a Tokio runtime.
    pub fn link(&self, connection: usize) -> Result<Link, SpawnError> {
        match &self.server {
            None => Link::to_agent(&self.launch, connection),
            Some(server) => {
                Link::to_server((!self.runs).then_some(&self.launch), server.clone(), self.limit, connection)
            }
        }
    }
}
