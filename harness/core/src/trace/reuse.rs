//! The record of early traces about a process that had served other cases before.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The earlier cases of a process. Conversations that hold several cases have replaced this; a trace with it is checked like a
/// recording that begins in the middle.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reuse {
    /// The number of cases.
    pub cases: usize,
    /// Their sessions.
    pub sessions: BTreeSet<String>,
    /// The number of requests of the tester; their ids were the integers from 0.
    pub requests: i64,
}
