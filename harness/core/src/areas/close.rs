//! Area `close`: closed sessions.

pub(in crate::areas) mod agent;
pub(in crate::areas) mod v2;

use super::Check;

/// The checks of the area.
pub(super) const CHECKS: &[&[Check]] = &[agent::CHECKS, v2::CHECKS];
