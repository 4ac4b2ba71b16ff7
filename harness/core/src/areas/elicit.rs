//! Area `elicit`: elicitations and their answers.

pub(in crate::areas) mod agent;
pub(in crate::areas) mod client;
mod form;
mod state;

pub use self::state::State;
use super::Check;

/// The checks of the area.
pub(super) const CHECKS: &[&[Check]] = &[agent::CHECKS, client::CHECKS];
