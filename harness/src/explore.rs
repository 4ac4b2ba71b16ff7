//! Random walks over the cases: several in one process, in an order that is in no file.
//!
//! A walk is a case like any other, lowered from its name ([`Walk`]). Walks contain only cases that pass alone, so a
//! failure shows something that only their order brings about. It counts if it shows again, and is then made as short
//! as possible.

mod random;
mod shrink;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

pub use random::{Candidates, walk};

use self::walk::Fragment;
pub use self::walk::Walk;
use crate::case::Case;
use crate::results::{Collector, Failure, Symptom};
use crate::run::{Jobs, Next, Progress, RunMode, Subject, run_all, stopped};
use crate::trace::Trace;

/// The number of walks that run before the failures among them are looked at.
const ROUND: usize = 32;

/// The number of walks that break a requirement only once each, after which it is no longer looked at. Another walk may
/// break it each time: a cancel in the middle of a turn comes sooner or later.
const MOST_UNCONFIRMED: usize = 5;

/// What a walk broke: a requirement, and the kind of the finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Break {
    /// The id of the requirement.
    pub requirement: String,
    /// The kind of the finding.
    pub kind: String,
}

/// A walk that ran.
#[derive(Debug, Clone)]
pub struct Walked {
    /// Its moves.
    pub walk: Walk,
    /// The traces of its runs, at least one. Those of a walk that was found all break the requirement.
    pub traces: Vec<Trace>,
}

impl Walked {
    /// Whether its last run broke the requirement, in any way: what a check finds may depend on the moves around it.
    fn breaks(&self, broken: &Break, explorer: &Explorer<'_>) -> bool {
        let found = self.traces.last().map(|trace| breaks(trace, explorer)).unwrap_or_default();
        found.iter().any(|found| found.requirement == broken.requirement)
    }
}

/// An event of an exploration.
pub enum Event<'e> {
    /// The walks with these numbers are over.
    Walked(Range<usize>),
    /// The walk broke a requirement and is made shorter.
    Shrinking(&'e Break, &'e Walk),
    /// The shortest walk that breaks a requirement.
    Found(&'e Walked),
    /// The walk broke a requirement, and did not when it ran again.
    Unconfirmed(&'e Break, &'e Walked),
}

/// The subject and the cases of an exploration.
#[derive(Clone, Copy)]
pub struct Explorer<'e> {
    /// All cases by which walks are lowered.
    pub cases: &'e [Case],
    /// The subject.
    pub subject: &'e Subject,
    /// The number of walks that run at once.
    pub jobs: Jobs,
}

/// The violations that walks no longer have to show.
#[derive(Debug, Default)]
pub struct Known {
    /// The requirements that failed already.
    pub failed: BTreeSet<String>,
    /// How many walks broke a requirement only once each.
    unconfirmed: BTreeMap<String, usize>,
}

impl Known {
    fn has(&self, broken: &Break) -> bool {
        let times = self.unconfirmed.get(&broken.requirement);
        self.failed.contains(&broken.requirement) || times.is_some_and(|times| *times >= MOST_UNCONFIRMED)
    }
}

impl Explorer<'_> {
    /// Plays the walks with these numbers, which the seed determines, over the cases that passed. Walks do not report
    /// the `known` violations again, and add theirs. Returns the number of walks that ran.
    ///
    /// # Errors
    ///
    /// The first error of `listen`, which ends the exploration.
    pub fn explore<E>(
        &self,
        passed: &BTreeSet<String>,
        known: &mut Known,
        (walks, seed): (Range<usize>, u64),
        mut listen: impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<usize, E> {
        let can = |act: &str| self.subject.controls.acts.contains_key(act);
        let candidates = Candidates::new(self.cases, passed, can);
        let mut next = walks.start;
        while next < walks.end && stopped().is_none() {
            let round: Vec<Walk> = (next..walks.end.min(next + ROUND))
                .filter_map(|number| random::walk(&candidates, seed, number))
                .collect();
            if round.is_empty() {
                break;
            }
            let broken = self.play(&round, |walked| (breaks(&walked.traces[0], self), walked));
            listen(Event::Walked(next..next + round.len()))?;
            next += round.len();
            for (_, (breaks, walked)) in broken {
                for broken in breaks {
                    if known.has(&broken) {
                        continue;
                    }
                    let mut shortest = None;
                    if stopped().is_none() {
                        listen(Event::Shrinking(&broken, &walked.walk))?;
                        shortest = self.shrink(&walked, &broken);
                    }
                    let Some(shortest) = shortest else {
                        listen(Event::Unconfirmed(&broken, &walked))?;
                        *known.unconfirmed.entry(broken.requirement).or_insert(0) += 1;
                        continue;
                    };
                    known
                        .failed
                        .extend(self::breaks(&shortest.traces[0], self).into_iter().map(|found| found.requirement));
                    listen(Event::Found(&shortest))?;
                }
            }
        }
        Ok(next - walks.start)
    }

    /// Plays walks, and returns what `judge` finds in each, by their position. Impossible walks are left out.
    fn play<T>(&self, walks: &[Walk], judge: impl Fn(Walked) -> T) -> BTreeMap<usize, T> {
        let lowered = walks.iter().enumerate();
        let lowered = lowered.filter_map(|(at, walk)| Some((at, walk.lower(self.cases).ok()?)));
        let (positions, cases): (Vec<usize>, Vec<Case>) = lowered.unzip();
        let mut found = BTreeMap::new();
        run_all(
            &cases,
            self.subject,
            self.jobs,
            |_| RunMode::Alone,
            |event| {
                if let Progress::Ended { cases, trace, .. } = event
                    && let Some(&position) = cases.first().and_then(|&index| positions.get(index))
                {
                    let walked = Walked { walk: walks[position].clone(), traces: vec![*trace] };
                    found.insert(position, judge(walked));
                }
                Next::Continue
            },
        );
        found
    }
}

/// Returns the requirements that the subject broke in a trace.
fn breaks(trace: &Trace, explorer: &Explorer<'_>) -> BTreeSet<Break> {
    let Some(edition) = explorer.cases.first().map(|case| case.edition) else { return BTreeSet::new() };
    let mut collector = Collector::new(edition, explorer.subject.party, Vec::new());
    let cases = collector.add(trace, None);
    let failures = cases.iter().flat_map(|case| collector.symptoms(case)).flatten();
    let failures = failures.filter_map(|symptom| match symptom {
        Symptom::Failed(Failure { requirement, kind, .. }) => {
            Some(Break { requirement: requirement.clone(), kind: kind.clone() })
        }
        _ => None,
    });
    failures.collect()
}

/// Whether a case can be a move of a walk in its first use.
pub fn can_walk(case: &Case) -> bool {
    case.context.is_none() && Fragment::of(case).is_some()
}
