//! Recordings of other tools, read as the events of a trace: one file for each format, all of them streams.
//!
//! An importer says what its format does not tell, and makes nothing up: who sent a message is taken from the recording, or
//! inferred where that is certain. Nothing is judged here.

mod conductor;
mod format;
mod lines;
mod ndjson;
mod pair;
mod problem;
mod rebuilt;
mod sides;
mod source;
mod stream;
mod tee;
mod zed;

pub use format::Format;
pub use problem::RecordingProblem;
pub use stream::{Input, Recording};
