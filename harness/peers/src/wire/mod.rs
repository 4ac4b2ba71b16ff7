//! Bytes between the pipes of a process and the SDK, as both peers need them.
//!
//! Each peer puts a gate of its own in between, which sees whole lines.

mod framing;
mod lines;
mod streams;

pub(crate) use framing::Framing;
pub(crate) use lines::Lines;
pub(crate) use streams::{Gate, Inward, Wire, open};
