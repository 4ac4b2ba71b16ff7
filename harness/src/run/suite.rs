//! Runs many cases, a few at a time, and hands each trace over as soon as it is there.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::interrupt::interrupted;
use super::keeper::{Keeper, Verdicts};
use super::play::run_case;
use super::reuse::Opening;
use super::subject::Subject;
use crate::case::model::Case;
use crate::trace::Trace;

/// Something that happened while the cases run.
pub enum Progress<'c> {
    /// A case has begun.
    Started(&'c Case),
    /// A case is over.
    Ended {
        /// The case.
        case: &'c Case,
        /// Its position in the list that was to be run.
        index: usize,
        /// What was observed.
        trace: Box<Trace>,
        /// Whether it was played before on a process of earlier cases, and did not go well there.
        again: bool,
        /// How long it took.
        took: Duration,
    },
}

/// Runs the cases against the subject, at most `jobs` at a time, and reports in the order of events.
///
/// Each case has a fresh process, unless `reuse` says what traces come to, so that it is known where cases can go on with the same one.
/// Once `report` says no, no further case is begun.
pub fn run_all(
    cases: &[Case],
    subject: &Subject,
    jobs: usize,
    reuse: Option<Verdicts<'_>>,
    mut report: impl FnMut(Progress<'_>) -> bool,
) {
    let next = AtomicUsize::new(0);
    let opening = reuse.and_then(|_| Opening::usual(cases));
    let stopped = AtomicBool::new(false);
    let (sender, events) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, cases.len().max(1)) {
            let (next, stopped, opening, sender) = (&next, &stopped, opening.as_ref(), sender.clone());
            scope.spawn(move || {
                let mut keeper = reuse.map(|verdicts| Keeper::new(subject, verdicts, opening));
                let left = || subject.person.as_ref().is_some_and(super::Person::has_left);
                while !interrupted() && !left() && !stopped.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(index) else { break };
                    let _ = sender.send(Progress::Started(case));
                    let started = Instant::now();
                    let (trace, again) = match &mut keeper {
                        Some(keeper) => keeper.play(case),
                        None => (run_case(case, subject), false),
                    };
                    let trace = Box::new(trace);
                    let _ = sender.send(Progress::Ended { case, index, trace, again, took: started.elapsed() });
                }
                if let Some(keeper) = keeper {
                    keeper.close();
                }
            });
        }
        drop(sender);
        for event in events {
            if !report(event) {
                stopped.store(true, Ordering::Relaxed);
            }
        }
    });
}
