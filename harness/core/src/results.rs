//! From judged traces to the results of a run, as data: which failures count, the verdict on each requirement and on
//! each case, and the conformance of the subject.
//!
//! The results are the same for a run and for its saved traces, in any order: nothing here knows when or why a case
//! ran.

pub mod case_id;
mod collect;
mod conformance;
mod evidence;
mod gaps;
mod join;
mod known;
mod mistakes;
mod model;
mod reasons;
mod repeat;
mod requirement;
mod run;
mod symptom;

pub use collect::{Collector, UnconfirmedFailure};
pub use conformance::conformance;
pub use join::join;
pub use known::KnownSymptoms;
pub use mistakes::failed;
pub use model::*;
pub use reasons::calls_tools;
pub use repeat::{join_runs, replaces};
pub use requirement::alone;
pub use symptom::{Failure, Symptom};
