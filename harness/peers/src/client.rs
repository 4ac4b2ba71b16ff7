//! The reference client.
//!
//! It has no user. Its options and the acts on its standard input describe the user's behaviour, which it translates to
//! messages of the protocol. Reading order:
//!
//! - `options` and `act`: the user's settings and acts
//! - `run`, `launch`, `transport` and `end`: the agent's process, and the connection to it by the SDK
//! - `state`, with `agent`, `connection`, `session` and `question`: the client's state
//! - `user`: converts acts to requests, with one file for each part of the specification: `initialize`, `authenticate`,
//!   `session_setup`, `mcp`, `session_list`, `config_options`, `prompt` and `content`
//! - `serve` and `update`: the requests and notifications of the agent, with `fs`, `terminal`, `permission`,
//!   `elicitation` and `form`
//! - `v2`: the same client in version 2 of the protocol, a draft

mod act;
mod agent;
mod authenticate;
mod config_options;
mod connection;
mod content;
mod elicitation;
mod end;
mod errors;
mod form;
mod fs;
mod initialize;
mod launch;
mod mcp;
mod options;
mod output;
mod permission;
mod prompt;
mod question;
mod run;
mod serve;
mod session;
mod session_list;
mod session_setup;
mod state;
mod terminal;
mod transport;
mod update;
mod user;
mod v2;

pub use agent::TerminalLogin;
pub use launch::{AgentProcess, AgentProgram, Launcher, Pipes};
pub use options::{Feature, Options, Permission};
pub use run::run;
