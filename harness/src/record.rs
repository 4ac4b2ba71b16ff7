//! Makes a case of a trace: the exchange as a transcript, with names and patterns in place of what differs from run to run.
//!
//! [`record`] gives the text of a case file, which is meant to be edited and kept. The lines of the subject ask for what
//! is likely to be so again: words of the protocol, ids that come back, files of the working directory. What the tester
//! would answer by itself is left out.

mod draft;
mod exchange;
mod names;
mod own;
mod purpose;
mod setup;
mod yaml;

pub use draft::{Aim, record};
pub use exchange::RecordError;
