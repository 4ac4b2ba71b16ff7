//! Joins the reports of several runs of the same cases.

use std::collections::BTreeMap;

use super::conformance::conformance;
use super::model::{CaseReport, FindingReport, Repeated, RequirementReport, RunReport, Summary};
use super::reasons::reasons;
use crate::verdict::Verdict;

/// Joins reports of runs of the same cases, in their order: a requirement or a case that failed in any run fails, and
/// each has the verdicts of all runs. The subject and the end of the run are those of the last report.
///
/// Returns `None` without reports.
pub fn join_runs(reports: Vec<RunReport>) -> Option<RunReport> {
    let mut repeated = Repeated { runs: reports.len(), ..Repeated::default() };
    let mut requirements: Vec<RequirementReport> = Vec::new();
    let mut cases: BTreeMap<String, CaseReport> = BTreeMap::new();
    let (mut duration_ms, mut starts, mut again) = (0_u64, 0, 0);
    let mut last = None;
    for mut report in reports {
        for (index, new) in std::mem::take(&mut report.requirements).into_iter().enumerate() {
            count(&mut repeated.requirements, &new.id, new.verdict);
            match requirements.get_mut(index) {
                None => requirements.push(new),
                Some(known) => add(known, new),
            }
        }
        for new in std::mem::take(&mut report.cases) {
            count(&mut repeated.cases, &new.id, new.verdict);
            match cases.get_mut(&new.id) {
                Some(known) if !replaces(new.verdict, known.verdict) => {}
                _ => drop(cases.insert(new.id.clone(), new)),
            }
        }
        duration_ms = duration_ms.saturating_add(report.summary.duration_ms);
        starts += report.summary.starts;
        again += report.summary.again;
        last = Some(report);
    }
    let last = last?;
    let cases: Vec<CaseReport> = cases.into_values().collect();
    let summary = Summary::of(&requirements, &cases, duration_ms);
    Some(RunReport {
        verdict: conformance(&requirements, &cases, last.strict),
        summary: Summary { starts, again, fences: last.summary.fences.clone(), ..summary },
        reasons: reasons(last.subject.kind, &requirements, &cases),
        requirements,
        cases,
        repeated: Some(repeated),
        ..last
    })
}

/// Whether a verdict of a later run replaces the one of an earlier run.
pub fn replaces(new: Verdict, known: Verdict) -> bool {
    new != known && Verdict::over_cases([known, new]) == new
}

fn count(counts: &mut BTreeMap<String, BTreeMap<Verdict, usize>>, id: &str, verdict: Verdict) {
    *counts.entry(id.to_owned()).or_default().entry(verdict).or_default() += 1;
}

/// Adds the result of a later run for a requirement. A failure brings its evidence.
fn add(known: &mut RequirementReport, new: RequirementReport) {
    if replaces(new.verdict, known.verdict) {
        *known = new;
    } else if new.verdict == Verdict::Fail {
        let is_new = |finding: &FindingReport| {
            finding.verdict == Verdict::Fail && !known.findings.iter().any(|one| one.case == finding.case)
        };
        let (further, _): (Vec<_>, Vec<_>) = new.findings.into_iter().partition(is_new);
        known.findings.extend(further);
        known.findings.sort_by(|a, b| a.case.cmp(&b.case));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::requirement::Party;
    use crate::results::Collector;
    use crate::testing::v1;
    use crate::trace::Trace;
    use crate::verdict::Conformance;

    /// Returns the report on a run of one case, in which the agent sends this line.
    fn run(line: &str) -> RunReport {
        let file = format!(
            r#"{{"format":"acp-conformance-trace/2","suite":"0","edition":"v1@2026-11-20","subject":"agent","case":"a","requirements":["transport.stdout-only-messages"]}}
{{"n":0,"us":0,"from":"agent","line":"{line}"}}"#
        );
        let mut collector = Collector::new(v1(), Party::Agent, Vec::new());
        collector.add(&Trace::read(file.as_bytes()).expect("a trace"), None);
        collector.finish(Duration::from_millis(2), false)
    }

    #[test]
    fn a_failure_in_some_runs_fails_and_is_counted() {
        let (fine, wrong) = (r#"{\"jsonrpc\":\"2.0\",\"method\":\"_x\"}"#, "Welcome!");
        let joined = join_runs([fine, wrong, fine, wrong, fine].map(run).into()).expect("five reports");
        let repeated = joined.repeated.as_ref().expect("several runs");
        let sometimes = repeated.sometimes_fails("transport.stdout-only-messages");
        assert_eq!(sometimes.as_deref(), Some("failed in 2 of 5 runs"));
        assert_eq!(repeated.cases["a"], [(Verdict::Pass, 3), (Verdict::Fail, 2)].into());
        assert_eq!(repeated.unstable_cases().count(), 1);
        assert_eq!((joined.verdict, joined.cases[0].verdict), (Conformance::NotConformant, Verdict::Fail));
        assert_eq!((joined.summary.cases["fail"], joined.summary.duration_ms), (1, 10));
        let always = join_runs([wrong, wrong].map(run).into()).and_then(|joined| joined.repeated).expect("two runs");
        assert_eq!(always.sometimes_fails("transport.stdout-only-messages"), None);
        assert_eq!(always.unstable_cases().count(), 0);
    }
}
