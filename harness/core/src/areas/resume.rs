//! Area `resume`: sessions that are continued without a replay.

pub(in crate::areas) mod agent;
mod marker;
mod replay;
mod state;
pub(in crate::areas) mod v2;

pub use self::state::State;
use super::Check;

/// The checks of the area.
pub(super) const CHECKS: &[&[Check]] = &[agent::CHECKS, v2::CHECKS, replay::CHECKS, marker::CHECKS];
