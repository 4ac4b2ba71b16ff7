//! What changed between two runs. Format `acp-conformance-diff/1`, read by other programs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::model::{Partial, SubjectInfo, SuiteInfo};
use crate::requirement::{Level, Party};
use crate::verdict::{Conformance, Verdict};

/// The name and version of the format.
pub const FORMAT: &str = "acp-conformance-diff/1";

/// The JSON Schema of a comparison, as it is committed in `schemas/diff.schema.json`.
#[must_use]
pub fn schema() -> serde_json::Value {
    let generator = schemars::generate::SchemaSettings::draft2020_12().for_serialize().into_generator();
    generator.into_root_schema_for::<DiffReport>().to_value()
}

/// What changed from one run to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DiffReport {
    /// Always `acp-conformance-diff/1`.
    pub format: String,
    /// The run before.
    pub old: SideInfo,
    /// The run after.
    pub new: SideInfo,
    /// Whether both were judged by the same suite. Otherwise a verdict may have changed because the rules did.
    pub same_suite: bool,
    /// Whether a requirement or a case passed before and fails now.
    pub regression: bool,
    /// The requirements with another verdict, in the order of the new report.
    pub requirements: Vec<VerdictChange>,
    /// The cases with another verdict, in the order of their ids.
    pub cases: Vec<VerdictChange>,
    /// What the subject advertises otherwise; empty where one side has no traces.
    pub capabilities: Vec<CapabilityChange>,
    /// The cases in which other messages were exchanged; empty where one side has no traces.
    pub messages: Vec<MessageChange>,
    /// What only the run before has.
    pub only_old: OneSided,
    /// What only the run after has.
    pub only_new: OneSided,
}

/// One of the runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SideInfo {
    /// From where it was read.
    pub path: String,
    /// By what was judged.
    pub suite: SuiteInfo,
    /// What was judged.
    pub subject: SubjectInfo,
    /// The conformance of the subject.
    pub verdict: Conformance,
    /// How many traces it has.
    pub traces: usize,
    /// Why the run ended before all of its cases had run, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
}

/// Another verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerdictChange {
    /// The requirement or the case, by its id.
    pub id: String,
    /// How binding the requirement is; none for a case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// The verdict before.
    pub old: Verdict,
    /// The verdict after.
    pub new: Verdict,
    /// In which direction that is.
    pub change: VerdictTrend,
    /// Whether it passed before and fails now.
    pub regression: bool,
}

/// The direction of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictTrend {
    /// Something passed and no longer does, or fails that did not.
    Worse,
    /// Something failed and no longer does, or passes that did not.
    Better,
    /// Neither: it is undecided for another reason, or the harness failed.
    Otherwise,
}

/// What a subject advertises otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapabilityChange {
    /// Who advertises it, to the other party.
    pub by: Party,
    /// The path in its part of the initialization, such as `agentCapabilities.loadSession`.
    pub path: String,
    /// Whether it is there now, or no longer.
    pub change: Gain,
}

/// Whether something came or went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Gain {
    /// It was not there before.
    Gained,
    /// It is no longer there.
    Lost,
}

/// Other messages in a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageChange {
    /// The case, by its id.
    pub case: String,
    /// How many lines of the transcript went.
    pub removed: usize,
    /// How many came.
    pub added: usize,
    /// The lines that differ, in the unified form.
    pub diff: String,
    /// Whether something of that was left out; `--full` shows it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// What is only on one side, by id.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OneSided {
    /// Requirements.
    pub requirements: Vec<String>,
    /// Cases.
    pub cases: Vec<String>,
}
