//! The part of a report about known failures.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FindingReport, RequirementReport};
use crate::expected::{self, Expectation, Standing, parse_day};
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
    #[must_use]
    pub fn is_true(&self) -> bool {
        !self.entries.iter().any(|entry| entry.standing.is_wrong())
    }

    /// Returns the entry that expects this failure.
    #[must_use]
    pub fn entry(&self, requirement: &str, case: &str) -> Option<&EntryReport> {
        let is_it = |failure: &FailureReport| failure.requirement == requirement && failure.case == case;
        self.entries.iter().find(|entry| entry.failures.iter().any(is_it))
    }

    /// Returns the entry that expects this finding, the more specific requirement that owns it, or the case that fails for it.
    #[must_use]
    pub fn entry_of(&self, requirement: &str, finding: &FindingReport) -> Option<&EntryReport> {
        let requirements = std::iter::once(requirement).chain(finding.same_as.as_deref());
        let cases = || std::iter::once(&finding.case).chain(&finding.counted_in);
        requirements.flat_map(|id| cases().map(move |case| (id, case))).find_map(|(id, case)| self.entry(id, case))
    }
}

impl FailureReport {
    pub(in crate::report) fn new(requirement: &RequirementReport, finding: &FindingReport) -> Self {
        Self { requirement: requirement.id.clone(), case: finding.case.clone() }
    }
}

impl EntryReport {
    /// Returns the entry as written, to apply it again.
    #[must_use]
    pub fn expectation(&self) -> Expectation {
        Expectation {
            requirement: self.requirement.clone(),
            case: self.case.clone(),
            reason: self.reason.clone(),
            link: self.link.clone(),
            expires: self.expires.as_deref().and_then(|day| parse_day(day).ok()),
            place: None,
        }
    }

    /// Returns the requirement and case that the entry names.
    #[must_use]
    pub fn name(&self) -> String {
        expected::name(self.requirement.as_deref(), self.case.as_deref())
    }
}
