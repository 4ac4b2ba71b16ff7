//! How messages travel: the processes at the other end, their pipes, the relays that they start, and HTTP endpoints.
//!
//! This is the only part of the program that starts processes.

use std::time::Duration;

pub mod between;
pub mod folder;
pub mod link;
mod pipe;
pub mod process;
pub mod pump;
pub mod relay;
pub mod signal;
mod unix;
pub mod web;

/// How long a server waits before it takes connections again, when it could not take one: there may be no file left to open
/// for a while, and who calls meanwhile waits.
const ACCEPT_AGAIN: Duration = Duration::from_millis(20);
