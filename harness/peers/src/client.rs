//! The reference client.
//!
//! It has no user. Its options and the acts on its standard input describe the user's behaviour, which it translates to
//! messages of the protocol. Reading order:
//!
//! - `options` and `act`: the user's settings and acts
//! - `run`, `launch`, `transport` and `end`: the agent's process, and the connection to it by the SDK
//! - `dial`: the agent behind a URL instead
//! - `state`, with `connection`, `session`, `open_questions` and `agent_info`: the client's state
//! - `major`, with `version`, `v1` and `v2`: what differs between the versions of the protocol. Each version reads the
//!   requests and updates of the agent, and hands them to the rest of the client, which is the same for both
//! - `user`: converts acts to requests, with one file for each part of the specification: `authenticate`,
//!   `session_setup`, `config_options`, `prompt` and `content`
//! - `question` and `form`: questions of the agent to the user
//! - `fs` and `terminal`: the files and terminals of the client, which only version 1 has

mod act;
mod agent_info;
mod authenticate;
mod config_options;
mod connection;
mod content;
mod dial;
mod end;
mod errors;
mod form;
mod fs;
mod launch;
mod major;
mod open_questions;
mod options;
mod output;
mod prompt;
mod question;
mod run;
mod session;
mod session_setup;
mod state;
mod terminal;
mod transport;
mod user;
mod v1;
mod v2;
mod version;

pub use agent_info::TerminalLogin;
pub use dial::{DialRules, Dialer};
pub use launch::{AgentProcess, AgentProgram, Launcher, Pipes};
pub use options::{Feature, Options, Permission};
pub use run::{launcher, run};
