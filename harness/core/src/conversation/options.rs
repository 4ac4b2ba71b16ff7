//! The config options of a session, and those that a later list left out.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Exchange;
use super::session::Session;
use crate::wire::Members;

/// The most omitted options and values that are remembered.
const MOST_DROPPED: usize = 4096;

/// The id of an option, which version 2 calls `configId`.
pub fn option_id(option: &Value) -> Option<&str> {
    option.text("id").or(option.text("configId"))
}

/// Whether a value is one of an option: of its list, or a boolean.
fn offers(option: &Value, value: &Value) -> bool {
    match value {
        Value::String(text) => option_values(option).any(|offered| offered == text),
        Value::Bool(_) => option.text("type") == Some("boolean"),
        _ => false,
    }
}

/// Returns the values that a select offers, flat or in groups.
pub fn option_values(option: &Value) -> impl Iterator<Item = &str> {
    entries(option).filter_map(|entry| entry.text("value"))
}

/// Returns the name of a value that a select offers.
pub fn value_name<'o>(option: &'o Value, value: &str) -> Option<&'o str> {
    entries(option).find(|entry| entry.text("value") == Some(value))?.text("name")
}

/// Returns the entries of a select: first those outside of groups, and the groups themselves.
fn entries(option: &Value) -> impl Iterator<Item = &Value> {
    let offered = option.list("options").iter();
    offered.clone().chain(offered.flat_map(|group| group.list("options")))
}

/// Returns the current value of each option, by its id.
pub fn current_values(options: &[Value]) -> BTreeMap<&str, &Value> {
    options.iter().filter_map(|option| Some((option_id(option)?, option.member("currentValue")?))).collect()
}

/// Returns each option alone and with each of its values.
fn choices(options: &[Value]) -> BTreeSet<(String, Option<String>)> {
    let of = |option: &Value| {
        let id = option_id(option).unwrap_or_default().to_owned();
        let values: Vec<_> = option_values(option).map(|value| (id.clone(), Some(value.to_owned()))).collect();
        std::iter::once((id, None)).chain(values).collect::<Vec<_>>()
    };
    options.iter().flat_map(of).collect()
}

impl Session {
    /// Whether this is the id of an option that sets the mode.
    fn is_mode_option(&self, id: Option<&str>) -> bool {
        let mut options = self.options.iter().flatten().filter(|option| option_id(option) == id);
        id.is_some() && options.any(|option| option.text("category") == Some("mode"))
    }

    /// Whether the request sets the mode or an option to its current value, as far as the client knows.
    pub(super) fn has_setting(&self, exchange: &Exchange) -> bool {
        match exchange.method.as_str() {
            "session/set_mode" => exchange.text("modeId").is_some_and(|mode| self.mode() == Some(mode)),
            "session/set_config_option" => {
                let values = current_values(self.options.as_deref().unwrap_or_default());
                let value = exchange.params.member("value");
                value.is_some() && exchange.text("configId").and_then(|id| values.get(id).copied()) == value
            }
            _ => false,
        }
    }

    /// Whether the request sets the mode or an option to a value that the session lists.
    pub(super) fn lists_setting(&self, exchange: &Exchange) -> bool {
        match exchange.method.as_str() {
            "session/set_mode" => exchange.text("modeId").is_some_and(|mode| self.lists_mode(mode)),
            "session/set_config_option" => {
                let mut meant =
                    self.options.iter().flatten().filter(|option| option_id(option) == exchange.text("configId"));
                let value = exchange.params.member("value");
                value.is_some_and(|value| meant.any(|option| offers(option, value)))
            }
            _ => false,
        }
    }

    /// Records that the client set an option; one of the category mode also sets the mode.
    pub(super) fn learn_option(&mut self, exchange: &Exchange) {
        self.was_set = true;
        if self.is_mode_option(exchange.text("configId")) {
            self.mode_set = None;
            self.chosen_mode = exchange.text("value").map(str::to_owned);
        }
    }

    /// Records which entries of the previous list a new list leaves out; a client may still be choosing from them.
    pub(super) fn note_dropped(&mut self, n: usize, now: &[Value]) {
        let Some(before) = &self.options else { return };
        let (before, now) = (choices(before), choices(now));
        self.dropped.retain(|choice, _| !now.contains(choice));
        let room = MOST_DROPPED.saturating_sub(self.dropped.len());
        self.dropped.extend(before.difference(&now).take(room).map(|choice| (choice.clone(), n)));
    }
}
