//! Transcripts as text files, so that what a subject says can be reviewed and kept: one file a case, in folders like those of
//! `cases/`.
//!
//! [`text()`] is the transcript without what differs from run to run, [`changes`] shows how two of them differ, and [`SnapshotFolder`] keeps
//! them: what is new lies as `….txt.new` beside what was kept until somebody accepts or rejects it.

mod folder;
mod text;

pub use folder::{Kept, SnapshotFolder, Waiting, accept, reject, waiting};
pub use text::{Bound, TranscriptChanges, changes, text};
