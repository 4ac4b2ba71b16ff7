//! Area `config`: options of version 2.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::areas::common::decide_replaced;
use crate::areas::{Check, CheckContext, On};
use crate::conversation::{Payload, option_text, option_values};
use crate::fact;
use crate::finding::Ruling;
use crate::wire::Members;

pub(super) const CHECKS: &[Check] = &[
    Check::agent("config.values-nonempty-unique", On::Payload(values)).only(OPTIONS),
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

/// A select has no value twice, groups included. The schema wants at least one.
fn values(_: &CheckContext<'_>, payload: &Payload<'_>, ruling: &mut Ruling<'_>) {
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
