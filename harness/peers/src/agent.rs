//! The reference agent.
//!
//! It has no model. The last `acp-intent: {…}` line of a prompt names an action, and the agent does exactly that, so
//! every requirement on agents can be exercised repeatedly. Reading order:
//!
//! 1. `server` connects the SDK to `v1` and `v2`, which translate between a version of the protocol and this agent
//!    (`wire`); `listen` does so for each connection over HTTP or WebSocket;
//! 2. `requests` answers the client;
//! 3. `auth`, `sessions` and `settings` are the areas of the protocol outside of turns;
//! 4. `prompt` runs a `turn` of a `session`, which obeys an `intent` through `obey`;
//! 5. `tool`, `permission`, `files`, `terminal`, `elicitation` and `mcp` are the tools of a turn;
//! 6. what they show is an `update`.

mod auth;
mod client;
mod clock;
mod elicitation;
mod errors;
mod extension;
mod files;
mod intent;
mod listen;
mod mcp;
mod obey;
mod options;
mod permission;
mod process;
mod prompt;
mod requests;
mod search;
mod server;
mod session;
mod sessions;
mod settings;
mod shows;
mod store;
mod subagent;
mod sync;
mod terminal;
mod tool;
mod turn;
mod update;
mod v1;
mod v2;
mod wire;

pub use listen::{Converse, ListenRules, listen};
pub use options::Options;
pub use server::{block_on, run, serve};
