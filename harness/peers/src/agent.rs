//! The reference agent.
//!
//! It has no model. The last `acp-intent: {…}` line of a prompt names an action, and the agent does exactly that, so
//! every requirement on agents can be exercised repeatedly. Reading order:
//!
//! 1. `server` starts the agent, and `connect` joins it to the SDK in each version of the protocol; `listen` serves a
//!    connection over HTTP or WebSocket;
//! 2. `requests` answers the client, in the words of `v1` or `v2`, which write the messages of a version (`wire`);
//! 3. `auth`, `sessions` and `configure` are the areas of the protocol outside of turns;
//! 4. `prompt` runs a `turn` of a `session`, which obeys an `intent` through `obey`;
//! 5. `tool`, `permission`, `files`, `terminal`, `elicitation` and `mcp` are the tools of a turn;
//! 6. what they show is an `update`.

mod auth;
mod capabilities;
mod client;
mod clock;
mod configure;
mod connect;
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
