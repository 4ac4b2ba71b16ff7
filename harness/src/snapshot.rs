//! Transcripts as text files, to review and keep the messages of a subject: one file for each case, in folders like
//! those of `cases/`.
//!
//! [`text()`] is the transcript without the parts that differ from run to run, [`changes`] shows how two of them
//! differ, and [`SnapshotFolder`] keeps them: a new version is in `….snap.new` next to the accepted one until it is
//! accepted or rejected.

mod aside;
mod folder;
mod message;
mod normal;
mod renamer;
mod text;

pub use folder::{Kept, SnapshotFolder, Waiting, accept, reject, waiting};
pub use normal::normalised;
pub use renamer::Renamer;
pub use text::{Bound, TranscriptChanges, changes, text};
