//! The requirements that the table of shapes decides.

use super::{agent, client, v2};

/// The catch-all, the names of members, the spelling of values, and `_meta`.
pub(super) const AGENT_OWN: [&str; 4] = [
    "schema.valid.agent",
    "schema.camel-case.agent",
    "schema.snake-case-discriminators.agent",
    "ext.meta-object.agent",
];

/// The same for a client.
pub(super) const CLIENT_OWN: [&str; 4] = [
    "schema.valid.client",
    "schema.camel-case.client",
    "schema.snake-case-discriminators.client",
    "ext.meta-object.client",
];

/// The requirement on the variants of `session/update`, which is separate because the union is closed.
pub(super) const VARIANT: &str = "update.known-variant";

/// As above, where the union is open to variants with an underscore.
pub(super) const OPEN_VARIANT: &str = "update.variant-values";

/// The requirements on values of open sets that no row owns, that of the agent first.
pub(super) const CUSTOM_VALUES: [&str; 2] = ["ext.values-prefixed.agent", "ext.values-prefixed.client"];

/// Returns the requirements that the table decides.
pub(in crate::judge) fn requirements() -> impl Iterator<Item = &'static str> {
    let rows = [agent::ROWS, client::ROWS, v2::AGENT, v2::CLIENT].into_iter().flatten().map(|row| row.requirement);
    rows.chain(AGENT_OWN).chain(CLIENT_OWN).chain(CUSTOM_VALUES).chain([VARIANT, OPEN_VARIANT])
}
