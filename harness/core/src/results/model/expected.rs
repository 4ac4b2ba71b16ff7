//! The part of a report about known failures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FindingReport, RequirementReport, RunReport};
use crate::results::mistakes::failed;
use crate::verdict::{Conformance, Verdict};

/// The results of the known failures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExpectedReport {
    /// The conformance without the expected failures, which decides the exit code.
    pub otherwise: Conformance,
    /// Every entry, in the order of the file.
    pub entries: Vec<EntryReport>,
    /// The failures that count and that have no entry.
    pub new: Vec<FailureReport>,
}

/// The result of an expectation in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It fails, as expected.
    Holds,
    /// It no longer fails: it passed, or the subject no longer advertises the capability.
    Stale,
    /// Its last day has passed.
    Expired,
    /// The run did not decide it: it was not exercised or not decided, or not all of the cases ran.
    Open,
}

impl Standing {
    /// Whether the entry fails the run.
    pub const fn is_wrong(self) -> bool {
        matches!(self, Self::Stale | Self::Expired)
    }
}

/// The result of one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntryReport {
    /// The requirement that is expected to fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirement: Option<String>,
    /// The case in which it is expected to fail, or that is expected to fail as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// The reason for the failure.
    pub reason: String,
    /// The address of more information.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The last day on which the failure is accepted, such as `2027-01-31`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// The result.
    pub standing: Standing,
    /// The verdict on the requirement or case that it names.
    pub verdict: Verdict,
    /// The remedy for an entry that is stale or expired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
    /// The failures that it expects.
    pub failures: Vec<FailureReport>,
}

/// A requirement that failed in a case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailureReport {
    /// The requirement, by its id.
    pub requirement: String,
    /// The case, by its id.
    pub case: String,
}

impl ExpectedReport {
    /// Whether every entry is still correct in this run.
    pub fn is_true(&self) -> bool {
        !self.entries.iter().any(|entry| entry.standing.is_wrong())
    }

    /// Whether the requirement fails only as expected.
    pub fn covers_all(&self, requirement: &RequirementReport) -> bool {
        requirement.verdict == Verdict::Fail
            && failed(requirement).all(|finding| self.entry_of(&requirement.id, finding).is_some())
    }

    /// Returns the entry that expects this failure.
    pub fn entry(&self, requirement: &str, case: &str) -> Option<&EntryReport> {
        let is_it = |failure: &FailureReport| failure.requirement == requirement && failure.case == case;
        self.entries.iter().find(|entry| entry.failures.iter().any(is_it))
    }

    /// Returns the entry that expects this finding, the more specific requirement that owns it, or the case that fails
    /// for it.
    pub fn entry_of(&self, requirement: &str, finding: &FindingReport) -> Option<&EntryReport> {
        let requirements = std::iter::once(requirement).chain(finding.same_as.as_deref());
        let cases = || std::iter::once(&finding.case).chain(&finding.counted_in);
        requirements.flat_map(|id| cases().map(move |case| (id, case))).find_map(|(id, case)| self.entry(id, case))
    }
}

impl FailureReport {
    /// Names a finding.
    pub fn new(requirement: &RequirementReport, finding: &FindingReport) -> Self {
        Self { requirement: requirement.id.clone(), case: finding.case.clone() }
    }
}

impl EntryReport {
    /// Returns the name of the requirement, of the case, or of the requirement in the case.
    pub fn name(&self) -> String {
        entry_name(self.requirement.as_deref(), self.case.as_deref())
    }
}

/// Returns the name of a requirement, a case, or a requirement in a case.
pub fn entry_name(requirement: Option<&str>, case: Option<&str>) -> String {
    match (requirement, case) {
        (Some(requirement), Some(case)) => format!("{requirement} in {case}"),
        (one, other) => one.or(other).unwrap_or_default().to_owned(),
    }
}

impl RunReport {
    /// Returns the requirements with unexpected failures, and only those findings.
    pub fn surprises(&self) -> Vec<RequirementReport> {
        let failing = self.requirements.iter().filter(|requirement| requirement.verdict == Verdict::Fail);
        let Some(expected) = &self.expected else { return failing.cloned().collect() };
        failing
            .filter(|requirement| !expected.covers_all(requirement))
            .cloned()
            .map(|mut requirement| {
                requirement.findings.retain(|finding| expected.entry_of(&requirement.id, finding).is_none());
                requirement
            })
            .collect()
    }
}
