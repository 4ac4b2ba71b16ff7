//! Area `fs`: the files of the client.

pub(in crate::areas) mod agent;
pub(in crate::areas) mod client;

use super::Check;

/// The checks of the area.
pub(super) const CHECKS: &[&[Check]] = &[agent::CHECKS, client::CHECKS];
