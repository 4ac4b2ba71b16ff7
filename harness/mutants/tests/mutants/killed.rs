//! Proves that the checks can fail: every mutant must violate exactly the requirements that its fault names, in every
//! case that could notice it. The tests of version 2 begin with `v2/`.
//!
//! A case could notice a fault if the fault names it, or if the correct program exercises the requirement in its first
//! use. Requirements that many cases exercise are tested in one case of each area, and in all of them by
//! `cargo test -p acp-conformance-mutants --test mutants -- --ignored`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread::scope;
use std::time::Duration;

use acp_conformance::case::{self, Case, LimitOverrides};
use acp_conformance::edition::{Bundle, V1, V2};
use acp_conformance::judge::{Judgement, Tally, judge};
use acp_conformance::requirement::{Level, Party, Transport};
use acp_conformance::run::run_case;
use acp_conformance::verdict::Verdict;
use acp_conformance_mutants::fault::Fault;
use libtest_mimic::{Failed, Trial};
use tempfile::TempDir;

use crate::reference;

static EDITIONS: [&Bundle; 2] = [&V1, &V2];

/// The most cases in which a fault is tested, apart from those that it names. More show little else, and with eight
/// times as many, the tests take twice as long.
const MANY: usize = 10;

/// The time limits of a program with a fault in the cases that the fault names, unless it sets others. No turn of the
/// reference programs takes longer.
const USUAL: LimitOverrides =
    LimitOverrides { start: None, answer: None, turn: Some(Duration::from_secs(25)), exit: None };

/// The time limits of a program with a fault in a case that the fault does not name. Many faults make a program silent.
/// A busy machine can need more, so what is wrong with these is tried with the usual ones.
const HURRIED: LimitOverrides = LimitOverrides {
    start: Some(Duration::from_secs(5)),
    answer: Some(Duration::from_secs(1)),
    turn: Some(Duration::from_secs(1)),
    exit: None,
};

/// Returns a test for each fault, and one with all cases for each that many cases could notice. If the tests are
/// only listed, nothing is run for that.
pub fn trials(threads: usize, is_list: bool) -> Vec<Trial> {
    EDITIONS.into_iter().flat_map(|bundle| trials_of(bundle, threads, is_list)).collect()
}

fn trials_of(bundle: &'static Bundle, threads: usize, is_list: bool) -> Vec<Trial> {
    // Another test reports faults with mistakes.
    let faults = Fault::all(bundle.case_folder()).unwrap_or_default();
    let prefix = if bundle.is_draft() { format!("{}/", bundle.case_folder()) } else { String::new() };
    let cases = if is_list { Vec::new() } else { case::embedded(bundle).0 };
    let field = Arc::new(Field::survey(bundle, cases, threads));
    let mut trials = Vec::new();
    for fault in faults {
        let (sampled, whole) = (Arc::clone(&field), Arc::clone(&field));
        let again = fault.clone();
        let name = format!("{prefix}{}", fault.id);
        if field.exercising(&fault).count() > MANY {
            let trial = Trial::test(format!("{name}-everywhere"), move || killed(&again, &whole, |_| true));
            trials.push(trial.with_kind("fault").with_ignored_flag(true));
        }
        let trial = Trial::test(name, move || {
            let sample = sampled.sample(&fault);
            killed(&fault, &sampled, |case| sample.contains(case.id.as_str()))
        });
        trials.push(trial.with_kind("fault"));
    }
    trials
}

/// All cases, and the requirements that the correct programs exercise in each.
struct Field {
    bundle: &'static Bundle,
    cases: Vec<Case>,
    /// The requirements that passed, by case.
    exercised: BTreeMap<String, BTreeSet<String>>,
}

impl Field {
    /// Runs the first use of every case with the correct program.
    fn survey(bundle: &'static Bundle, cases: Vec<Case>, threads: usize) -> Self {
        let subjects = [Party::Agent, Party::Client].map(|party| reference::subject(party, &[]));
        let kept = |case: &Case| {
            let subject = &subjects[usize::from(case.subject == Party::Client)];
            let judgement = judge(&run_case(case, subject), bundle.edition());
            let kept = judgement.tallies.iter().filter(|(_, tally)| tally.verdict() == Verdict::Pass);
            (case.id.clone(), kept.map(|(id, _)| id.clone()).collect())
        };
        let is_usual = |case: &&Case| case.context.is_none() && case.fits(Transport::Stdio, bundle.catalogue());
        let first: Vec<&Case> = cases.iter().filter(is_usual).collect();
        let exercised = scope(|scope| {
            // Neighbours wait alike, so each thread takes every nth case.
            let part = |number| first.iter().copied().skip(number).step_by(threads).map(kept).collect::<Vec<_>>();
            let parts: Vec<_> = (0..threads).map(|number| scope.spawn(move || part(number))).collect();
            parts.into_iter().flat_map(|part| part.join().expect("a run of every case")).collect()
        });
        Self { bundle, cases, exercised }
    }

    /// Returns the cases in which the correct program exercises the requirements that the fault violates.
    fn exercising<'a>(&'a self, fault: &'a Fault) -> impl Iterator<Item = &'a Case> {
        let kept = |case: &&Case| self.exercised.get(&case.id).is_some_and(|kept| kept.contains(&fault.file.kills));
        self.cases.iter().filter(kept)
    }

    /// Returns the ids of the cases to test for a fault: all that exercise its requirement, or one of each area.
    fn sample<'a>(&'a self, fault: &'a Fault) -> BTreeSet<&'a str> {
        let all: Vec<&str> = self.exercising(fault).map(|case| case.id.as_str()).collect();
        if all.len() <= MANY {
            return all.into_iter().collect();
        }
        let area = |id: &str| id.rsplit_once('/').map_or_else(String::new, |(folder, _)| folder.to_owned());
        let by_area: BTreeMap<String, &str> = all.into_iter().rev().map(|id| (area(id), id)).collect();
        by_area.into_values().collect()
    }
}

fn killed(fault: &Fault, field: &Field, elsewhere: impl Fn(&Case) -> bool) -> Result<(), Failed> {
    killed_within(HURRIED, fault, field, &elsewhere).or_else(|_| killed_within(USUAL, fault, field, &elsewhere))
}

fn killed_within(
    further_limits: LimitOverrides,
    fault: &Fault,
    field: &Field,
    elsewhere: &impl Fn(&Case) -> bool,
) -> Result<(), Failed> {
    let (named, further): (Vec<&Case>, Vec<&Case>) =
        field.cases.iter().filter(|case| case.subject == fault.party).partition(|case| fault.names(case));
    let (mut broken, effects) = (Broken::default(), TempDir::new()?);
    let effects = effects.path().join("effects");
    broken.run(field.bundle, fault, USUAL.with(&fault.limits()), &named, Some(&effects));
    let shown = fs::read_to_string(&effects).unwrap_or_default();
    if let Some(idle) = (0..fault.file.edits.len()).find(|edit| shown.lines().all(|line| line != edit.to_string())) {
        return Err(format!("edit {} of the fault changed no message", idle + 1).into());
    }
    if !broken.requirements.contains(&fault.file.kills) {
        return Err(format!("not broken in its own cases: {}{}", fault.file.kills, broken.story).into());
    }
    let (sample, others): (Vec<&Case>, Vec<&Case>) = further.into_iter().partition(|case| elsewhere(case));
    broken.run(field.bundle, fault, further_limits, &sample, None);
    let wanted: BTreeSet<String> = fault.file.also.keys().chain([&fault.file.kills]).cloned().collect();
    if !wanted.is_subset(&broken.requirements) {
        let exercising: BTreeSet<&str> = field.exercising(fault).map(|case| case.id.as_str()).collect();
        let rest: Vec<&Case> = others.into_iter().filter(|case| exercising.contains(case.id.as_str())).collect();
        broken.run(field.bundle, fault, further_limits, &rest, None);
    }
    let missing: Vec<_> = wanted.difference(&broken.requirements).collect();
    let unexpected: Vec<_> = broken.requirements.iter().filter(|id| !fault.may_break(id)).collect();
    match (missing.as_slice(), unexpected.as_slice()) {
        ([], []) => Ok(()),
        _ => Err(format!("not violated: {missing:?}; unexpectedly violated: {unexpected:?}{}", broken.story).into()),
    }
}

/// The violations of a program with a fault.
#[derive(Default)]
struct Broken {
    requirements: BTreeSet<String>,
    /// The first finding about each requirement.
    story: String,
}

impl Broken {
    /// Runs the mutant in these cases, with these limits instead of theirs.
    fn run(
        &mut self,
        bundle: &'static Bundle,
        fault: &Fault,
        limits: LimitOverrides,
        cases: &[&Case],
        effects: Option<&Path>,
    ) {
        let mut options = vec!["--fault".to_owned(), fault.path.display().to_string()];
        options.extend(effects.into_iter().flat_map(|file| ["--effects".to_owned(), file.display().to_string()]));
        let transport = fault.file.transport.unwrap_or_default();
        let mut subject = reference::subject_over(transport, fault.party, &options);
        subject.env.extend(fault.environment());
        for case in cases {
            let case = Case { limits: case.limits.with(&limits), ..(*case).clone() };
            self.add(bundle, &judge(&run_case(&case, &subject), bundle.edition()), (fault.party, &case.id));
        }
    }

    /// Adds the requirements of the party that fail.
    fn add(&mut self, bundle: &'static Bundle, judgement: &Judgement, (party, case): (Party, &str)) {
        let binding = |id: &str| {
            bundle.catalogue().find(id).is_some_and(|known| known.party == party && known.level != Level::MayProbe)
        };
        let failed = |(id, tally): &(&String, &Tally)| tally.verdict() == Verdict::Fail && binding(id);
        for (id, tally) in judgement.tallies.iter().filter(failed) {
            if self.requirements.insert(id.clone()) {
                let finding = tally.findings.iter().find(|finding| finding.verdict == Verdict::Fail);
                let message = finding.map_or_else(String::new, acp_conformance::judge::Finding::text);
                self.story.push_str(&format!("\n  {id} in {case}: {message}"));
            }
        }
    }
}
