//! The reference client with deliberate faults.

mod cancel;
mod content;
mod elicitation;
mod fs;
mod initialize;
mod jsonrpc;
mod launch;
mod layers;
mod permission;
mod session;
mod terminal;

pub(crate) use launch::FaultyLauncher;
pub(crate) use layers::LAYERS;
