//! Counts each mistake once: among requirements by its owner, and among cases by the one case that fails for it.
//!
//! Which case that is depends on the cases alone, never on when they ran. A case may show a mistake in one run and be
//! undecided about it in the next, because a message crossed another one; its verdict is the same in both.

use std::collections::{BTreeMap, BTreeSet};

use super::case_id;
use super::model::{CaseReport, FindingReport, RequirementReport};
use crate::judge::{CaseVerdict, Cause, signature};
use crate::requirement::{Area, Level};
use crate::verdict::Verdict;

impl CaseReport {
    /// Returns the verdict without the violated requirements that the case does not name, and as if no other case
    /// showed the same mistakes.
    pub fn own_verdict(&self) -> CaseVerdict {
        let all = || CaseVerdict { verdict: self.verdict, reason: self.reason.clone(), cause: self.cause.clone() };
        self.otherwise.clone().unwrap_or_else(all)
    }

    fn set_verdict(&mut self, CaseVerdict { verdict, reason, cause }: CaseVerdict) {
        (self.verdict, self.reason, self.cause) = (verdict, reason, cause);
    }
}

/// Decides which requirements and which cases fail because of a mistake. Both are sorted; the result does not depend on
/// the order in which cases ended, and is the same for the joined reports of shards.
pub(super) fn settle(requirements: &mut [RequirementReport], cases: &mut [CaseReport]) {
    own(requirements);
    let names: BTreeMap<&str, &[String]> = cases
        .iter()
        .filter(|case| case.verdict != Verdict::HarnessError && !case.requirements.is_empty())
        .map(|case| (case.id.as_str(), case.requirements.as_slice()))
        .collect();
    let passing = cases.iter().filter(|case| case.own_verdict().verdict == Verdict::Pass);
    let passing: BTreeSet<&str> = passing.map(|case| case.id.as_str()).collect();
    requirements.iter_mut().for_each(|requirement| count_once(requirement, &names, &passing));
    count_with_owner(requirements);
    cases.iter_mut().for_each(|case| decide_verdict(case, requirements));
    follow_first_use(cases);
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
/// first by [`rank`]. Every recording, which names no requirement, fails by itself.
fn count_once(requirement: &mut RequirementReport, names: &BTreeMap<&str, &[String]>, passing: &BTreeSet<&str>) {
    let id = requirement.id.clone();
    let is_of_case = |finding: &&mut FindingReport| {
        finding.verdict == Verdict::Fail && finding.same_as.is_none() && names.contains_key(finding.case.as_str())
    };
    let mut shown: BTreeMap<String, Vec<&mut FindingReport>> = BTreeMap::new();
    for finding in requirement.findings.iter_mut().filter(is_of_case) {
        shown.entry(signature(&finding.kind, &finding.fields)).or_default().push(finding);
    }
    for findings in shown.into_values() {
        let first = findings.iter().min_by_key(|finding| {
            let own = names.get(finding.case.as_str()).copied().unwrap_or_default();
            (finding.after.len(), rank(&id, &finding.case, own, passing))
        });
        let Some(first) = first.map(|finding| finding.case.clone()) else { continue };
        for finding in findings {
            finding.counted_in = (finding.case != first).then(|| first.clone());
        }
    }
}

/// Counts a finding where its owner counts.
fn count_with_owner(requirements: &mut [RequirementReport]) {
    let of_owner = |requirement: &RequirementReport| {
        let counted = |finding: &FindingReport| {
            let elsewhere = finding.counted_in.clone()?;
            Some(((requirement.id.clone(), finding.case.clone()), elsewhere))
        };
        failed(requirement).filter_map(counted).collect::<Vec<_>>()
    };
    let counted: BTreeMap<(String, String), String> = requirements.iter().flat_map(of_owner).collect();
    for finding in requirements.iter_mut().flat_map(|requirement| &mut requirement.findings) {
        if let Some(owner) = &finding.same_as {
            finding.counted_in = counted.get(&(owner.clone(), finding.case.clone())).cloned();
        }
    }
}

/// Orders the cases that show a violation: first those written for the requirement, which name it first; then others
/// that name it; then those that pass without the violation. Of these, the plain case of the requirement's area.
fn rank(id: &str, case: &str, names: &[String], passing: &BTreeSet<&str>) -> impl Ord + use<> {
    let place = names.iter().position(|known| known == id).unwrap_or(usize::MAX);
    let is_elsewhere = !case.split('/').any(|part| part == Area::of(id).name());
    (place, !passing.contains(case), is_elsewhere, case_id::has_shape(case), case.to_owned())
}

/// Sets the verdict on a case from the findings that count.
fn decide_verdict(case: &mut CaseReport, requirements: &[RequirementReport]) {
    let here = |requirement: &RequirementReport, counts: bool| {
        let is_here = |finding: &FindingReport| finding.case == case.id && finding.same_as.is_none();
        failed(requirement).any(|finding| is_here(finding) && finding.counted_in.is_none() == counts)
    };
    let also = requirements.iter().filter(|requirement| here(requirement, false));
    case.also = also.map(|requirement| requirement.id.clone()).collect();
    if case.verdict == Verdict::HarnessError || case.requirements.is_empty() {
        return;
    }
    let own = case.own_verdict();
    let musts = requirements.iter().filter(|requirement| requirement.level == Level::Must && here(requirement, true));
    if let Some(id) = musts.map(|requirement| &requirement.id).min() {
        case.set_verdict(CaseVerdict { verdict: Verdict::Fail, reason: Some(id.clone()), cause: None });
    } else if let Some(same) = same_mistake(case, &own, requirements) {
        case.otherwise = Some(own);
        case.set_verdict(same);
    } else {
        case.set_verdict(own);
    }
}

/// Returns the verdict on a case that shows a violation for which another case fails, or that could not decide the
/// violated requirement: it names that requirement.
fn same_mistake(case: &CaseReport, own: &CaseVerdict, requirements: &[RequirementReport]) -> Option<CaseVerdict> {
    // Other reasons, such as an exit, say more than the mistake of another case.
    let may_be_open = match (own.verdict, &own.cause) {
        (Verdict::Fail, _) => false,
        (Verdict::Inconclusive, Some(Cause::Undecided { .. } | Cause::StepUnmet { .. } | Cause::Refused { .. })) => {
            true
        }
        _ => return None,
    };
    let named = requirements.iter().filter(|requirement| {
        let is_violated = requirement.level == Level::Must && requirement.verdict == Verdict::Fail;
        is_violated && case.requirements.contains(&requirement.id)
    });
    named.into_iter().find_map(|requirement| {
        let here = || requirement.findings.iter().filter(|finding| finding.case == case.id);
        let is_open = may_be_open && here().any(|finding| finding.verdict == Verdict::Inconclusive && !finding.stalled);
        let counted = || here().find_map(|finding| finding.counted_in.clone());
        let first = if is_open { first_case(requirement) } else { counted() };
        first.map(|failed| CaseVerdict::same_mistake(&requirement.id, failed))
    })
}

/// Returns the first case that fails for a violation of the requirement.
fn first_case(requirement: &RequirementReport) -> Option<String> {
    failed(requirement).find(|finding| finding.counted_in.is_none()).map(|finding| finding.case.clone())
}

/// Whether a case in a context runs depends on what its first use decided. Where that shows the mistake of another
/// case, the context has the same verdict, whether it ran or not.
fn follow_first_use(cases: &mut [CaseReport]) {
    let same: BTreeMap<String, CaseVerdict> = cases
        .iter()
        .filter(|case| matches!(case.cause, Some(Cause::SameMistake { .. })))
        .map(|case| {
            (
                case.id.clone(),
                CaseVerdict { cause: case.cause.clone(), reason: case.reason.clone(), verdict: case.verdict },
            )
        })
        .collect();
    for case in cases {
        let first = match &case.own_verdict().cause {
            Some(Cause::Skipped { after }) => same.get(after).cloned(),
            _ => None,
        };
        if let Some(verdict) = first {
            case.otherwise = Some(case.own_verdict());
            case.set_verdict(verdict);
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

    use serde_json::json;

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
        assert_eq!(failing(&two_are_for_it), ["b"]);
        let other = &two_are_for_it.cases[2];
        assert_eq!((other.verdict, other.reason.as_deref()), (Verdict::Inconclusive, Some("same mistake as b")));
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

    /// Returns the verdicts on a case and its context, after another case failed for the same requirement; the case
    /// has this verdict on it, and its context follows from that.
    fn after_race(verdict: &str) -> Vec<CaseVerdict> {
        let finding = |case: &str, verdict: &str| json!({"case": case, "verdict": verdict, "kind": verdict, "text": "", "party": "agent", "events": [], "lines": []});
        let case = |id: &str, verdict: &str, cause: serde_json::Value| -> CaseReport {
            let own = json!({"verdict": verdict, "reason": "x", "cause": cause});
            let otherwise = if verdict == "fail" { own } else { json!(null) };
            let case = json!({
                "id": id, "verdict": verdict, "durationMs": 1, "requirements": ["r"], "reason": "x", "cause": cause,
                "otherwise": otherwise,
            });
            serde_json::from_value(case).expect("a case")
        };
        let mut findings = vec![finding("a", "fail"), finding("b", verdict)];
        let undecided = json!({"kind": "undecided", "requirements": ["r"]});
        let mut cases = vec![case("a", "fail", json!(null))];
        if verdict == "fail" {
            findings.push(finding("b@again", verdict));
            cases.extend([case("b", verdict, json!(null)), case("b@again", verdict, json!(null))]);
        } else {
            let skipped = json!({"kind": "skipped", "after": "b"});
            cases.extend([case("b", verdict, undecided), case("b@again", "not-exercised", skipped)]);
        }
        let requirement = json!({
            "id": "r", "party": "agent", "level": "must", "verdict": "fail", "text": "", "appliesWhen": "always",
            "status": "checked", "source": "", "cases": [], "findings": findings,
        });
        let mut requirements = [serde_json::from_value(requirement).expect("a requirement")];
        settle(&mut requirements, &mut cases);
        let first = cases.clone();
        settle(&mut requirements, &mut cases);
        assert_eq!(cases, first, "settling again changes nothing");
        let shown = |case: &CaseReport| CaseVerdict {
            verdict: case.verdict,
            reason: case.reason.clone(),
            cause: case.cause.clone(),
        };
        cases.iter().map(shown).collect()
    }

    #[test]
    fn a_case_has_the_same_verdict_whether_a_race_left_it_undecided_or_not() {
        let failed = after_race("fail");
        assert_eq!(failed.iter().map(|case| case.verdict).collect::<Vec<_>>()[0], Verdict::Fail);
        assert_eq!(failed[1], CaseVerdict::same_mistake("r", "a".to_owned()));
        assert_eq!(failed[2], failed[1]);
        assert_eq!(after_race("inconclusive"), failed);
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
