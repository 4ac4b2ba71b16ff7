//! Area `system-prompt`: the client's instructions for a session, their acceptance, and their way to the model.

mod agent;
mod client;
mod state;

use serde_json::Value;

pub use self::state::State;
use super::Check;
use crate::protocol::Feature;
use crate::wire::Members;

/// The checks of the area.
pub(super) const CHECKS: &[&[Check]] = &[agent::CHECKS, client::CHECKS];

/// The name of the member in the requests that open a session.
const MEMBER: &str = "systemPrompt";

const CAPABILITY: Feature<'static> = Feature::Member(MEMBER);

const OVERRIDE: Feature<'static> = Feature::SystemPromptMode("override");

/// Returns the system prompt in the params; null counts as absent.
fn prompt_in(params: &Value) -> Option<&Value> {
    params.given(MEMBER)
}

fn mode_of(prompt: &Value) -> Option<&str> {
    prompt.member("mode")?.as_str()
}

fn blocks_of(prompt: &Value) -> &[Value] {
    prompt.list("content")
}
