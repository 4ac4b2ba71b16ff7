//! Joins the reports of the shards of a run to the report of the whole run.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::collect::{summary, unless_stalled};
use super::conformance::conformance;
use super::mistakes;
use super::model::{
    CaseReport, EntryReport, FindingReport, Floor, Partial, ProbeReport, RequirementReport, RunReport, ShardInfo,
    SubjectInfo, Summary, Timings,
};
use super::reasons::reasons;
use super::words::subject;
use crate::expected::Expectation;

/// Explains why two reports do not belong to two shards of one run.
#[must_use]
pub fn mismatch(one: &RunReport, other: &RunReport) -> Option<String> {
    suites(one, other)
        .or_else(|| subjects(one, other))
        .or_else(|| shards(one.shard.as_ref()?, other.shard.as_ref()?))
        .or_else(|| (one.strict != other.strict).then(|| "only one of them is --strict".to_owned()))
        .or_else(|| (expectations(one) != expectations(other)).then(|| "they expect different failures".to_owned()))
        .or_else(|| twice(one, other).map(|case| format!("the case {case} is in both")))
}

fn suites(one: &RunReport, other: &RunReport) -> Option<String> {
    let named = |report: &RunReport| format!("acp-conformance {} for {}", report.suite.version, report.suite.edition);
    let ids = |report: &RunReport| report.requirements.iter().map(|known| known.id.clone()).collect::<Vec<_>>();
    if one.suite.version != other.suite.version || one.suite.edition != other.suite.edition {
        return Some(format!("they were made by {} and by {}", named(one), named(other)));
    }
    let is_same = one.suite.schema_sha256 == other.suite.schema_sha256
        && (one.subject.kind != other.subject.kind || ids(one) == ids(other));
    (!is_same).then(|| format!("they were made by different builds of {}", named(one)))
}

fn subjects(one: &RunReport, other: &RunReport) -> Option<String> {
    let (mine, others) = (&one.subject, &other.subject);
    if mine.kind != others.kind {
        return Some(format!("one is of {}, and the other of {}", mine.kind.one(), others.kind.one()));
    }
    // A subject has no name if no case asked for it.
    let named = mine.name.is_some() && others.name.is_some();
    if named && (&mine.name, &mine.version) != (&others.name, &others.version) {
        return Some(format!("one is of {}, and the other of {}", subject(one), subject(other)));
    }
    if words(mine) != words(others) {
        let [mine, others] = [mine, others].map(|subject| shell_words::join(&subject.command));
        return Some(format!("one is of `{mine}`, and the other of `{others}`"));
    }
    (mine.driven != others.driven).then(|| "only one of them was driven by hand".to_owned())
}

/// Joins what two shards know about the subject. It has no name if no case asked for it.
fn joined(one: SubjectInfo, other: SubjectInfo) -> SubjectInfo {
    let versions: BTreeSet<u64> = one.other_versions.iter().chain(&other.other_versions).copied().collect();
    let named = if one.name.is_some() { one } else { other };
    SubjectInfo { other_versions: versions.into_iter().collect(), ..named }
}

/// Returns the command of the subject without paths that depend on the machine.
fn words(subject: &SubjectInfo) -> Vec<&str> {
    let mut words: Vec<&str> = subject.command.iter().map(String::as_str).collect();
    if let Some(program) = words.first_mut() {
        *program = program.rsplit('/').next().unwrap_or(program);
    }
    words
}

fn shards(one: &ShardInfo, other: &ShardInfo) -> Option<String> {
    if one.of != other.of {
        return Some(format!("one is a shard of {}, and the other of {}", one.of, other.of));
    }
    if one.number == other.number {
        return Some(format!("both are shard {} of {}", one.number, one.of));
    }
    let is_same = (&one.selection, one.whole) == (&other.selection, other.whole);
    (!is_same).then(|| "they are shards of different selections of cases".to_owned())
}

fn expectations(report: &RunReport) -> Vec<Expectation> {
    report.expected.iter().flat_map(|expected| &expected.entries).map(EntryReport::expectation).collect()
}

/// Returns a case that is in both, unless one of them reports only the first contact.
fn twice<'r>(one: &'r RunReport, other: &RunReport) -> Option<&'r str> {
    let is_cut = |report: &RunReport| report.shard.as_ref().is_some_and(|shard| shard.cut_short);
    if is_cut(one) || is_cut(other) {
        return None;
    }
    let is_known = |case: &&CaseReport| other.cases.iter().any(|known| known.id == case.id);
    one.cases.iter().find(is_known).map(|case| case.id.as_str())
}

/// Joins two reports without [`mismatch`]. The expected failures must be applied again, since only all cases show the result of
/// an entry.
#[must_use]
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
        summary: Summary {
            starts: one.summary.starts + other.summary.starts,
            again: one.summary.again + other.summary.again,
            fences: sums(one.summary.fences, other.summary.fences),
            ..summary(&requirements, &cases, duration_ms)
        },
        probes: probes(one.probes, other.probes),
        model: sums(one.model, other.model),
        reasons: reasons(kind, &requirements, &cases),
        requirements,
        cases,
        only_shared: [one.only_shared, other.only_shared].concat(),
        explored: None,
        expected: None,
        timings: one.timings.zip(other.timings).map(|(one, other)| timings(one, other)),
        shard: None,
        partial: partial(one.partial, other.partial),
        obstacle: one.obstacle.or(other.obstacle),
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
    let findings = sorted(one.findings, other.findings, |finding: &FindingReport| &finding.case);
    RequirementReport {
        verdict: unless_stalled(
            RequirementReport::joined([one.verdict, other.verdict], &undecided, &inapplicable),
            &findings,
        ),
        undecided,
        inapplicable,
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

fn timings(one: Timings, other: Timings) -> Timings {
    let wall = Duration::from_micros(one.wall_us + other.wall_us);
    let start_up = Duration::from_micros(one.start_up_us + other.start_up_us);
    let cases = one.cases.into_iter().chain(other.cases).collect();
    Timings::new(one.jobs.max(other.jobs), wall, start_up, floor(one.floor, other.floor), cases)
}

/// The medians come from different machines; the lower one is closer to the least time of a case.
fn floor(one: Floor, other: Floor) -> Floor {
    match (one, other) {
        (Floor::Measured { starts: a, median_us: one }, Floor::Measured { starts: b, median_us: other }) => {
            Floor::Measured { starts: a + b, median_us: one.min(other) }
        }
        (measured @ Floor::Measured { .. }, Floor::Unknown { .. }) | (_, measured) => measured,
    }
}
