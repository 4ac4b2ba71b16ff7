//! A real session between a client and its agent, passed on unchanged and judged beside.
//!
//! Two threads pump bytes and do nothing else. Before they pass a piece on they put it into the tap, so that no
//! answer is ever seen before its request. The scribe makes the trace of it, in a file; the judge
//! follows that file at its own pace. So whatever waits to be judged waits on disk, and nobody waits for the
//! judge. Whatever goes wrong in here is told once and ends the record, but never the session.

mod follow;
mod live_judge;
mod scribe;
mod session;
mod tap;
mod watched;
mod way;

pub use session::stand;
pub use watched::{SessionReports, WatchedSession};
