//! Variants of recorded traces: each is checked again, and must not fail any requirement.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;

use acp_conformance::judge::{Judgement, judge};
use acp_conformance::protocol::Edition;
use acp_conformance::requirement::{Level, Party};
use acp_conformance::trace::{Trace, What};
use acp_conformance::verdict::Verdict;

use crate::apply::{Whose, variant};
use crate::choices::{Choices, mix, seed_of};
use crate::kinds::{ILLEGAL, Kind};
use crate::survey::{Recording, Survey};
use crate::table::Seen;

/// The strength of a change: one site in so many, and the party whose lines change. A variant takes one of them by its
/// seed.
const STRENGTHS: [(u32, Whose); 3] = [(1, Whose::Subjects), (2, Whose::Both), (6, Whose::Subjects)];

/// A variant to test.
struct Try<'s> {
    survey: &'s Survey,
    kind: &'s Kind,
    recording: &'s Recording,
    partner: &'s Recording,
    whose: Whose,
    one_in: u32,
    seed: u64,
}

/// A requirement that fails in a variant and not in the recorded trace.
pub struct FalseFailure {
    pub requirement: String,
    message: String,
    /// The lines that prove it.
    events: Vec<usize>,
}

impl Try<'_> {
    fn choices(&self) -> Choices {
        Choices::random(self.seed, self.one_in)
    }

    fn make(&self, choices: &mut Choices) -> Trace {
        let traces = [&self.recording.trace, &self.partner.trace];
        variant(self.kind, self.survey.edition(), traces, self.whose, choices)
    }

    fn failures(&self, sites: &[usize]) -> (Trace, Vec<FalseFailure>) {
        let trace = self.make(&mut Choices::these(self.seed, sites.iter().copied()));
        let edition = self.survey.edition();
        let failures = new_failures(edition, &judge(&trace, edition), &self.recording.failures);
        (trace, failures)
    }

    /// Returns the fewest sites with which the requirement fails.
    fn shrunk(&self, taken: &[usize], requirement: &str) -> Vec<usize> {
        let fails = |sites: &[usize]| self.failures(sites).1.iter().any(|failure| failure.requirement == requirement);
        if let Some(single) = taken.iter().find(|&&site| fails(&[site])) {
            return vec![*single];
        }
        let mut sites = taken.to_vec();
        let mut at = 0;
        while at < sites.len() && sites.len() > 1 {
            let mut fewer = sites.clone();
            fewer.remove(at);
            if fails(&fewer) { sites = fewer } else { at += 1 }
        }
        sites
    }
}

/// Returns the requirements that fail now and did not before.
pub fn new_failures(edition: &Edition, judgement: &Judgement, before: &BTreeSet<String>) -> Vec<FalseFailure> {
    let failed = judgement.tallies.iter().filter(|(id, tally)| {
        tally.verdict() == Verdict::Fail && !before.contains(*id) && !edition.catalogue.is_probe(id)
    });
    let first = failed.filter_map(|(id, tally)| {
        let finding = tally.findings.iter().find(|finding| finding.verdict == Verdict::Fail)?;
        let (requirement, message) = (id.clone(), finding.text());
        Some(FalseFailure { requirement, message, events: finding.events.clone() })
    });
    first.collect()
}

/// Tests a transformation on every wanted case of a party; returns a text about each false failure.
pub fn check(kind: &'static Kind, party: Party, survey: &Survey, seeds: Range<u64>) -> Result<usize, String> {
    let mut tried = 0;
    let mut story = String::new();
    let mut known = BTreeSet::new();
    let is_planted = kind.name == ILLEGAL.name;
    let mut cases = survey.cases(party);
    // Transformations that run at the same time start with different cases.
    let first = seed_of(kind.name) % (cases.len() as u64).max(1);
    cases.rotate_left(usize::try_from(first).unwrap_or_default());
    for at in cases {
        let (case, recording) = (survey.case(at), survey.recording(at));
        for seed in seeds.clone() {
            let seed = mix(mix(seed_of(kind.name), seed), seed_of(&case.id));
            let (one_in, whose) = STRENGTHS[usize::try_from(seed % STRENGTHS.len() as u64).unwrap_or_default()];
            let partner = survey.partner(at, seed as usize);
            let one = Try { survey, kind, recording, partner, whose, one_in, seed };
            let mut choices = one.choices();
            let trace = one.make(&mut choices);
            if trace == recording.trace {
                continue;
            }
            tried += 1;
            let judgement = judge(&trace, survey.edition());
            if !is_planted {
                count(survey, recording, &judgement, &case.id);
            }
            for failure in new_failures(survey.edition(), &judgement, &recording.failures) {
                if known.insert(failure.requirement.clone()) {
                    add_to_story(&mut story, &one, &choices.taken, &failure.requirement, &case.id);
                }
            }
        }
    }
    if !is_planted {
        let mut counts = survey.counts.lock().expect("the counts");
        counts.variants[0] += tried;
        *counts.by_kind.entry(kind.name.to_owned()).or_default() += tried;
    }
    if story.is_empty() { Ok(tried) } else { Err(format!("{}\nlegal by: {}{story}", kind.name, kind.rule)) }
}

/// Counts the results of the variant for the requirements that the recording satisfies.
pub fn count(survey: &Survey, recording: &Recording, judgement: &Judgement, case: &str) {
    let mut counts = survey.counts.lock().expect("the counts");
    let failures = new_failures(survey.edition(), judgement, &recording.failures);
    for failure in failures.iter().filter(|failure| !recording.passes.contains(&failure.requirement)) {
        counts.add(&failure.requirement, case, Seen::Failed);
    }
    for requirement in &recording.passes {
        let seen = match judgement.verdict(requirement) {
            Verdict::Pass => Seen::Passed,
            Verdict::Fail => Seen::Failed,
            _ => Seen::Undecided,
        };
        counts.add(requirement, case, seen);
    }
}

/// Describes a false failure with the fewest sites that cause it.
fn add_to_story(story: &mut String, one: &Try<'_>, taken: &[usize], requirement: &str, case: &str) {
    let sites = one.shrunk(taken, requirement);
    let (trace, failures) = one.failures(&sites);
    let Some(failure) = failures.iter().find(|failure| failure.requirement == requirement) else { return };
    story.push_str(&describe(one.survey.edition(), failure, case, &trace));
    let _ = write!(story, "\n  changed lines of: {:?}, at the sites {sites:?}", one.whose);
    differences(story, &one.recording.trace, &trace);
}

/// Describes a false failure with the lines that should prove it.
pub fn describe(edition: &Edition, failure: &FalseFailure, case: &str, trace: &Trace) -> String {
    let FalseFailure { requirement, message, events } = failure;
    let level = edition.catalogue.find(requirement).map_or("unknown", |requirement| Level::name(requirement.level));
    let mut text = format!("\n\n{requirement} ({level}) in {case}: {message}");
    for &event in events {
        let _ = write!(text, "\n  evidence {event}: {}", shown(trace, event));
    }
    text
}

/// Lists the first lines that differ.
fn differences(story: &mut String, before: &Trace, after: &Trace) {
    const MOST: usize = 3;
    let lines = |trace: &Trace| (0..trace.events.len()).map(|n| shown(trace, n)).collect::<Vec<_>>();
    let [before, after] = [before, after].map(lines);
    let [old, new] = [&before, &after].map(|lines| lines.iter().collect::<BTreeSet<_>>());
    for line in before.iter().filter(|line| !new.contains(line)).take(MOST) {
        let _ = write!(story, "\n  - {line}");
    }
    for line in after.iter().filter(|line| !old.contains(line)).take(MOST) {
        let _ = write!(story, "\n  + {line}");
    }
}

fn shown(trace: &Trace, event: usize) -> String {
    const LONGEST: usize = 400;
    let Some(event) = trace.events.get(event) else { return "(no such event)".to_owned() };
    let text = match &event.what {
        What::Line { from, bytes, .. } => format!("{from}: {}", String::from_utf8_lossy(bytes)),
        other => format!("{other:?}"),
    };
    text.chars().take(LONGEST).collect()
}
