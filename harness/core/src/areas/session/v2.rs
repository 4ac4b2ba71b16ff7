//! Area `session`: the effect of a cancel.

use crate::areas::cancel::v2::goes_on;
use crate::areas::{Check, On};

pub(super) const CHECKS: &[Check] =
    &[Check::agent("session.baseline-cancel", On::End(|ctx, ruling| goes_on(ctx, false, ruling)))];
