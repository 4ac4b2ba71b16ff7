//! Area `subagent`: the sessions of subagents, and the messages between sessions.

pub(in crate::areas) mod agent;
pub(in crate::areas) mod client;
pub(in crate::areas) mod probes;
mod state;

pub use self::state::State;
use super::Check;

/// The checks of the area.
pub(super) const CHECKS: &[&[Check]] = &[agent::CHECKS, client::CHECKS, probes::CHECKS];
