//! Joins the reports of the shards of a run to the report of the whole run.

use std::collections::{BTreeMap, BTreeSet};

use super::conformance::conformance;
use super::mistakes;
use super::model::{FindingReport, Partial, ProbeReport, RequirementReport, RunReport, SubjectInfo, Summary};
use super::reasons::reasons;
use super::requirement::unless_open;

/// Joins two reports of shards of one run. The expected failures must be applied again, since only all cases show the
/// result of an entry.
pub fn join(one: RunReport, other: RunReport) -> RunReport {
    let pairs = one.requirements.into_iter().zip(other.requirements);
    let mut requirements: Vec<_> = pairs.map(|(one, other)| requirement(one, other)).collect();
    let mut cases = sorted(one.cases, other.cases, |case| &case.id);
    mistakes::settle(&mut requirements, &mut cases);
    let kind = one.subject.kind;
    let duration_ms = one.summary.duration_ms.saturating_add(other.summary.duration_ms);
    RunReport {
        format: one.format,
        suite: one.suite,
        subject: joined(one.subject, other.subject),
        began: one.began.into_iter().chain(other.began).min(),
        verdict: conformance(&requirements, &cases, one.strict),
        strict: one.strict,
        selection: one.selection || other.selection,
        summary: Summary {
            starts: one.summary.starts + other.summary.starts,
            again: one.summary.again + other.summary.again,
            fences: sums(one.summary.fences, other.summary.fences),
            ..Summary::of(&requirements, &cases, duration_ms)
        },
        probes: probes(one.probes, other.probes),
        model: sums(one.model, other.model),
        reasons: reasons(kind, &requirements, &cases),
        requirements,
        cases,
        explored: None,
        expected: None,
        repeated: None,
        shard: None,
        partial: partial(one.partial, other.partial),
        obstacle: one.obstacle.or(other.obstacle),
        is_wrong_program: one.is_wrong_program || other.is_wrong_program,
        next_steps: Vec::new(),
    }
}

fn partial(one: Option<Partial>, other: Option<Partial>) -> Option<Partial> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Partial { not_run: one.not_run + other.not_run, ..one }),
        (one, other) => one.or(other),
    }
}

fn sums(one: BTreeMap<String, usize>, other: BTreeMap<String, usize>) -> BTreeMap<String, usize> {
    let mut sums = one;
    for (name, count) in other {
        *sums.entry(name).or_default() += count;
    }
    sums
}

fn requirement(one: RequirementReport, other: RequirementReport) -> RequirementReport {
    let undecided = sorted(one.undecided, other.undecided, |case| case);
    let inapplicable = sorted(one.inapplicable, other.inapplicable, |case| case);
    let applies = one.applies.max(other.applies);
    let findings = sorted(one.findings, other.findings, |finding: &FindingReport| &finding.case);
    RequirementReport {
        verdict: unless_open(
            RequirementReport::joined([one.verdict, other.verdict], &undecided, &inapplicable, applies),
            &findings,
        ),
        undecided,
        inapplicable,
        applies,
        cases: sorted(one.cases, other.cases, |case| case),
        findings,
        notes: notes(one.notes, other.notes),
        hints: one.hints.into_iter().chain(other.hints).collect(),
        ..one
    }
}

fn probes(one: Vec<ProbeReport>, other: Vec<ProbeReport>) -> Vec<ProbeReport> {
    let mut probes = one;
    for new in other {
        match probes.iter_mut().find(|known| known.id == new.id) {
            None => probes.push(new),
            Some(known) => {
                known.notes = notes(std::mem::take(&mut known.notes), new.notes);
                known.cases = sorted(std::mem::take(&mut known.cases), new.cases, |case| case);
            }
        }
    }
    probes.sort_by(|a, b| a.id.cmp(&b.id));
    probes
}

/// Merges both in the order of their cases. Entries of the same case keep their order.
fn sorted<T>(one: Vec<T>, other: Vec<T>, case: impl Fn(&T) -> &String) -> Vec<T> {
    let mut all: Vec<T> = one.into_iter().chain(other).collect();
    all.sort_by(|a, b| case(a).cmp(case(b)));
    all
}

fn notes(one: Vec<String>, other: Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = one.into_iter().chain(other).collect();
    all.sort();
    all.dedup();
    all
}

/// Joins what two shards know about the subject. It has no name if no case asked for it.
fn joined(one: SubjectInfo, other: SubjectInfo) -> SubjectInfo {
    let versions: BTreeSet<u64> = one.other_versions.iter().chain(&other.other_versions).copied().collect();
    let shows_edition = one.shows_edition || other.shows_edition;
    let named = if one.name.is_some() { one } else { other };
    SubjectInfo { other_versions: versions.into_iter().collect(), shows_edition, ..named }
}
