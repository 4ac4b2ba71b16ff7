//! Area `load`: the replay of `session/load`, and the turns after it.

mod agent;
mod history;
mod messages;
mod state;
mod tools;

pub use self::state::State;
use super::Check;

/// The checks of the area.
pub(super) const CHECKS: &[&[Check]] = &[agent::CHECKS, messages::CHECKS, tools::CHECKS];

const LOAD: &str = "session/load";
const USER: &str = "user_message_chunk";
const AGENT: &str = "agent_message_chunk";
