//! Area `http`: the requests and responses of Streamable HTTP, and the frames of a WebSocket.
//!
//! A response is judged by what its request asks for (`state::Asked`). A client sends it, or a case that breaks one
//! rule on purpose.

mod agent;
mod client;
mod probes;
mod state;

pub(super) use self::state::State;
use crate::areas::Check;

pub(super) const CHECKS: &[&[Check]] = &[agent::CHECKS, client::CHECKS, probes::CHECKS];
