//! Varied runs: the reference program with a layer that changes its messages, or their times, in a sample of the cases.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, thread};

use acp_conformance::case::model::{Action, Case};
use acp_conformance::judge::judge;
use acp_conformance::protocol::Edition;
use acp_conformance::requirement::Party;
use acp_conformance::run::{Subject, run_case};
use fastrand::Rng;

use crate::choices::{mix, seed_of};
use crate::kinds::{self, How, Kind};
use crate::offline::{count, describe, new_failures};
use crate::reference;
use crate::rewrite::REWRITE;
use crate::survey::Survey;

/// The number of cases of a party for each transformation.
const SAMPLE: usize = 20;

/// The number of parallel cases. They mostly wait.
const AT_ONCE: usize = 8;

/// How the lines of the subject are delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// At once.
    AtOnce,
    /// Each up to 100 ms later, and some up to a second.
    Slow,
    /// In single bytes.
    Bytes,
    /// Several in one write.
    Bursts,
    /// With much output on standard error.
    Noisy,
    /// The program keeps running after the end of its input, until it is killed.
    LateExit,
}

impl Delivery {
    /// All deliveries except the usual one, by name.
    pub const NAMED: [(&'static str, Self); 5] = [
        ("slow-lines", Self::Slow),
        ("single-bytes", Self::Bytes),
        ("bursts", Self::Bursts),
        ("noisy", Self::Noisy),
        ("stays", Self::LateExit),
    ];

    /// Returns the delivery with that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMED.into_iter().find(|(known, _)| *known == name).map(|(_, delivery)| delivery)
    }
}

/// Whether a transformation can be applied to the lines of a running program of that party.
pub fn is_possible(kind: &Kind, edition: &Edition, party: Party) -> bool {
    match kind.how {
        How::Whole(_) => false,
        How::Rename(renaming) => renaming.is_by(edition, party),
        How::Spelling(_) | How::Edit(_) | How::Around(_) => true,
    }
}

/// Whether the run is part of every test; the others only with `--ignored`.
pub fn is_usual(name: &str) -> bool {
    const USUAL: [&str; 6] =
        ["all-spellings", "own-ids-of-the-tester", "extension-notifications", "chunks-split", "meta", "bursts"];
    USUAL.contains(&name)
}

/// Runs a sample of the cases of a party with a transformation; returns a text about each false failure.
pub fn check(name: &str, party: Party, survey: &Survey, seed: u64) -> Result<(), String> {
    let mut cases = survey.cases(party);
    if kinds::named(survey.edition(), name).is_some_and(|kind| matches!(kind.how, How::Rename(_))) {
        // The layer of another process gives the same ids again, which a program with a memory does not.
        let restarts = |case: &Case| case.steps.iter().any(|step| matches!(step.action, Action::Restart));
        cases.retain(|&at| !restarts(survey.case(at)));
    }
    Rng::with_seed(mix(seed, seed_of(name))).shuffle(&mut cases);
    cases.truncate(SAMPLE);
    let (next, story) = (AtomicUsize::new(0), Mutex::new(String::new()));
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(&at) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(problem) = run(name, party, survey, at, seed) {
                        story.lock().expect("the story").push_str(&problem);
                    }
                }
            });
        }
    });
    let mut counts = survey.counts.lock().expect("the counts");
    counts.variants[1] += cases.len();
    *counts.by_kind.entry(format!("live: {name}")).or_default() += cases.len();
    drop(counts);
    let story = story.into_inner().expect("the story");
    if story.is_empty() { Ok(()) } else { Err(story) }
}

fn run(name: &str, party: Party, survey: &Survey, at: usize, seed: u64) -> Result<(), String> {
    let (case, recording) = (survey.case(at), survey.recording(at));
    let seed = mix(mix(seed, seed_of(name)), seed_of(&case.id));
    let one_in = if seed.is_multiple_of(2) { 1 } else { 3 };
    let edition = survey.edition();
    let trace = run_case(case, &subject(name, edition, party, (seed, one_in)));
    let judgement = judge(&trace, edition);
    count(survey, recording, &judgement, &case.id);
    let failures = new_failures(edition, &judgement, &recording.failures);
    if failures.is_empty() {
        return Ok(());
    }
    let problems = failures.iter().map(|failure| describe(edition, failure, &case.id, &trace));
    Err(problems.collect())
}

/// Returns the reference program with the layer.
fn subject(name: &str, edition: &Edition, party: Party, (seed, one_in): (u64, u32)) -> Subject {
    let own = env::current_exe().expect("the path of this program").display().to_string();
    let words = [
        own,
        REWRITE.to_owned(),
        edition.name.clone(),
        name.to_owned(),
        seed.to_string(),
        one_in.to_string(),
        party.to_string(),
        "--".to_owned(),
    ];
    let mut subject = reference::subject(party, &[]);
    let at = match party {
        Party::Agent => 0,
        // After `--` comes the command line of the agent.
        Party::Client => 1 + subject.command.iter().position(|word| word == "--").expect("the agent follows `--`"),
    };
    subject.command.splice(at..at, words);
    subject
}
