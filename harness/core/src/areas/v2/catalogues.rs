//! Areas `commands`, `config` and `compaction`: the lists that an agent shows, and the chunks of a summary.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::areas::{Check, Moment, On};
use crate::conversation::{Payload, UpdateSeen, option_text, option_values};
use crate::fact;
use crate::finding::Ruling;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("commands.name-form", On::Payload(name_form)).only(COMMANDS),
    Check::agent("commands.name-unique", On::Payload(name_unique)).only(COMMANDS),
    Check::agent("config.values-nonempty-unique", On::Payload(values)).only(OPTIONS),
    Check::agent("compaction.chunk-in-progress", On::Update(chunk)).only(&["compaction_summary_chunk"]),
];

const COMMANDS: &[&str] = &["session/new", "session/resume", "available_commands_update"];
const OPTIONS: &[&str] = &["session/new", "session/resume", "session/set_config_option", "config_option_update"];

/// Returns the names of the commands that a payload lists.
fn names<'m>(payload: &Payload<'m>) -> Vec<&'m str> {
    payload.places("Command").filter_map(|(_, command)| command.member("name")?.as_str()).collect()
}

/// Command names contain no whitespace and no leading slash.
///
/// Correct but unusual: names with colons, dots or letters beyond ASCII.
fn name_form(_: &Moment<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for name in names(payload) {
        ruling.decide(!name.starts_with('/') && !name.contains(char::is_whitespace), || {
            fact!(
                "command-name",
                "the agent listed the command `{actual}`; expected a name without spaces and without a slash at its start",
                actual = name; method = payload.method
            )
        });
    }
}

/// Command names are unique in a list.
fn name_unique(_: &Moment<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    let (names, mut seen) = (names(payload), BTreeSet::new());
    match names.iter().find(|name| !seen.insert(**name)) {
        Some(name) => {
            let fact = fact!(
                "duplicate-command",
                "the agent listed two commands with the name `{name}`; expected unique names",
                name; method = payload.method
            );
            ruling.fail(fact, &[]);
        }
        None if names.len() > 1 => ruling.pass(),
        None => {}
    }
}

/// A select has no value twice, groups included. The schema wants at least one.
fn values(_: &Moment<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    let selects =
        payload.places("SessionConfigOption").filter(|(_, option)| option_text(option, "type") == Some("select"));
    for (at, option) in selects.filter(|(_, option)| option.member("options").is_some_and(Value::is_array)) {
        let mut seen = BTreeSet::new();
        let doubled = option_values(option).find(|value| !seen.insert(*value));
        let pointer = payload.pointer(at) + "/options";
        let id = option_text(option, "configId").unwrap_or_default();
        if let Some(value) = doubled {
            let fact = fact!(
                "duplicate-value",
                "the agent sent the option `{config_id}` with the value `{value}` twice; expected unique values",
                config_id = id, value; pointer = pointer
            );
            ruling.fail(fact, &[]);
        } else if !seen.is_empty() {
            ruling.pass();
        }
    }
}

/// Summary chunks come only while that compaction is in progress.
///
/// Correct but unusual: a recording or a replay that begins within a compaction, and a status with an underscore. Only a
/// compaction that the agent reported as over fails.
fn chunk(_: &Moment<'_>, update: &UpdateSeen<'_>, ruling: &mut Ruling<'_>) {
    let Some(session) =
        update.known.filter(|session| session.resuming.is_none() && update.variant == "compaction_summary_chunk")
    else {
        return;
    };
    let Some(id) = update.body.member("compactionId").and_then(Value::as_str) else { return };
    match session.compactions.get(id).map(String::as_str) {
        Some("in_progress") => ruling.pass(),
        Some(status @ ("completed" | "failed" | "cancelled")) => {
            let fact = fact!(
                "chunk-after-end",
                "the agent sent a summary chunk of the compaction `{compaction_id}`, which is {status}",
                compaction_id = id, status; pointer = "/params/update/compactionId"
            );
            ruling.fail(fact, &[]);
        }
        _ => {}
    }
}
