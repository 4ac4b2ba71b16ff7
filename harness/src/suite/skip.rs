//! Decides which cases need no run, since cases like them showed nothing.

use crate::case::Case;
use crate::judge::{CaseVerdict, Cause};
use crate::results::{CaseReport, Collector, case_id};
use crate::run::Useless;
use crate::verdict::Verdict;

/// Returns the report on a case that needs no run: the subject did nothing that concerns its requirements in the shapes
/// of its file that have run. A context needs only that the first use decided nothing, and does not apply where that
/// does not.
pub(super) fn skip_repeated(collector: &Collector, case: &Case) -> Option<CaseReport> {
    if let Some(first) = case.first_use() {
        let first = collector.case(first)?;
        let CaseVerdict { verdict, reason, cause } = first.own_verdict();
        return match verdict {
            Verdict::NotApplicable => {
                let (id, title) = (case.id.clone(), Some(case.title.clone()));
                let own = CaseReport { verdict, reason, cause, otherwise: None, ..first };
                Some(CaseReport { id, title, duration_ms: 0, trace: None, stderr: Vec::new(), ..own })
            }
            _ if decided_nothing(&first) => {
                let reason = format!("skipped: its first use, {}, decided nothing", first.id);
                Some(skipped(case, first.id, reason))
            }
            _ => None,
        };
    }
    let file = case_id::file(&case.id);
    let shapes = collector.cases(|id| case_id::file(id) == file);
    let run: Vec<CaseReport> = shapes.filter(|report| report.verdict != Verdict::NotExercised).collect();
    let first = run.first().filter(|_| run.iter().all(exercised_nothing))?;
    let reason = format!("skipped: nothing happened in {} to which its requirements apply", first.id);
    Some(skipped(case, first.id.clone(), reason))
}

/// Returns the report on a case that would lead as little as cases before it.
pub(super) fn useless(case: &Case, like: &Useless) -> CaseReport {
    let report = skipped(case, like.case().to_owned(), format!("skipped: {like}"));
    match like {
        // The report counts them among those that waited for the answer.
        Useless::NoAnswer { method, .. } => {
            let cause = Cause::MessageMissing { method: Some((*method).to_owned()), timed_out: true };
            CaseReport { cause: Some(cause), ..report }
        }
        _ => report,
    }
}

/// Returns the report on a case that does not run because of what happened in the case `after`.
fn skipped(case: &Case, after: String, reason: String) -> CaseReport {
    CaseReport {
        id: case.id.clone(),
        title: Some(case.title.clone()),
        verdict: Verdict::NotExercised,
        duration_ms: 0,
        file: case.own_file().map(str::to_owned),
        trace: None,
        otherwise: None,
        reason: Some(reason),
        cause: Some(Cause::Skipped { after }),
        requirements: case.requirements.clone(),
        also: Vec::new(),
        notes: Vec::new(),
        stderr: Vec::new(),
    }
}

/// Returns whether a case decided no requirement that it names.
fn decided_nothing(case: &CaseReport) -> bool {
    let is_partial = |cause: &Cause| {
        matches!(cause, Cause::NotExercised { requirements } | Cause::Undecided { requirements }
            if requirements.len() < case.requirements.len())
    };
    let own = case.own_verdict();
    let is_open = matches!(own.cause, Some(Cause::Unconfirmed { .. }));
    !matches!(own.verdict, Verdict::Pass | Verdict::Fail) && !is_open && !own.cause.as_ref().is_some_and(is_partial)
}

/// Whether a case ran to its end and its subject did nothing to which its requirements apply. A case that a refusal, a
/// login or an exit ended says nothing about other shapes.
fn exercised_nothing(case: &CaseReport) -> bool {
    let all = case.requirements.len();
    matches!(case.own_verdict().cause, Some(Cause::NotExercised { requirements }) if requirements.len() == all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::embedded_case;
    use crate::edition::V1;
    use crate::requirement::Party;
    use crate::trace::Trace;

    #[test]
    fn a_context_is_skipped_although_its_undecided_first_use_shows_another_mistake() {
        let mut collector = Collector::new(V1.edition(), Party::Agent, Vec::new());
        let first = r#"{"format":"acp-conformance-trace/2","suite":"0","edition":"v1@2026-11-20","subject":"agent","case":"v1/agent/fs/read","requirements":["fs.read.params"]}
{"n":0,"us":0,"from":"agent","line":"a banner"}"#;
        collector.add(&Trace::read(first.as_bytes()).expect("a trace"), None);
        assert_eq!(collector.case("v1/agent/fs/read").map(|case| case.verdict), Some(Verdict::Fail));
        let again = embedded_case("v1/agent/fs/read@again", &V1).expect("a case");
        let skipped = skip_repeated(&collector, &again).expect("its first use decided nothing");
        assert!(matches!(skipped.cause, Some(Cause::Skipped { after }) if after == "v1/agent/fs/read"));
    }
}
