//! The way in which the tester writes its messages.

use schemars::JsonSchema;
use serde::Deserialize;

/// How the tester writes its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(rename = "WireFile")]
pub struct WireSetup {
    /// The ids of its requests; `integer` if absent.
    pub ids: Ids,
    /// Whether every object that may have a `_meta` has one.
    pub meta: bool,
}

/// The ids of the tester's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "IdsFile")]
pub enum Ids {
    /// 0, 1, 2 …, which every subject accepts.
    #[default]
    Integer,
    /// -1, -2, -3 …
    Negative,
    /// The largest integers that every JSON parser keeps: 9007199254740991, 9007199254740990 …
    Large,
    /// Texts with a blank: "request 0", "request 1" …
    Text,
    /// Texts that look like numbers: "0", "1" …
    Digits,
}
