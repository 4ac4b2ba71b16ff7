//! A session that is watched: what is known of it before, and what is reported of it after.

use crate::fault::Planted;
use crate::protocol::Edition;
use crate::report::Chart;
use crate::report::model::RunReport;

/// What is known of a session before it begins.
#[derive(Debug)]
pub struct WatchedSession {
    /// How findings call it.
    pub name: String,
    /// The command line of the agent.
    pub command: Vec<String>,
    /// A fault that is put into what one of the parties says.
    pub fault: Option<Planted>,
    /// Whether a page is wanted.
    pub chart: bool,
    /// The edition of the protocol.
    pub edition: &'static Edition,
}

/// What is reported of a session when it is over.
#[derive(Debug, PartialEq)]
pub struct SessionReports {
    /// A report on the agent and one on the client.
    pub reports: Vec<RunReport>,
    /// What a page shows of the session, if one is wanted.
    pub chart: Option<Chart>,
}
