//! The requirements that the table of shapes decides.

use super::{agent, client};

/// The catch-all, the names of members, the spelling of values, and `_meta`.
pub(super) const AGENT_OWN: [&str; 4] = [
    "schema.valid.agent",
    "schema.camel-case.agent",
    "schema.snake-case-discriminators.agent",
    "ext.meta-object.agent",
];

/// As above, of a client.
pub(super) const CLIENT_OWN: [&str; 4] = [
    "schema.valid.client",
    "schema.camel-case.client",
    "schema.snake-case-discriminators.client",
    "ext.meta-object.client",
];

/// The variants of `session/update` are told from their other problems, since the closed union has a rule of its own.
pub(super) const VARIANT: &str = "update.known-variant";

/// The requirements that the table decides.
pub(in crate::judge) fn requirements() -> impl Iterator<Item = &'static str> {
    let rows = agent::ROWS.iter().chain(client::ROWS).map(|row| row.requirement);
    rows.chain(AGENT_OWN).chain(CLIENT_OWN).chain([VARIANT])
}
