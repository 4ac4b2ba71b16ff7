//! How messages travel: the processes of subjects, their pipes, the relays that they start, HTTP and WebSocket.
//!
//! This is the only part of the program that starts processes.

use std::time::Duration;

pub mod between;
pub mod dial;
pub mod endpoint;
pub mod event;
pub mod folder;
pub mod gateway;
mod http;
mod http_server;
pub mod link;
mod pipe;
pub mod process;
pub mod pump;
pub mod relay;
pub mod signal;
mod unix;
pub mod web;

/// The pause of a server after it could not accept a connection, for example because no file may be opened for a while.
/// Callers wait meanwhile.
const ACCEPT_AGAIN: Duration = Duration::from_millis(20);
