//! Explains why two reports are not of two shards of one run.

use super::words::subject;
use crate::expected::Expectation;
use crate::results::{CaseReport, RunReport, ShardInfo, SubjectInfo};

/// Explains why two reports do not belong to two shards of one run.
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
    report.expected.iter().flat_map(|expected| &expected.entries).map(Expectation::from).collect()
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
