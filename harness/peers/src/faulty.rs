//! The reference programs with deliberate faults.
//!
//! The programs themselves are correct and know nothing of this module. A fault is a layer between the program and the
//! other side: it changes, withholds, adds or answers messages so that the two together break one requirement. Reading
//! order: `fault` (what a fault is), `layer` and `message` (its means), `relay` (how the lines get there), then the faults.

mod fault;
mod framing;
mod jsonrpc;
mod layer;
mod message;
mod relay;

pub mod agent;
pub mod client;
