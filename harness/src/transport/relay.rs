//! The program that a client starts as its agent, or an agent as an MCP server: a byte pump between it and the harness.
//!
//! A client starts its agent itself, by a path. So each case gets a fresh path of a script that starts this program
//! again as a relay. The relay forwards everything that the client writes to the harness through a socket, and back,
//! without parsing it. An agent starts its MCP servers the same way. The relay also reports its own start, the end of
//! its input and signals. It obeys orders: write to standard error, close standard output, exit.
//!
//! A relay exits when the harness has gone, and the harness ends it with the case, so neither leaves it running.

mod connection;
mod frame;
mod host;
mod orders;
mod program;

pub(super) use connection::serve;
pub use frame::Caller;
pub use host::{LastingRelays, Relays, short_temp_dir, write_idle_agent};
pub(super) use orders::{Order, RelayOrders};
pub use program::run_if_asked;
