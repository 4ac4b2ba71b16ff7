//! Lists the failures in a report one by one.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::visible::cut;
use super::words::{count, level};
use crate::requirement::{Area, Level, Status};
use crate::results::case_id;
use crate::results::{EntryReport, FindingReport, RequirementReport, RunReport};
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

/// Returns the violated requirements: those with the highest level first, then those with the most violations.
pub(crate) fn worst_first(requirements: &[RequirementReport]) -> Vec<&RequirementReport> {
    let mut failed: Vec<_> = requirements.iter().filter(|requirement| requirement.fails()).collect();
    failed.sort_by_key(|requirement| (requirement.level, Reverse(failures(requirement).count())));
    failed
}

/// MUSTs that a run left open for the same reason.
pub(super) struct OpenMusts<'r> {
    /// Their number and the reason.
    pub(super) heading: String,
    pub(super) verdict: Verdict,
    pub(super) requirements: Vec<&'r RequirementReport>,
}

/// Returns the MUSTs that a run left open, by the reason. Only a whole run shows which ones were not exercised.
pub(super) fn open_musts(report: &RunReport, whole: bool) -> Vec<OpenMusts<'_>> {
    let is_whole = whole && report.partial.is_none();
    let reasons = [
        (Verdict::Inconclusive, false, ["MUST was left undecided", "MUSTs were left undecided"]),
        (Verdict::NotExercised, false, ["MUST was not exercised", "MUSTs were not exercised"]),
        (Verdict::NotExercised, true, ["MUST is not checked by this version", "MUSTs are not checked by this version"]),
    ];
    let shown = reasons.into_iter().filter(|(verdict, ..)| is_whole || *verdict == Verdict::Inconclusive);
    let open = shown.map(|(verdict, is_planned, [one, many])| {
        let musts = report.requirements.iter().filter(|r| r.level == Level::Must && r.verdict == verdict);
        let of_reason =
            |r: &&RequirementReport| verdict == Verdict::Inconclusive || (r.status == Status::Planned) == is_planned;
        let requirements: Vec<_> = musts.filter(of_reason).collect();
        OpenMusts { heading: count(requirements.len(), one, many), verdict, requirements }
    });
    open.filter(|open| !open.requirements.is_empty()).collect()
}

/// Returns the violations of [`failures`], the best example first: from a case that fails for it, with the fewest cases
/// before it, in the requirement's own area, without a shape or context, with the fewest messages, and from a process
/// of its own.
pub(super) fn examples(requirement: &RequirementReport) -> Vec<Broken<'_>> {
    let own_area = Area::of(&requirement.id).name();
    let mut all: Vec<_> = failures(requirement).collect();
    all.sort_by_key(|Broken { finding, .. }| {
        let is_elsewhere = area(&finding.case).split('/').next() != Some(own_area);
        let has_shape = case_id::has_shape(&finding.case);
        (
            finding.counted_in.is_some(),
            finding.after.len(),
            is_elsewhere,
            has_shape,
            finding.lines.len(),
            finding.shared,
        )
    });
    all
}

/// Returns the failures that one process showed and no second one confirmed: of each requirement that none decides
/// otherwise, the one with the fewest cases before it.
pub(super) fn unconfirmed(report: &RunReport) -> impl Iterator<Item = Broken<'_>> {
    report.requirements.iter().filter(|requirement| requirement.seems_to_fail()).filter_map(|requirement| {
        let findings = requirement.findings.iter().filter(|finding| finding.unconfirmed);
        findings.min_by_key(|finding| finding.after.len()).map(|finding| Broken { requirement, finding })
    })
}

/// Returns the area of a case: its folder, without edition and party.
pub(super) fn area(case: &str) -> &str {
    let folder = case.rsplit_once('/').map_or("", |(folder, _)| folder);
    folder.splitn(3, '/').nth(2).unwrap_or(folder)
}

/// Violations by the id of the case.
pub(super) type ByCase<'r> = BTreeMap<&'r str, Vec<Broken<'r>>>;

/// Returns all violations by the id of the case.
pub(super) fn broken_by_case(report: &RunReport) -> ByCase<'_> {
    let mut by_case = ByCase::new();
    for broken in broken(report) {
        by_case.entry(&broken.finding.case).or_default().push(broken);
    }
    by_case
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
    pub(super) fn violation_text(&self) -> String {
        let Self { requirement, finding } = self;
        let mut lines = vec![
            format!("{}  ({})", requirement.id, level(requirement.level)),
            format!("  {}", requirement.text),
            format!("  case: {}", finding.case_name()),
            format!("  found: {}", self.message()),
        ];
        lines.extend(requirement.also().map(|also| format!("  {also}")));
        lines.extend(finding.counted_in.as_ref().map(|case| format!("  counted in {case}")));
        lines.extend(finding.stderr_first().map(|line| format!("    {line}")));
        lines.extend(requirement.link.as_ref().map(|link| format!("  {link}")));
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_case_of_the_area_is_the_first_example() {
        let finding = |case: &str, counted_in: Option<&str>| json!({"case": case, "verdict": "fail", "kind": "wrong", "text": "", "party": "agent", "events": [], "lines": [], "countedIn": counted_in});
        let requirement = json!({
            "id": "prompt.stop-reason", "party": "agent", "level": "must", "verdict": "fail", "text": "", "appliesWhen": "always",
            "status": "checked", "source": "", "cases": [],
            "findings": [
                finding("v1/agent/fs/read", Some("v1/agent/prompt/text")),
                finding("v1/agent/jsonrpc/exchange", None),
                finding("v1/agent/prompt/image@png", None),
                finding("v1/agent/prompt/text", None),
            ],
        });
        let requirement: RequirementReport = serde_json::from_value(requirement).expect("a requirement");
        let cases: Vec<_> = examples(&requirement).iter().map(|broken| broken.finding.case.as_str()).collect();
        let expected =
            ["v1/agent/prompt/text", "v1/agent/prompt/image@png", "v1/agent/jsonrpc/exchange", "v1/agent/fs/read"];
        assert_eq!(cases, expected);
    }

    #[test]
    fn area_is_the_folder_below_edition_and_party() {
        assert_eq!(area("v1/agent/fs/read@empty"), "fs");
        assert_eq!(area("v1/agent/own/deep/case"), "own/deep");
        assert_eq!((area("mine/case"), area("session.jsonl")), ("mine", ""));
    }
}
