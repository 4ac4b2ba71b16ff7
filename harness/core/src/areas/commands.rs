//! Area `commands`: the slash commands that an agent announces.

mod state;

use std::collections::BTreeSet;

pub use self::state::State;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Answer, Payload, UpdateSeen};
use crate::fact;
use crate::finding::Ruling;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("commands.after-session", On::Update(after_session)).only(&["available_commands_update"]),
    Check::agent("commands.after-session", On::Response(before_session)).only(&["session/new"]),
    Check::agent("commands.name-form", On::Payload(name_form)).only(COMMANDS),
    Check::agent("commands.name-unique", On::Payload(name_unique)).only(COMMANDS),
];

const COMMANDS: &[&str] = &["session/new", "session/resume", "available_commands_update"];

/// "After creating a session, the Agent MAY send a list of available commands."
fn after_session(_: &CheckContext<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    if update.variant == "available_commands_update" && update.known.is_some() {
        ruling.pass();
    }
}

/// Not while the client still waits for the session's id.
fn before_session(ctx: &CheckContext<'_>, answer: &Answer<'_>, ruling: &mut Ruling<'_>) {
    let Some((_, result)) = answer.result_of("session/new") else { return };
    let id = result.text("sessionId").unwrap_or_default();
    if let Some(&early) = ctx.areas.commands.early.get(id) {
        ruling.proved_by(&[early]).fail(fact!(
            "commands-before-response",
            "the agent sent the commands of `{session_id}` before its response to {method}; expected them after it",
            session_id = id,
            method = "session/new"
        ));
    }
}

/// Returns the names of the commands that a payload lists.
fn names<'m>(payload: &Payload<'m>) -> Vec<&'m str> {
    payload.places("Command").filter_map(|(_, command)| command.member("name")?.as_str()).collect()
}

/// Command names contain no whitespace and no leading slash.
///
/// Correct but unusual: names with colons, dots or letters beyond ASCII.
fn name_form(_: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for name in names(payload) {
        ruling.decide(!name.starts_with('/') && !name.contains(char::is_whitespace), || {
            fact!(
                "command-name",
                "the agent listed the command `{actual}`; expected a name without spaces and without a slash at its \
                start",
                actual = name;
                method = payload.method
            )
        });
    }
}

/// Command names are unique in a list.
fn name_unique(_: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    let (names, mut seen) = (names(payload), BTreeSet::new());
    match names.iter().find(|name| !seen.insert(**name)) {
        Some(name) => ruling.fail(fact!(
            "duplicate-command",
            "the agent listed two commands with the name `{name}`; expected unique names",
            name; method = payload.method
        )),
        None if names.len() > 1 => ruling.pass(),
        None => {}
    }
}
