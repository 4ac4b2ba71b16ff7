//! Requirements of version 2 in several areas.

mod catalogues;
pub(in crate::areas) mod displays;
mod formats;
mod late;
mod withdrawn;

use super::Check;

/// The checks of these files.
pub(super) const CHECKS: &[&[Check]] = &[
    catalogues::CHECKS,
    formats::CHECKS,
    formats::BOTH.as_flattened(),
    withdrawn::CHECKS,
    withdrawn::BOTH.as_flattened(),
    displays::CHECKS,
    late::CHECKS,
];
