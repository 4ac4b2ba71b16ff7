//! Runs that ended early, in the report.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A run that ended before all of its cases had run. A case that was interrupted is not in the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Partial {
    /// Why it ended.
    pub reason: PartialReason,
    /// The number of selected cases that did not run to their end.
    pub not_run: usize,
}

/// Why a run ended before all of its cases had run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PartialReason {
    /// Ctrl-C or SIGTERM.
    Interrupted,
    /// `--time-limit`.
    TimeLimit,
    /// `--fail-fast`, after a case failed.
    FailFast,
    /// The person who operated the subject ended it.
    Quit,
}
