//! Area `init`: `initialize`, and what the parties advertise in it.

pub(in crate::areas) mod agent;
pub(in crate::areas) mod capabilities;
pub(in crate::areas) mod client;
pub(in crate::areas) mod v2;

use super::Check;

/// The checks of the area.
pub(super) const CHECKS: &[&[Check]] =
    &[agent::CHECKS, client::CHECKS, capabilities::CHECKS, v2::CHECKS, v2::BOTH.as_flattened()];
