//! The reference agent.
//!
//! It has no model. A prompt says in its last `acp-intent: {…}` line what to do, and the agent does
//! exactly that, so every rule that binds an agent can be provoked and repeated. Reading order:
//! `options` (what was asked for), `server` (messages), `lifecycle`
//! and `settings` (sessions), `turn` (one prompt) and the intents in `play`.

mod clock;
mod content;
mod elicitation;
mod files;
mod gated;
mod intent;
mod lifecycle;
mod mcp;
mod options;
mod permission;
mod play;
mod process;
mod replay;
mod search;
mod server;
mod session;
mod settings;
mod store;
mod terminal;
mod tool;
mod turn;

pub use options::{Feature, Options};
pub use server::run;
pub(crate) use server::{block_on, serve};
