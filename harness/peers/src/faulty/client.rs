//! The reference client with deliberate faults, and its command line.

mod cancel;
mod elicitation;
mod faults;
mod fs;
mod initialize;
mod jsonrpc;
mod launch;
mod permission;
mod program;
mod session;
mod terminal;
mod work;

pub(super) use launch::Launch;
pub use program::Arguments;
