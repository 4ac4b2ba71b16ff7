//! The reference agent.
//!
//! It has no model. A prompt says in its last `acp-intent: {…}` line what to do, and the agent does exactly that, so
//! every requirement that binds an agent can be provoked and repeated. Reading order:
//!
//! 1. `server` connects the SDK to `requests`, which answers what the client asks;
//! 2. `initialize`, `auth`, `sessions` and `settings` are the areas of the protocol outside of turns;
//! 3. `prompt` runs a `turn`, which obeys an `intent` through `obey`;
//! 4. `tool`, `permission`, `fs`, `terminal`, `elicitation` and `mcp` are what a turn can use.

mod auth;
mod client;
mod clock;
mod content;
mod elicitation;
mod extension;
mod fs;
mod initialize;
mod intent;
mod mcp;
mod obey;
mod options;
mod permission;
mod plan;
mod process;
mod prompt;
mod reply;
mod requests;
mod search;
mod server;
mod session;
mod sessions;
mod settings;
mod store;
mod sync;
mod terminal;
mod tool;
mod turn;
mod updates;
mod visits;

pub use options::Options;
pub use server::run;
pub(crate) use server::{block_on, serve};
