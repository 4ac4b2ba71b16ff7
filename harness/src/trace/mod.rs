//! What was really observed: an append-only list of events, and its file format.

mod event;
mod jsonl;

pub use event::{Event, Outcome, ProcessEvent, StepEvent, StepKind, What};
pub use jsonl::{FORMAT, Header, ReadError, Trace, file_schema};
