//! Area `commands`: the slash commands that an agent announces.

use serde_json::Value;

use crate::areas::{Check, Moment, On};
use crate::conversation::{Answer, UpdateSeen};
use crate::fact;
use crate::finding::Ruling;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("commands.after-session", On::Update(after_session)).only(&["available_commands_update"]),
    Check::agent("commands.after-session", On::Response(before_session)).only(&["session/new"]),
];

/// "After creating a session, the Agent MAY send a list of available commands."
fn after_session(_: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if update.variant == "available_commands_update" && update.known.is_some() {
        ruling.pass();
    }
}

/// Not while the client still waits for the session's id.
fn before_session(moment: &Moment<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((_, result)) = answer.result_of("session/new") else { return };
    let id = result.member("sessionId").and_then(Value::as_str).unwrap_or_default();
    if let Some(&early) = moment.talk.course.early_commands.get(id) {
        let fact = fact!(
            "commands-before-response",
            "the agent sent the commands of `{session_id}` before its response to {method}; expected them after it",
            session_id = id,
            method = "session/new"
        );
        ruling.fail(fact, &[early]);
    }
}
