//! Recordings of other tools, read as the events of a trace: one file for each format, all of them streams.
//!
//! An importer lists the gaps of its format, and invents nothing: the sender of a message is in the recording, or inferred
//! where that is certain. Importers check no requirement.

mod conductor;
mod devtools;
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
