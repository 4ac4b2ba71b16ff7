//! Area `config`: options of version 2.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::areas::common::decide_replaced;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Payload, option_values};
use crate::fact;
use crate::finding::Ruling;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("config.values-nonempty-unique", On::Payload(values)).only(OPTIONS),
    Check::agent("config.group-ids-unique", On::Payload(group_ids)).only(OPTIONS),
    Check::agent(
        "config.no-modes",
        On::Update(|_, update, ruling| {
            decide_replaced(update, ["current_mode_update", "config_option_update"], ruling)
        }),
    )
    .alone()
    .only(&["current_mode_update", "config_option_update"]),
];

const OPTIONS: &[&str] = &["session/new", "session/resume", "session/set_config_option", "config_option_update"];

/// Returns the select options of a payload that have a list, each with its place.
fn selects<'p>(payload: &'p Payload<'p>) -> impl Iterator<Item = (&'p str, &'p Value, &'p Vec<Value>)> {
    payload
        .places("SessionConfigOption")
        .filter(|(_, option)| option.text("type") == Some("select"))
        .filter_map(|(at, option)| Some((at, option, option.member("options")?.as_array()?)))
}

/// A select has no value twice, groups included. The table of shapes handles lists without a value.
fn values(_: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for (at, option, _) in selects(payload) {
        let mut seen = BTreeSet::new();
        let doubled = option_values(option).find(|value| !seen.insert(*value));
        let pointer = payload.pointer(at) + "/options";
        let id = option.text("configId").unwrap_or_default();
        if let Some(value) = doubled {
            ruling.fail(fact!(
                "duplicate-value",
                "the agent sent the option `{config_id}` with the value `{value}` twice; expected unique values",
                config_id = id, value; pointer = pointer
            ));
        } else if !seen.is_empty() {
            ruling.pass();
        }
    }
}

/// `groupId`: "MUST be unique within the option".
///
/// Correct but unusual: the same id in two options, and a group whose id is a value.
fn group_ids(_: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
    for (at, option, groups) in selects(payload) {
        let mut seen = BTreeSet::new();
        let ids = groups.iter().filter_map(|group| group.text("groupId"));
        match ids.into_iter().find(|id| !seen.insert(*id)) {
            Some(id) => ruling.fail(fact!(
                "duplicate-group",
                "the agent sent the option `{config_id}` with two groups `{group_id}`; expected unique ids",
                config_id = option.text("configId").unwrap_or_default(), group_id = id;
                pointer = payload.pointer(at) + "/options"
            )),
            None if seen.len() > 1 => ruling.pass(),
            None => {}
        }
    }
}
