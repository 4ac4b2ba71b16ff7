//! Sets what is known to fail apart from what is new.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::collect::conformance;
use super::model::{Conformance, FindingReport, RequirementReport, RunReport};
use crate::expected::{self, Date, Expectation, Standing};
use crate::requirement::Level;
use crate::verdict::Verdict;

/// What became of the failures that are known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExpectedReport {
    /// The conformance apart from the expected failures, by which the run exits.
    pub otherwise: Conformance,
    /// Every entry, in the order in which it was written.
    pub entries: Vec<EntryReport>,
    /// The failures that count and that no entry expects.
    pub new: Vec<FailureReport>,
}

/// What became of one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntryReport {
    /// The requirement that is expected to fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirement: Option<String>,
    /// The case in which it is, or that is expected to fail as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// Why it fails.
    pub reason: String,
    /// Where to read more about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The last day on which the failure is accepted, such as `2027-01-31`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// What became of it.
    pub standing: Standing,
    /// What the run says of that which it names.
    pub verdict: Verdict,
    /// What to do about an entry that is stale or expired.
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

/// With what expectations are weighed.
#[derive(Debug, Clone, Copy)]
pub struct Weighing {
    /// Whether all cases were run that there are for the subject.
    pub whole: bool,
    /// Whether a broken SHOULD counts like a broken MUST.
    pub strict: bool,
    /// The day in UTC.
    pub today: Date,
}

impl ExpectedReport {
    /// Whether every entry is still true, as far as the run tells.
    #[must_use]
    pub fn is_true(&self) -> bool {
        !self.entries.iter().any(|entry| entry.standing.is_wrong())
    }

    /// The entry that expects this failure.
    #[must_use]
    pub fn entry(&self, requirement: &str, case: &str) -> Option<&EntryReport> {
        let is_it = |failure: &FailureReport| failure.requirement == requirement && failure.case == case;
        self.entries.iter().find(|entry| entry.failures.iter().any(is_it))
    }
}

impl RunReport {
    /// Weighs what is expected against what was found.
    #[must_use]
    pub fn weigh(&self, expectations: &[Expectation], weighing: Weighing) -> ExpectedReport {
        let concerned = expectations.iter().filter(|entry| entry.concerns(self.subject.kind));
        let entries: Vec<EntryReport> = concerned.map(|entry| self.weigh_one(entry, weighing)).collect();
        let mut report = ExpectedReport { otherwise: self.verdict, entries, new: Vec::new() };
        let surprises = self.failures(weighing.strict).filter(|it| report.entry(&it.requirement, &it.case).is_none());
        report.new = surprises.collect();
        report.new.sort();
        report.new.dedup();
        let expected = |requirement: &&RequirementReport| self.is_expected(requirement, &report);
        let rest = self.requirements.iter().filter(|requirement| !expected(requirement));
        report.otherwise = conformance(rest, &self.cases, weighing.strict);
        report
    }

    fn weigh_one(&self, entry: &Expectation, weighing: Weighing) -> EntryReport {
        let verdict = self.verdict_on(entry);
        let standing = entry.standing(verdict, weighing.whole, weighing.today);
        // A case is expected to fail by what decides it; a requirement is, whether it decides or not.
        let all = weighing.strict || entry.requirement.is_some();
        let mut failures: Vec<FailureReport> = match standing {
            Standing::Holds => self.failures(all).filter(|it| entry.covers(&it.requirement, &it.case)).collect(),
            _ => Vec::new(),
        };
        failures.sort();
        failures.dedup();
        EntryReport {
            requirement: entry.requirement.clone(),
            case: entry.case.clone(),
            reason: entry.reason.clone(),
            link: entry.link.clone(),
            expires: entry.expires.map(|day| day.to_string()),
            standing,
            verdict,
            remedy: entry.remedy(standing, verdict),
            failures,
        }
    }

    /// What the run says of that which an entry names.
    fn verdict_on(&self, entry: &Expectation) -> Verdict {
        let requirement =
            entry.requirement.as_ref().and_then(|id| self.requirements.iter().find(|known| known.id == *id));
        let was_run = |case: &String| self.cases.iter().any(|known| known.id == *case);
        match (requirement, &entry.case) {
            (Some(requirement), Some(case)) if was_run(case) => verdict_in(requirement, case),
            (Some(_), Some(_)) => Verdict::NotExercised,
            (Some(requirement), None) => requirement.verdict,
            (None, Some(case)) if entry.requirement.is_none() => {
                let found = self.cases.iter().find(|known| known.id == *case);
                found.map_or(Verdict::NotExercised, |found| found.verdict)
            }
            (None, _) => Verdict::NotExercised,
        }
    }

    /// The failures of MUSTs, and if asked those of all requirements; once for each finding.
    fn failures(&self, all: bool) -> impl Iterator<Item = FailureReport> {
        let counted = self.requirements.iter().filter(move |it| all || it.level == Level::Must);
        counted.flat_map(|requirement| {
            failed(requirement)
                .map(|finding| FailureReport { requirement: requirement.id.clone(), case: finding.case.clone() })
        })
    }

    /// Whether the requirement fails, and only as expected.
    fn is_expected(&self, requirement: &RequirementReport, expected: &ExpectedReport) -> bool {
        requirement.verdict == Verdict::Fail
            && failed(requirement).all(|finding| expected.entry(&requirement.id, &finding.case).is_some())
    }

    /// The requirements that fail otherwise than expected, with those findings alone that are new.
    #[must_use]
    pub fn surprises(&self) -> Vec<RequirementReport> {
        let failing = self.requirements.iter().filter(|requirement| requirement.verdict == Verdict::Fail);
        let Some(expected) = &self.expected else { return failing.cloned().collect() };
        failing
            .filter(|requirement| !self.is_expected(requirement, expected))
            .cloned()
            .map(|mut requirement| {
                requirement.findings.retain(|finding| expected.entry(&requirement.id, &finding.case).is_none());
                requirement
            })
            .collect()
    }
}

fn failed(requirement: &RequirementReport) -> impl Iterator<Item = &FindingReport> {
    requirement.findings.iter().filter(|finding| finding.verdict == Verdict::Fail)
}

/// What one case says of a requirement.
fn verdict_in(requirement: &RequirementReport, case: &str) -> Verdict {
    let found = requirement.findings.iter().filter(|finding| finding.case == case).map(|finding| finding.verdict);
    match found.max() {
        Some(verdict) => verdict,
        None if requirement.cases.iter().any(|known| known == case) => Verdict::Pass,
        None if requirement.verdict == Verdict::NotApplicable => Verdict::NotApplicable,
        None => Verdict::NotExercised,
    }
}

impl EntryReport {
    /// The entry as it was written, to be weighed again.
    #[must_use]
    pub fn expectation(&self) -> Expectation {
        Expectation {
            requirement: self.requirement.clone(),
            case: self.case.clone(),
            reason: self.reason.clone(),
            link: self.link.clone(),
            expires: self.expires.as_deref().and_then(|day| day.parse().ok()),
            place: None,
        }
    }

    /// What the entry names.
    #[must_use]
    pub fn name(&self) -> String {
        expected::name(self.requirement.as_deref(), self.case.as_deref())
    }
}
