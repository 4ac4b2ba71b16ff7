//! Area `session`: sessions, and the messages that name them.

pub(in crate::areas) mod agent;
pub(in crate::areas) mod client;
mod options;
mod state;
pub(in crate::areas) mod v2;

pub use self::state::State;
use super::Check;

/// The checks of the area.
pub(super) const CHECKS: &[&[Check]] = &[agent::CHECKS, client::CHECKS, options::CHECKS, v2::CHECKS];
