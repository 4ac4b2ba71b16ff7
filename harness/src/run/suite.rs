//! Runs many cases, a few at a time, and hands each trace over as soon as it is there.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::interrupt::interrupted;
use super::play::run_case;
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
        /// How long it took.
        took: Duration,
    },
}

/// Runs the cases against fresh processes of the subject, at most `jobs` at a time, and reports in the order of events.
///
/// `go_on` is asked after each case; once it says no, no further case is begun.
pub fn run_all(cases: &[Case], subject: &Subject, jobs: usize, mut report: impl FnMut(Progress<'_>) -> bool) {
    let next = AtomicUsize::new(0);
    let stopped = Mutex::new(false);
    let (sender, events) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, cases.len().max(1)) {
            let (next, stopped, sender) = (&next, &stopped, sender.clone());
            scope.spawn(move || {
                let left = || subject.person.as_ref().is_some_and(super::Person::has_left);
                while !interrupted() && !left() && !*stopped.lock().unwrap_or_else(std::sync::PoisonError::into_inner) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(index) else { return };
                    let _ = sender.send(Progress::Started(case));
                    let started = Instant::now();
                    let trace = Box::new(run_case(case, subject));
                    let _ = sender.send(Progress::Ended { case, index, trace, took: started.elapsed() });
                }
            });
        }
        drop(sender);
        for event in events {
            if !report(event) {
                *stopped.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = true;
            }
        }
    });
}
