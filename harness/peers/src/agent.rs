//! The reference agent.
//!
//! It has no model. The last `acp-intent: {…}` line of a prompt names an action, and the agent does exactly that, so every
//! requirement on agents can be exercised repeatedly. Reading order:
//!
//! 1. `server` connects the SDK to `requests`, which answers the client;
//! 2. `initialize`, `auth`, `sessions` and `settings` are the areas of the protocol outside of turns;
//! 3. `prompt` runs a `turn`, which obeys an `intent` through `obey`;
//! 4. `tool`, `permission`, `fs`, `terminal`, `elicitation` and `mcp` are the tools of a turn;
//! 5. `v2` is the same agent in version 2 of the protocol, a draft.

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
mod v2;
mod visits;

pub use options::Options;
pub use server::{block_on, run, serve};
