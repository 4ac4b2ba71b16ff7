//! Faults: deliberate deviations of a subject, as data, to prove that the checks can fail.
//!
//! A fault is a file below `cases/faults/`, in the folder of its party and area ([`mod@file`], read by [`load`] into the
//! [`model`]). It describes which message of the subject is changed and how, and which requirement must fail because of it.
//! [`inject`] applies it to the lines of the subject before the rest of the program reads them, as if the subject had sent
//! them. This module checks no requirement and does no input or output.

mod check;
pub mod file;
pub mod inject;
pub mod load;
mod message;
pub mod model;

pub use inject::{Injector, Planted};
pub use load::{embedded, load_bytes, load_dir};
pub use model::{Change, Edit, Fault, Matcher, Selector};
