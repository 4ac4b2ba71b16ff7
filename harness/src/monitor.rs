//! Forwards a real session between a client and its agent unchanged, and checks both sides.
//!
//! Two threads only pump bytes. They put each piece into the tap before they forward it, so that no answer appears
//! before its request. The scribe writes the trace to a file; the judge follows that file at its own pace. So unread
//! events wait on disk, and the session never waits for the judge. An error in the monitor is reported once and ends
//! the record, but never the session.

mod bridge;
mod follow;
mod live_judge;
mod network;
mod reported;
mod scribe;
mod session;
mod tap;
mod watched;
mod way;

pub use network::{Network, Place, Route};
pub use session::{stand, stand_on_network};
pub use watched::{MonitorWarnings, SessionReports, WatchedSession};
