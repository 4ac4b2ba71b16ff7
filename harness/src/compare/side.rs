//! Puts two runs side by side.

use std::collections::{BTreeMap, BTreeSet};

use super::capabilities::advertised;
use super::model::{
    CapabilityChange, DiffReport, FORMAT, Gain, MessageChange, OneSided, SideInfo, VerdictChange, VerdictTrend,
};
use crate::report::model::RunReport;
use crate::requirement::Level;
use crate::snapshot::{self, Bound};
use crate::trace::Trace;
use crate::verdict::Verdict;

/// One of the runs: its report, and what its traces tell.
#[derive(Debug, Clone)]
pub struct Side {
    path: String,
    report: RunReport,
    told: BTreeMap<String, Told>,
}

/// What is kept of the trace of a case.
#[derive(Debug, Clone)]
struct Told {
    text: String,
    advertised: BTreeSet<String>,
}

impl Side {
    /// A run, with the name by which it is shown.
    #[must_use]
    pub const fn new(path: String, report: RunReport) -> Self {
        Self { path, report, told: BTreeMap::new() }
    }

    /// Adds the trace of one of its cases.
    pub fn add(&mut self, case: String, trace: &Trace) {
        let told = Told { text: snapshot::text(trace), advertised: advertised(trace) };
        self.told.insert(case, told);
    }

    /// The report.
    #[must_use]
    pub const fn report(&self) -> &RunReport {
        &self.report
    }

    fn info(&self) -> SideInfo {
        SideInfo {
            path: self.path.clone(),
            suite: self.report.suite.clone(),
            subject: self.report.subject.clone(),
            verdict: self.report.verdict,
            traces: self.told.len(),
            partial: self.report.partial,
        }
    }

    fn requirements(&self) -> Vec<(&str, Option<Level>, Verdict)> {
        self.report.requirements.iter().map(|one| (one.id.as_str(), Some(one.level), one.verdict)).collect()
    }

    fn cases(&self) -> Vec<(&str, Option<Level>, Verdict)> {
        self.report.cases.iter().map(|one| (one.id.as_str(), None, one.verdict)).collect()
    }
}

/// What changed from the one to the other.
#[must_use]
pub fn compare(old: &Side, new: &Side, bound: Bound) -> DiffReport {
    let (requirements, old_requirements, new_requirements) = verdicts(&old.requirements(), &new.requirements());
    let (cases, old_cases, new_cases) = verdicts(&old.cases(), &new.cases());
    DiffReport {
        format: FORMAT.to_owned(),
        old: old.info(),
        new: new.info(),
        same_suite: old.report.suite == new.report.suite,
        regression: requirements.iter().chain(&cases).any(|change| change.regression),
        requirements,
        cases,
        capabilities: capabilities(old, new),
        messages: messages(old, new, bound),
        only_old: OneSided { requirements: old_requirements, cases: old_cases },
        only_new: OneSided { requirements: new_requirements, cases: new_cases },
    }
}

type Judged<'s> = [(&'s str, Option<Level>, Verdict)];

/// The verdicts that changed, and what is only on the one side or only on the other.
fn verdicts(old: &Judged<'_>, new: &Judged<'_>) -> (Vec<VerdictChange>, Vec<String>, Vec<String>) {
    let before: BTreeMap<&str, Verdict> = old.iter().map(|(id, _, verdict)| (*id, *verdict)).collect();
    let after: BTreeSet<&str> = new.iter().map(|(id, ..)| *id).collect();
    let only_old = old.iter().filter(|(id, ..)| !after.contains(id)).map(|(id, ..)| (*id).to_owned()).collect();
    let only_new = new.iter().filter(|(id, ..)| !before.contains_key(id)).map(|(id, ..)| (*id).to_owned()).collect();
    let both = new.iter().filter_map(|(id, level, after)| Some((*id, *level, *before.get(id)?, *after)));
    let changed = both.filter(|(_, _, before, after)| before != after).map(|(id, level, old, new)| VerdictChange {
        id: id.to_owned(),
        level,
        old,
        new,
        change: direction(old, new),
        regression: old == Verdict::Pass && new == Verdict::Fail,
    });
    (changed.collect(), only_old, only_new)
}

fn direction(old: Verdict, new: Verdict) -> VerdictTrend {
    // A failure of the harness says nothing about the subject, on either side.
    let rank = |verdict| match verdict {
        Verdict::Pass => Some(2),
        Verdict::Inconclusive | Verdict::NotApplicable | Verdict::NotExercised => Some(1),
        Verdict::Fail => Some(0),
        Verdict::HarnessError => None,
    };
    match (rank(old), rank(new)) {
        (Some(old), Some(new)) if new < old => VerdictTrend::Worse,
        (Some(old), Some(new)) if new > old => VerdictTrend::Better,
        _ => VerdictTrend::Otherwise,
    }
}

/// The cases of which both sides have a trace.
fn common<'s>(old: &'s Side, new: &'s Side) -> impl Iterator<Item = (&'s String, &'s Told, &'s Told)> {
    old.told.iter().filter_map(|(case, told)| Some((case, told, new.told.get(case)?)))
}

/// What is advertised in any of the common cases; in others, more or less may be.
fn capabilities(old: &Side, new: &Side) -> Vec<CapabilityChange> {
    let before: BTreeSet<&String> = common(old, new).flat_map(|(_, old, _)| &old.advertised).collect();
    let after: BTreeSet<&String> = common(old, new).flat_map(|(_, _, new)| &new.advertised).collect();
    let by = new.report.subject.kind;
    let changes = before.symmetric_difference(&after);
    changes
        .map(|path| CapabilityChange {
            by,
            path: (*path).clone(),
            change: if after.contains(path) { Gain::Gained } else { Gain::Lost },
        })
        .collect()
}

fn messages(old: &Side, new: &Side, bound: Bound) -> Vec<MessageChange> {
    let differing =
        common(old, new).filter_map(|(case, old, new)| Some((case, snapshot::changes(&old.text, &new.text, bound)?)));
    differing
        .map(|(case, changes)| MessageChange {
            case: case.clone(),
            removed: changes.removed,
            added: changes.added,
            diff: changes.diff,
            cut: changes.cut,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::Verdict::{Fail, HarnessError, Inconclusive, NotApplicable, NotExercised, Pass};
    use super::VerdictTrend::{Better, Otherwise, Worse};
    use super::*;

    #[test]
    fn a_change_has_a_direction_and_only_from_pass_to_fail_is_it_a_regression() {
        for (old, new, wanted, is_regression) in [
            (Pass, Fail, Worse, true),
            (Pass, Inconclusive, Worse, false),
            (NotExercised, Fail, Worse, false),
            (Fail, Pass, Better, false),
            (Inconclusive, Pass, Better, false),
            (Inconclusive, NotExercised, Otherwise, false),
            (NotApplicable, NotExercised, Otherwise, false),
            (Pass, HarnessError, Otherwise, false),
            (HarnessError, Fail, Otherwise, false),
        ] {
            let (changes, ..) = verdicts(&[("a", None, old)], &[("a", None, new)]);
            assert_eq!((changes[0].change, changes[0].regression), (wanted, is_regression), "{old} → {new}");
        }
        let (changes, only_old, only_new) = verdicts(&[("a", None, Pass), ("b", None, Pass)], &[("b", None, Pass)]);
        assert_eq!((changes, only_old, only_new), (Vec::new(), vec!["a".to_owned()], Vec::new()));
    }
}
