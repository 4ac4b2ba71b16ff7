//! Turns a trace into a case: the exchange as a transcript, with names and patterns instead of values that differ from run to
//! run.
//!
//! [`record`] returns the text of a case file for people to edit and keep. Its lines for the subject expect only values that
//! are likely to repeat: words of the protocol, ids that come back, files of the working directory. Answers that the tester
//! gives by default are left out.

mod draft;
mod exchange;
mod names;
mod own;
mod purpose;
mod setup;
mod yaml;

pub use draft::{Aim, record};
pub(crate) use draft::{VERBATIM, VIOLATES};
pub use exchange::RecordError;
