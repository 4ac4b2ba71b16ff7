//! The random walks of `--explore`, in the report.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The random walks of a run. The shortest walk that breaks a requirement is a case of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explored {
    /// The number of walks that ran.
    pub walks: usize,
    /// The number that determines the walks, together with the cases that passed.
    pub seed: u64,
    /// The failures that a walk showed once, and not when it ran again. They fail nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unconfirmed: Vec<Unconfirmed>,
}

/// A failure that a walk showed only once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unconfirmed {
    /// The id of the walk, which `--case` repeats.
    pub walk: String,
    /// The requirement.
    pub requirement: String,
    /// The kind of the finding.
    pub kind: String,
    /// The trace file, if traces are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}
