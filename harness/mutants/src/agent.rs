//! The reference agent with deliberate faults.

mod cancel;
mod initialize;
mod jsonrpc;
mod layers;
mod mcp;
mod model;
mod permission;
mod prompt;
mod session;

pub(crate) use layers::LAYERS;
