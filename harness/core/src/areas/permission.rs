//! Area `permission`: permission requests and their answers.

pub(in crate::areas) mod agent;
pub(in crate::areas) mod client;
mod state;

pub use self::state::State;
use super::Check;

/// The checks of the area.
pub(super) const CHECKS: &[&[Check]] = &[agent::CHECKS, client::CHECKS];
