//! The program that a client takes for its agent, or an agent for an MCP server: a byte pump between it and the harness.
//!
//! A client starts its agent itself, by a path. So each case gets a fresh path, of a script that starts this program again
//! as a relay; everything that the client writes goes on to the harness through a socket, and back. An agent starts its MCP
//! servers the same way. The relay reads nothing into what it passes on. Beside the bytes it tells who started it, that its input ended and which signals came,
//! and it obeys orders: write to standard error, close standard output, exit.
//!
//! A relay ends at once when the harness is gone, and the harness ends it with the case; so no side leaves it behind.

mod connection;
mod frame;
mod host;
mod program;

pub(super) use connection::{Order, RelayOrders, serve};
pub use frame::Caller;
use frame::{FromRelay, ToRelay};
pub use host::{LastingRelays, Relays, short_temp_dir, write_idle_agent};
pub use program::run_if_asked;
