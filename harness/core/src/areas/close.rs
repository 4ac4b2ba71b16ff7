//! Area `close`: closed sessions.

pub(in crate::areas) mod agent;

use super::Check;

/// The checks of the area.
pub(super) const CHECKS: &[&[Check]] = &[agent::CHECKS];
