//! Recordings of other tools, read as the events of a trace. All formats of lines are read as streams.
//!
//! An importer lists the gaps of its format, and invents nothing: the sender of a message is in the recording, or
//! inferred where that is certain. Importers check no requirement.

mod format;
mod har;
mod import;
mod item;
mod lines;
mod pair;
mod problem;
mod sides;
mod stream;

pub use format::Format;
pub use problem::RecordingProblem;
pub use stream::{Input, Recording};
