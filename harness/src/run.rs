//! Runs cases against a subject and records what happens. The result is a trace, which the judge checks later.
//!
//! `jobs` runs many cases: each in a process of its own (`single`), or several in one (`shared`, by `plan`).
//! `transcript` runs the steps of one case (`case`, `step`), which uses its `conversation` through a `channel`.

mod case;
mod channel;
mod conversation;
mod environment;
mod installed;
mod interrupt;
mod jobs;
mod limits;
mod patience;
mod plan;
mod recorder;
mod shared;
mod single;
mod step;
pub mod tester;
mod timing;
mod transcript;

pub use environment::{KnownCalls, KnownFences, KnownHangs, KnownOpenings, KnownServers, MODEL_LOG, Subject, Useless};
pub use installed::installed_version;
pub use interrupt::{Stop, is_stopping, signals, stop, stop_after, stopped, wait_for_signals};
pub use jobs::{Jobs, Next, Progress, RunMode, run_all, run_by_hand, run_in_order};
pub use limits::Limits;
pub use plan::{quick_cases, quick_cases_of_client, repeated};
pub use single::run_case;

pub use crate::case::MARKER;
