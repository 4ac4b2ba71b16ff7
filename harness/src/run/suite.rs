//! Runs many cases, a few at a time, and hands each trace over as soon as it is there.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::environment::Subject;
use super::interrupt::stopped;
use super::plan::Opening;
use super::shared::{Job, Verdicts};
use super::single::run_case;
use crate::case::model::Case;
use crate::manual::Person;
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
        /// Whether it ran before in a used process and was discarded there.
        again: bool,
        /// How long it took.
        took: Duration,
    },
}

/// Runs the cases against the subject, at most `jobs` at a time, and reports in the order of events.
///
/// Each case has a fresh process, unless `reuse` says what traces come to, so that it is known where cases can go on with the same one.
/// Once `report` says no, no further case is begun. A case that [`stop`](super::stop) or a signal cuts is
/// started and never ends.
pub fn run_all(
    cases: &[Case],
    subject: &Subject,
    jobs: usize,
    reuse: Option<Verdicts<'_>>,
    mut report: impl FnMut(Progress<'_>) -> bool,
) {
    let next = AtomicUsize::new(0);
    let opening = reuse.and_then(|_| Opening::usual(cases));
    let refused = AtomicBool::new(false);
    let (sender, events) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, cases.len().max(1)) {
            let (next, refused, opening, sender) = (&next, &refused, opening.as_ref(), sender.clone());
            scope.spawn(move || {
                let mut job = reuse.map(|verdicts| Job::new(subject, verdicts, opening));
                let left = || subject.person.as_ref().is_some_and(Person::has_left);
                while stopped().is_none() && !left() && !refused.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(index) else { break };
                    let _ = sender.send(Progress::Started(case));
                    let started = Instant::now();
                    let (trace, again) = match &mut job {
                        Some(job) => job.run(case),
                        None => (run_case(case, subject), false),
                    };
                    if stopped().is_some() {
                        break;
                    }
                    let trace = Box::new(trace);
                    let _ = sender.send(Progress::Ended { case, index, trace, again, took: started.elapsed() });
                }
                if let Some(job) = job {
                    job.close();
                }
            });
        }
        drop(sender);
        for event in events {
            if !report(event) {
                refused.store(true, Ordering::Relaxed);
            }
        }
    });
}

/// Runs the cases one by one; tells the person of the subject which, and lets them end the run.
///
/// `report` is given each trace, but not that of a case that was cut; once it says no, no further case is begun.
pub fn run_by_hand(cases: &[Case], subject: &Subject, mut report: impl FnMut(&Trace, Duration) -> bool) {
    for (index, case) in cases.iter().enumerate() {
        if let Some(person) = &subject.person {
            person.tell(&format!("\n{} of {}  {}", index + 1, cases.len(), case.title));
        }
        let started = Instant::now();
        let trace = run_case(case, subject);
        let left = subject.person.as_ref().is_some_and(Person::has_left);
        if stopped().is_some() || !report(&trace, started.elapsed()) || left {
            return;
        }
    }
}
