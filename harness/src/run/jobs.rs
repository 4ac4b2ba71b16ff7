//! Runs many cases, a few at a time, and hands each trace over as soon as it is there.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use super::environment::Subject;
use super::interrupt::stopped;
use super::plan::conversations;
use super::shared::run_conversation;
use super::single::{run_case, run_case_until};
use crate::case::model::Case;
use crate::manual::Person;
use crate::trace::Trace;

/// Something that happened while the cases run.
pub enum Progress {
    /// A case has begun, by its position in the list that was to be run.
    Started(usize),
    /// The transcript of a case is over, by its position; it is judged when its conversation has ended.
    Played(usize),
    /// A conversation is over.
    Ended {
        /// The positions of its cases.
        cases: Vec<usize>,
        /// What was observed; of several cases, with a mark where each begins.
        trace: Box<Trace>,
        /// How long it took.
        took: Duration,
    },
}

/// The conversations that no job has taken yet.
struct Queue(Mutex<VecDeque<Vec<usize>>>);

impl Queue {
    fn take(&self) -> Option<Vec<usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// Puts back the cases that a conversation did not come to, so that the next job takes them.
    fn put_back(&self, cases: Vec<usize>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_front(cases);
    }
}

/// How many more conversations may go on at once.
struct Slots {
    free: Mutex<usize>,
    freed: Condvar,
}

impl Slots {
    /// Waits for a slot.
    fn take(&self) -> Slot<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.freed.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Slot(self)
    }
}

/// The right to have a conversation, until it is dropped.
struct Slot<'s>(&'s Slots);

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

/// Runs the cases against the subject, at most `jobs` conversations at a time, and reports in the order of events.
///
/// A process that has only to exit does not count: many take their whole time for that, and are then stopped. As many of them as there
/// are jobs can be left while the next conversations go on.
///
/// A case has a conversation of its own if `alone` says so; otherwise, those of an agent share one where the plan of the run allows it.
/// When `report` returns false, no further conversation is begun. A case that [`stop`](super::stop) or a signal cuts is started and
/// never ends.
pub fn run_all(
    cases: &[Case],
    subject: &Subject,
    jobs: usize,
    alone: impl Fn(&Case) -> bool,
    mut report: impl FnMut(Progress) -> bool,
) {
    let planned = conversations(cases, jobs, |case| alone(case) || subject.person.is_some());
    let jobs = jobs.clamp(1, cases.len().max(1));
    let (queue, numbers) = (Queue(Mutex::new(planned.into())), AtomicUsize::new(1));
    let slots = Slots { free: Mutex::new(jobs), freed: Condvar::new() };
    let refused = AtomicBool::new(false);
    let (sender, events) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..2 * jobs {
            let (queue, numbers, slots, refused, sender) = (&queue, &numbers, &slots, &refused, sender.clone());
            scope.spawn(move || {
                let left = || subject.person.as_ref().is_some_and(Person::has_left);
                loop {
                    let slot = Cell::new(Some(slots.take()));
                    if stopped().is_some() || left() || refused.load(Ordering::Relaxed) {
                        break;
                    }
                    let running = Cell::new(None);
                    let played = || drop(running.take().map(|index| sender.send(Progress::Played(index))));
                    let start = |index: usize| {
                        played();
                        running.set(Some(index));
                        let _ = sender.send(Progress::Started(index));
                    };
                    let ending = || {
                        drop(slot.take());
                        if stopped().is_none() {
                            played();
                        }
                    };
                    let Some(mut indices) = queue.take() else { break };
                    let begun = Instant::now();
                    let trace = match indices.as_slice() {
                        [index] => {
                            start(*index);
                            let trace = run_case_until(&cases[*index], subject, &ending);
                            if stopped().is_some() {
                                break;
                            }
                            trace
                        }
                        several => {
                            let chosen: Vec<&Case> = several.iter().map(|&index| &cases[index]).collect();
                            let started = |done: usize| start(several[done]);
                            let number = numbers.fetch_add(1, Ordering::Relaxed);
                            let (trace, done) = run_conversation(&chosen, number, subject, &started, &ending);
                            let rest = indices.split_off(done);
                            if !rest.is_empty() {
                                queue.put_back(rest);
                            }
                            if indices.is_empty() {
                                break;
                            }
                            trace
                        }
                    };
                    let took = begun.elapsed();
                    let _ = sender.send(Progress::Ended { cases: indices, trace: Box::new(trace), took });
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
