//! The reference client.
//!
//! It has no user. Its options and the acts on its standard input say what a user would do, and it
//! does that as the protocol demands, so every rule that binds a client can be provoked and repeated.
//! Reading order: `options`, `act` and `fault` (what was asked for), `wire` (bytes), `run` and
//! `process` (start and end), `state` and `session` (what is known), `user` (acts become requests),
//! `lifecycle`, `settings` and `turn` (one file per kind of request), `serve` (the agent's requests) and their
//! handlers `files`, `terminals`, `permission` and `elicitation`, with `question` for what is left open.

mod act;
mod auth;
mod content;
mod elicitation;
mod fault;
mod files;
mod lifecycle;
mod listing;
mod login;
mod options;
mod output;
mod pattern;
mod permission;
mod process;
mod question;
mod run;
mod serve;
mod session;
mod settings;
mod setup;
mod state;
mod terminals;
mod turn;
mod update;
mod user;
mod wire;

pub use fault::Fault;
pub use options::{Feature, Options, Permission};
pub use run::run;
