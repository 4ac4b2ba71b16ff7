//! Area `auth`: login methods, logging in and logging out.

pub(in crate::areas) mod agent;
pub(in crate::areas) mod client;
mod login;
pub(in crate::areas) mod terminal;
pub(in crate::areas) mod v2;

pub use self::login::LoginProcess;
pub(crate) use self::login::Logins;
use super::Check;

/// The checks of the area.
pub(super) const CHECKS: &[&[Check]] = &[agent::CHECKS, client::CHECKS, terminal::CHECKS, v2::CHECKS];
