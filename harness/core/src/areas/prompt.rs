//! Area `prompt`: prompts and their turns.

pub(in crate::areas) mod agent;
mod keys;
mod media;
mod model;
mod results;
mod state;
pub(in crate::areas) mod v2;

pub use self::state::State;
use super::Check;

/// The checks of the area.
pub(super) const CHECKS: &[&[Check]] =
    &[agent::CHECKS, v2::CHECKS, keys::CHECKS, model::CHECKS, media::CHECKS, results::CHECKS];
