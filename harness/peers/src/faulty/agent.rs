//! The reference agent with deliberate faults, and its command line.

mod cancel;
mod faults;
mod initialize;
mod jsonrpc;
mod mcp;
mod permission;
mod program;
mod prompt;
mod session;
mod terminal;

pub use program::Arguments;
