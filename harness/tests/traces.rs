//! Trace → findings: each file under `harness/tests/traces/` is a short conversation with the expected verdicts.
//!
//! First the expected verdicts, one `requirement: verdict` per line, or `requirement: noted KIND` for what a probe
//! notes, `#` for comments; then a line `---`; then the conversation. `conversation` describes the form. Every
//! requirement that fails or is undecided must be listed. A pass need not be: each trace also passes other requirements
//! that its few lines exercise.
//!
//! All of them also form one run, whose shards must give the same results together.

use std::fs;
use std::path::{Path, PathBuf};

use acp_conformance::edition::{Editions, V1, V2};
use acp_conformance::example::conversation::{CASE, CLIENT, EDITION, OVER, Reader};
use acp_conformance::judge::{Finding, Judge, Judgement};
use acp_conformance::protocol::Edition;
use acp_conformance::requirement::Party;
use acp_conformance::trace::Trace;
use acp_conformance::verdict::Verdict;
use libtest_mimic::{Failed, Trial};

use crate::{editions, examples, joined, recorded, redacted};

/// Returns the trials of this file and of those that use the same traces.
pub fn trials() -> Vec<Trial> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("harness/tests/traces");
    let mut trials = Vec::new();
    let mut paths: Vec<PathBuf> = Vec::new();
    let areas = fs::read_dir(&root).expect("the folder of traces").flatten().map(|entry| entry.path());
    for file in areas.filter(|area| area.is_dir()).flat_map(|area| fs::read_dir(area).into_iter().flatten().flatten()) {
        let path = file.path();
        let name = format!("traces/{}", path.strip_prefix(&root).unwrap_or(&path).with_extension("").display());
        let same = path.clone();
        trials.push(Trial::test(format!("{name}/recorded"), move || recorded::check(&same)).with_kind("recording"));
        paths.push(path.clone());
        trials.push(Trial::test(name, move || check(&path)).with_kind("trace"));
    }
    paths.sort();
    let all = paths.clone();
    trials.push(Trial::test("traces/all/redacted", move || redacted::check(&all)).with_kind("redaction"));
    for edition in Editions::built_in().current() {
        let (paths_of_all, name) =
            (paths.clone(), format!("traces/all-of-{}/by-other-editions", edition.case_folder()));
        trials.push(Trial::test(name, move || editions::check(&paths_of_all, edition)).with_kind("editions"));
        for party in Party::ALL {
            let paths = paths.clone();
            let name = format!("traces/all-of-{party}s-in-{}/joined", edition.case_folder());
            trials.push(Trial::test(name, move || joined::check(&paths, party, edition)).with_kind("shards"));
        }
    }
    let name = "traces/all-of-v2/new-duties-of-a-run";
    trials.push(Trial::test(name, editions::new_duties_of_a_run).with_kind("editions"));
    for bundle in [&V1, &V2] {
        let name = format!("traces/examples-of-{}", bundle.case_folder());
        let paths = paths.clone();
        trials.push(Trial::test(name, move || examples::check(bundle, &paths)).with_kind("examples"));
    }
    trials.sort_by(|a, b| a.name().cmp(b.name()));
    trials
}

fn check(path: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(path)?;
    let (wanted, trace) = parts(&text)?;
    let mut strict = Judge::new(&trace.header, edition(&trace)).proving_subjects();
    trace.events.iter().for_each(|event| strict.event(event));
    let judgement = strict.finish();
    let mut wrong = Vec::new();
    let mut listed = Vec::new();
    let is_head =
        |line: &str| [CLIENT, CASE, ""].contains(&line) || [EDITION, OVER, "#"].iter().any(|it| line.starts_with(it));
    for line in wanted.lines().filter(|line| !is_head(line)) {
        let (requirement, verdict) =
            line.split_once(": ").ok_or_else(|| format!("`{line}` does not have the form `requirement: verdict`"))?;
        listed.push(requirement);
        if let Some(kind) = verdict.strip_prefix("noted ") {
            let notes = judgement.tallies.get(requirement).map(|tally| tally.notes.as_slice()).unwrap_or_default();
            if !notes.iter().any(|note| note.kind == kind.trim()) {
                wrong.push(format!("{requirement}: `{kind}` is not noted; found {notes:?}"));
            }
            continue;
        }
        let found = judgement.verdict(requirement);
        if found.name() != verdict.trim() {
            wrong.push(format!("{requirement}: wanted {verdict}, found {found}"));
        }
    }
    if listed.is_empty() {
        return Err("the file wants nothing".into());
    }
    for (requirement, tally) in &judgement.tallies {
        let verdict = tally.verdict();
        let is_notable = matches!(verdict, Verdict::Fail | Verdict::Inconclusive | Verdict::HarnessError);
        if is_notable && !listed.contains(&requirement.as_str()) {
            wrong.push(format!("{requirement}: {verdict} is not listed: {}", tally.findings[0].text()));
        }
    }
    wrong.extend(counted_twice(&judgement));
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// Failures of two requirements at one place that are nevertheless two mistakes, with the reason.
const TWO_MISTAKES: &[([&str; 2], &str)] = &[];

/// Returns the pairs of failures at one place for which `refers-to` in the catalogue does not make one the owner.
fn counted_twice(judgement: &Judgement) -> Vec<String> {
    let findings =
        judgement.tallies.iter().flat_map(|(id, tally)| tally.findings.iter().map(move |it| (id.as_str(), it)));
    let failed: Vec<_> = findings.filter(|(_, finding)| finding.verdict == Verdict::Fail).collect();
    let mut wrong = Vec::new();
    for (at, (one, finding)) in failed.iter().enumerate() {
        for (other, second) in failed[at + 1..].iter().filter(|(other, _)| other != one) {
            let owner = |id: &&str, finding: &Finding| finding.same_as.clone().unwrap_or_else(|| (*id).to_owned());
            let is_listed = TWO_MISTAKES.iter().any(|(pair, _)| pair.contains(one) && pair.contains(other));
            let at_one_place = finding.is_same_mistake(second) || second.is_same_mistake(finding);
            if at_one_place && !is_listed && owner(one, finding) != owner(other, second) {
                wrong
                    .push(format!("{one} and {other} fail at one place: neither refers to the other in the catalogue"));
            }
        }
    }
    wrong
}

/// The edition of a trace.
pub fn edition(trace: &Trace) -> &'static Edition {
    Editions::built_in().of(&trace.header).expect("the edition is built in").edition()
}

/// Splits a file into the expected verdicts and the conversation.
pub fn parts(text: &str) -> Result<(&str, Trace), Failed> {
    let (wanted, conversation) = text.split_once("\n---\n").ok_or("no line `---`")?;
    let mut reader = Reader::new(wanted);
    conversation.lines().try_for_each(|line| reader.line(line))?;
    Ok((wanted, reader.trace))
}
