//! Lists the failures in a report one by one.

use std::collections::BTreeMap;

use super::model::{EntryReport, FindingReport, RequirementReport, RunReport};
use super::visible::cut;
use super::words::level;
use crate::verdict::Verdict;

/// The longest message without a cut.
const LONGEST: usize = 2000;

/// A violated requirement and the finding.
#[derive(Clone, Copy)]
pub(super) struct Broken<'r> {
    pub(super) requirement: &'r RequirementReport,
    pub(super) finding: &'r FindingReport,
}

/// Returns all violations, in the order of the catalogue.
pub(super) fn broken(report: &RunReport) -> impl Iterator<Item = Broken<'_>> {
    report.requirements.iter().flat_map(failures)
}

/// Returns every violation of a requirement by its own mistakes.
pub(super) fn failures(requirement: &RequirementReport) -> impl Iterator<Item = Broken<'_>> {
    let is_own = |finding: &&FindingReport| finding.verdict == Verdict::Fail && finding.same_as.is_none();
    requirement.findings.iter().filter(is_own).map(move |finding| Broken { requirement, finding })
}

/// Returns all violations by the id of the case.
pub(super) fn broken_by_case(report: &RunReport) -> BTreeMap<&str, Vec<Broken<'_>>> {
    let mut by_case: BTreeMap<&str, Vec<Broken<'_>>> = BTreeMap::new();
    for broken in broken(report) {
        by_case.entry(&broken.finding.case).or_default().push(broken);
    }
    by_case
}

impl FindingReport {
    /// Returns the title and the id of its case.
    pub(super) fn case_name(&self) -> String {
        match &self.case_title {
            Some(title) => format!("{title} ({})", self.case),
            None => self.case.clone(),
        }
    }
}

impl Broken<'_> {
    /// Returns the entry of the baseline that expects it.
    pub(super) fn expected<'r>(&self, report: &'r RunReport) -> Option<&'r EntryReport> {
        report.expected.as_ref()?.entry_of(&self.requirement.id, self.finding)
    }

    /// Whether its case fails because of it: it counts, was not expected, and no other case fails for it.
    pub(super) fn counts(&self, report: &RunReport) -> bool {
        report.counts(self.requirement.level) && self.expected(report).is_none() && self.finding.counted_in.is_none()
    }

    /// Returns the observation.
    pub(super) fn message(&self) -> String {
        cut(&self.finding.text, LONGEST)
    }

    /// Returns the requirement, the case and the observation, with the lines that prove it.
    pub(super) fn told(&self) -> String {
        let Self { requirement, finding } = self;
        let mut lines = vec![
            format!("{}  ({})", requirement.id, level(requirement.level)),
            format!("  {}", requirement.text),
            format!("  case: {}", finding.case_name()),
            format!("  found: {}", self.message()),
        ];
        lines.extend(requirement.also().map(|also| format!("  {also}")));
        lines.extend(finding.counted_in.as_ref().map(|case| format!("  counted in {case}")));
        lines.extend(finding.lines.iter().map(|line| format!("    {line}")));
        lines.extend(requirement.link.as_ref().map(|link| format!("  {link}")));
        lines.join("\n")
    }
}
