//! Counts each mistake once: among requirements by its owner, and among cases by the one case that fails for it.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{CaseReport, FindingReport, RequirementReport};
use crate::judge::{CaseVerdict, signature};
use crate::requirement::Level;
use crate::verdict::Verdict;

impl CaseReport {
    /// Returns the verdict without the violated requirements that the case does not name.
    #[must_use]
    pub fn own_verdict(&self) -> CaseVerdict {
        let all = || CaseVerdict { verdict: self.verdict, reason: self.reason.clone(), cause: self.cause.clone() };
        self.otherwise.clone().unwrap_or_else(all)
    }
}

/// Decides which requirements and which cases fail because of a mistake. Both are sorted; the result does not depend on
/// the order in which cases ended, and is the same for the joined reports of shards.
pub(super) fn settle(requirements: &mut [RequirementReport], cases: &mut [CaseReport]) {
    own(requirements);
    let for_it: BTreeMap<&str, BTreeSet<&str>> = cases
        .iter()
        .filter(|case| case.verdict != Verdict::HarnessError && !case.requirements.is_empty())
        .map(|case| (case.id.as_str(), case.requirements.iter().map(String::as_str).collect()))
        .collect();
    let passing = cases.iter().filter(|case| case.own_verdict().verdict == Verdict::Pass);
    let passing: BTreeSet<&str> = passing.map(|case| case.id.as_str()).collect();
    requirements.iter_mut().for_each(|requirement| count_once(requirement, &for_it, &passing));
    cases.iter_mut().for_each(|case| decide_verdict(case, requirements));
}

/// Marks the requirements that fail only by mistakes of others, and lists them in the owners.
fn own(requirements: &mut [RequirementReport]) {
    let mut general: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for requirement in requirements.iter_mut() {
        let owners: Vec<Option<&String>> = failed(requirement).map(|finding| finding.same_as.as_ref()).collect();
        let known: BTreeSet<&String> = owners.iter().copied().flatten().collect();
        for owner in &known {
            general.entry((*owner).clone()).or_default().push(requirement.id.clone());
        }
        let all = owners.iter().all(Option::is_some);
        requirement.same_as = if all { known.into_iter().cloned().collect() } else { Vec::new() };
    }
    for requirement in requirements {
        requirement.also_violates = general.remove(&requirement.id).unwrap_or_default();
    }
}

/// Makes one case fail for a violation that several show: the one that needs the fewest cases before it; of these the
/// first that names the requirement, or else the first that passes without the violation, or else the first. Every case
/// that names the requirement fails by itself, and so does every recording, which names none.
fn count_once(requirement: &mut RequirementReport, for_it: &BTreeMap<&str, BTreeSet<&str>>, passing: &BTreeSet<&str>) {
    let id = requirement.id.as_str();
    let is_own = |case: &str| for_it.get(case).is_some_and(|own| own.contains(id));
    let is_named =
        |finding: &&mut FindingReport| finding.verdict == Verdict::Fail && for_it.contains_key(finding.case.as_str());
    let mut shown: BTreeMap<String, Vec<&mut FindingReport>> = BTreeMap::new();
    for finding in requirement.findings.iter_mut().filter(is_named) {
        shown.entry(signature(&finding.kind, &finding.fields)).or_default().push(finding);
    }
    for findings in shown.into_values() {
        let rank = |finding: &FindingReport| {
            (finding.after.len(), !is_own(&finding.case), !passing.contains(finding.case.as_str()))
        };
        let Some(first) = findings.iter().min_by_key(|finding| rank(finding)) else { continue };
        let first = first.case.clone();
        for finding in findings {
            let counts_here = finding.case == first || is_own(&finding.case);
            finding.counted_in = (!counts_here).then(|| first.clone());
        }
    }
}

/// Sets the verdict on a case from the findings that count.
fn decide_verdict(case: &mut CaseReport, requirements: &[RequirementReport]) {
    let here = |requirement: &RequirementReport, counts: bool| {
        failed(requirement).any(|finding| finding.case == case.id && finding.counted_in.is_none() == counts)
    };
    let also = requirements.iter().filter(|requirement| here(requirement, false));
    case.also = also.map(|requirement| requirement.id.clone()).collect();
    let Some(otherwise) = &case.otherwise else { return };
    let musts = requirements.iter().filter(|requirement| requirement.level == Level::Must && here(requirement, true));
    match musts.map(|requirement| &requirement.id).min() {
        Some(id) => (case.verdict, case.reason, case.cause) = (Verdict::Fail, Some(id.clone()), None),
        None => {
            (case.verdict, case.reason, case.cause) =
                (otherwise.verdict, otherwise.reason.clone(), otherwise.cause.clone());
        }
    }
}

/// Returns the findings by which a requirement fails.
pub fn failed(requirement: &RequirementReport) -> impl Iterator<Item = &FindingReport> {
    requirement.findings.iter().filter(|finding| finding.verdict == Verdict::Fail)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::requirement::Party;
    use crate::results::{Collector, RunReport, join};
    use crate::testing::v1;
    use crate::trace::Trace;

    const BANNER: &str = "transport.stdout-only-messages";

    /// A message that violates nothing.
    const QUIET: &str = r#"{\"jsonrpc\":\"2.0\",\"method\":\"_x\"}"#;

    /// Builds the report on cases, each with its requirement and the output of the agent.
    fn report(cases: &[(&str, &str, &str)]) -> RunReport {
        let mut collector = Collector::new(v1(), Party::Agent, Vec::new());
        for (case, requirement, line) in cases {
            let file = format!(
                r#"{{"format":"acp-conformance-trace/2","suite":"0","edition":"v1@2026-11-20","subject":"agent","case":"{case}","requirements":["{requirement}"]}}
{{"n":0,"us":0,"from":"agent","line":"{line}"}}"#
            );
            collector.add(&Trace::read(file.as_bytes()).expect("a trace"), None);
        }
        collector.finish(Duration::ZERO, false)
    }

    fn failing(report: &RunReport) -> Vec<&str> {
        report.cases.iter().filter(|case| case.verdict == Verdict::Fail).map(|case| case.id.as_str()).collect()
    }

    #[test]
    fn one_case_fails_for_violation_of_all_cases() {
        let other = "init.respond";
        let for_none = report(&[("a", other, "Hi"), ("b", other, "Hi"), ("c", other, "Hi")]);
        assert_eq!(failing(&for_none), ["a"]);
        assert_eq!(for_none.cases[1].also, [BANNER]);
        let b_is_for_it = report(&[("a", other, "Hi"), ("b", BANNER, "Hi"), ("c", other, "Hi")]);
        assert_eq!(failing(&b_is_for_it), ["b"]);
        assert_eq!(b_is_for_it.cases[2].also, [BANNER]);
        let two_are_for_it = report(&[("a", other, "Hi"), ("b", BANNER, "Hi"), ("c", BANNER, "Hi")]);
        assert_eq!(failing(&two_are_for_it), ["b", "c"]);
        let requirement = two_are_for_it.requirements.iter().find(|it| it.id == BANNER).expect("it is judged");
        assert_eq!((requirement.verdict, requirement.findings.len()), (Verdict::Fail, 3));
    }

    #[test]
    fn case_that_passes_without_the_violation_fails_for_it() {
        let (decided, undecided) = ("transport.utf8.agent", "init.respond");
        let report = report(&[("a", undecided, "Hé"), ("b", decided, "Hé")]);
        assert_eq!(failing(&report), ["b"]);
    }

    #[test]
    fn other_cases_have_the_verdict_without_it() {
        let other = "init.respond";
        let report = report(&[("a", other, "Hi"), ("b", other, "Hi"), ("c", other, QUIET)]);
        let [_, b, c] = report.cases.as_slice() else { panic!("three cases") };
        assert_eq!((b.verdict, &b.reason, &b.cause), (c.verdict, &c.reason, &c.cause));
        assert_ne!(b.verdict, Verdict::Fail);
        let listed = report.reasons.iter().map(|reason| reason.cases.as_slice());
        assert_eq!(listed.collect::<Vec<_>>(), [["b", "c"]]);
    }

    #[test]
    fn order_and_shards_do_not_matter() {
        let other = "init.respond";
        let cases = [("a", other, "Hi"), ("b", BANNER, "Hi"), ("c", other, "Hi"), ("d", other, "Ho")];
        let whole = report(&cases);
        let mut reversed = cases;
        reversed.reverse();
        assert_eq!(report(&reversed), whole);
        for at in 1..cases.len() {
            let (one, two) = cases.split_at(at);
            assert_eq!(join(report(two), report(one)), whole);
        }
    }
}
