//! The reference programs with deliberate faults, which prove that the checks can fail.
//!
//! The programs themselves are correct and know nothing of faults. A mutant is one of them with one fault between the
//! program and the other side, so that the two together violate one requirement. Most faults are data ([`fault`]). The
//! others are layers in Rust: they need a memory, a process or the bytes of one `read()`. Reading order: [`fault`],
//! `layer` and `message` (the means of a layer), `relay` (the transport of lines), then the layers of `agent` and
//! `client`.

pub mod fault;
pub mod kill_table;
pub mod program;

mod agent;
mod client;
mod framing;
mod jsonrpc;
mod layer;
mod layered;
mod message;
mod relay;
