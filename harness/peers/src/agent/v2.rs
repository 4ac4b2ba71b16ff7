//! The agent in version 2 of the protocol, a draft.
//!
//! It obeys the same intents as in version 1. Reading order:
//!
//! 1. `requests` answers the client's requests;
//! 2. `initialize`, `sessions` and `settings` are the areas of the protocol outside of turns;
//! 3. `prompt` inserts a prompt into a `session` and runs a `turn`, which obeys its `intent` through `obey`;
//! 4. `tool`, `permission`, `files`, `terminal` and `elicitation` are the tools of a turn.

mod base64;
mod client;
mod controls;
mod elicitation;
mod files;
mod initialize;
mod intent;
mod obey;
mod patch;
mod permission;
mod prompt;
mod requests;
mod session;
mod sessions;
mod settings;
mod terminal;
mod tool;
mod turn;
mod updates;

pub(super) use requests::Agent;
