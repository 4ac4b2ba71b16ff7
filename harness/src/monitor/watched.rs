//! The settings of a monitored session and the reports on it.

use crate::edition::Editions;
use crate::report::Chart;
use crate::requirement::{Party, Transport};
use crate::results::RunReport;

/// The settings of a session before it begins.
pub struct WatchedSession {
    /// The name in findings.
    pub name: String,
    /// The command line of the agent.
    pub command: Vec<String>,
    /// What carries the messages.
    pub transport: Transport,
    /// The party whose messages are lines on standard streams all the same, because the monitor translates.
    pub bridged: Option<Party>,
    /// Whether a page is requested.
    pub chart: bool,
    /// The editions of the protocol. The preferred one counts until the client and the agent have agreed on a version.
    pub editions: Editions,
}

/// The receivers of warnings during a session.
#[derive(Clone, Copy)]
pub struct MonitorWarnings<'w> {
    /// Gets errors of the monitor itself.
    pub own_fault: &'w dyn Fn(&str),
    /// Gets each reason for which the agent did not answer, once.
    pub unreached: &'w (dyn Fn(&str) + Sync),
}

/// The reports on a session when it is over.
#[derive(Debug, PartialEq)]
pub struct SessionReports {
    /// A report on the agent and one on the client.
    pub reports: Vec<RunReport>,
    /// The chart for a page, if one is requested.
    pub chart: Option<Chart>,
}
