//! Area `close`: closed sessions.

pub(in crate::areas) mod agent;
mod state;
pub(in crate::areas) mod v2;

pub use self::state::State;
use super::Check;

/// The checks of the area.
pub(super) const CHECKS: &[&[Check]] = &[agent::CHECKS, v2::CHECKS];
