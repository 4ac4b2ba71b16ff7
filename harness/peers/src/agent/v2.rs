//! The agent in version 2 of the protocol, a draft.
//!
//! It obeys the same intents as in version 1. Reading order:
//!
//! 1. `requests` answers what the client asks;
//! 2. `initialize`, `sessions` and `settings` are the areas of the protocol outside of turns;
//! 3. `prompt` inserts a prompt into a `session` and runs a `turn`, which obeys an intent through `obey`;
//! 4. `tool`, `permission`, `files`, `terminal` and `elicitation` are what a turn can use.

mod base64;
mod client;
mod controls;
mod elicitation;
mod files;
mod initialize;
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
