//! The differences between two runs. Format `acp-conformance-diff/1`, for other programs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::requirement::{Level, Party};
use crate::results::{Partial, SubjectInfo, SuiteInfo};
use crate::verdict::{Conformance, Verdict};

/// The name and version of the format.
pub const FORMAT: &str = "acp-conformance-diff/1";

/// The JSON Schema of a comparison, as it is committed in `schemas/diff.schema.json`.
pub fn schema() -> serde_json::Value {
    let generator = schemars::generate::SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.into_root_schema_for::<DiffReport>().to_value()
}

/// The differences between two runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffReport {
    /// Always `acp-conformance-diff/1`.
    pub format: String,
    /// The earlier run.
    pub old: SideInfo,
    /// The later run.
    pub new: SideInfo,
    /// Whether the same suite checked both. If not, a verdict may have changed because the requirements did.
    pub same_suite: bool,
    /// Whether a requirement or a case passed before and fails now.
    pub regression: bool,
    /// The requirements whose verdict changed, in the order of the new report.
    pub requirements: Vec<VerdictChange>,
    /// The cases whose verdict changed, in the order of their ids.
    pub cases: Vec<VerdictChange>,
    /// The capabilities that changed; empty if one side has no traces.
    pub capabilities: Vec<CapabilityChange>,
    /// The cases whose messages changed; empty if one side has no traces.
    pub messages: Vec<MessageChange>,
    /// The requirements and cases that only the earlier run has.
    pub only_old: OneSided,
    /// The requirements and cases that only the later run has.
    pub only_new: OneSided,
}

/// One of the runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SideInfo {
    /// The path that it was read from.
    pub path: String,
    /// The suite that checked it.
    pub suite: SuiteInfo,
    /// The tested program.
    pub subject: SubjectInfo,
    /// The conformance of the subject.
    pub verdict: Conformance,
    /// The number of its traces.
    pub traces: usize,
    /// Why the run ended before all of its cases had run, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
}

/// A changed verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerdictChange {
    /// The id of the requirement or the case.
    pub id: String,
    /// The level of the requirement; none for a case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// The verdict in the earlier run.
    pub old: Verdict,
    /// The verdict in the later run.
    pub new: Verdict,
    /// The direction of the change.
    pub change: VerdictTrend,
    /// Whether it passed before and fails now.
    pub regression: bool,
}

/// The direction of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictTrend {
    /// It passed and no longer passes, or it fails and did not fail.
    Worse,
    /// It failed and no longer fails, or it passes and did not pass.
    Better,
    /// Neither: for example, it is undecided for another reason, or the harness failed.
    Otherwise,
}

/// A change in the capabilities that a subject advertises.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapabilityChange {
    /// The party that advertises it.
    pub by: Party,
    /// The path in its part of the initialization, such as `agentCapabilities.loadSession`.
    pub path: String,
    /// Whether it was added or removed.
    pub change: Gain,
}

/// Whether a capability was added or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Gain {
    /// Only the later run has it.
    Gained,
    /// Only the earlier run has it.
    Lost,
}

/// A case with changed messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageChange {
    /// The id of the case.
    pub case: String,
    /// The number of removed lines of the transcript.
    pub removed: usize,
    /// The number of added lines.
    pub added: usize,
    /// The changed lines as a unified diff.
    pub diff: String,
    /// Whether the diff was shortened; `--full` shows all of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// The ids that only one side has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OneSided {
    /// Requirements.
    pub requirements: Vec<String>,
    /// Cases.
    pub cases: Vec<String>,
}
