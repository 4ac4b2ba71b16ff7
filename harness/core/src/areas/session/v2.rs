//! Area `session`: the effect of a cancel.

use crate::areas::cancel::v2::goes_on;
use crate::areas::{Check, On};

pub(super) const CHECKS: &[Check] =
    &[Check::agent("session.baseline-cancel", On::End(|moment, ruling| goes_on(moment, false, ruling)))];
