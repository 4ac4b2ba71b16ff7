//! The answers in which the agent reports the settings of a session again.

use serde_json::Value;

use super::Event;
use crate::conversation::{Answer, Session};

/// Returns a known session with the answer that reports its modes and options, and the state of the session before it.
pub(super) fn settings_in<'m>(event: &Event<'m>, answer: &Answer<'m>) -> Option<(&'m str, &'m Session, &'m Value)> {
    const METHODS: [&str; 3] = ["session/load", "session/resume", "session/set_config_option"];
    let (exchange, result) = METHODS.into_iter().find_map(|method| answer.result_of(method))?;
    let id = exchange.session()?;
    Some((id, event.conversation.session(id)?, result))
}
