//! The reference programs with deliberate faults.
//!
//! The programs themselves are correct and do not use this module. A fault is a layer between the program and the other side:
//! it changes, drops, adds or answers messages, so that the two together violate one requirement. Reading order: `fault` (the
//! definition of a fault), `layer` and `message` (its means), `relay` (the transport of lines), then the faults.

mod fault;
mod framing;
mod jsonrpc;
mod layer;
mod message;
mod relay;

pub mod agent;
pub mod client;
