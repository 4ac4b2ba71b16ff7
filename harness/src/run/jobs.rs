//! Runs many cases, a few at a time, and hands over each trace as soon as it is complete.

mod follow;
mod work;

use std::cell::Cell;
use std::mem::replace;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use serde_json::Value;

use self::follow::{Running, Shared, ToTheEnd};
use self::work::{Planned, Work};
use super::environment::{Subject, Useless};
use super::interrupt::stopped;
use super::plan::{conversations, opening_of_agent};
use super::shared::run_conversation;
use super::single::{conversation_header, run_case, run_case_until};
use crate::case::model::Case;
use crate::manual::Person;
use crate::requirement::Party;
use crate::sync::lock;
use crate::trace::{Event, Header, Trace};
use crate::transport::process::{ProcessorTimes, is_memory_scarce};

/// The time between two checks whether the processors are idle.
const SAMPLE: Duration = Duration::from_millis(250);

/// An event while the cases run.
pub enum Progress {
    /// A case has begun, by its position in the list of cases.
    Started(usize),
    /// The transcript of a case has ended, by its position. The judge gets the case when its conversation has ended.
    Played(usize),
    /// A case of a conversation is over, and another one follows.
    Over {
        /// The position of the case.
        case: usize,
        /// The header of the trace of its conversation.
        header: Arc<Header>,
        /// What came since the case before it in this conversation was over, up to the mark of the next case.
        events: Vec<Event>,
    },
    /// A conversation has ended.
    Ended {
        /// The positions of its cases.
        cases: Vec<usize>,
        /// The trace; with several cases, a mark shows where each begins.
        trace: Box<Trace>,
        /// Its duration.
        took: Duration,
    },
    /// Cases that do not run, since cases like them led nowhere.
    Useless {
        /// Their positions.
        cases: Vec<usize>,
        /// What happened there.
        like: Useless,
    },
}

/// How a run goes on after an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// As planned.
    Continue,
    /// These cases, by their positions, run once more, each alone and before all that wait.
    Repeat(Vec<usize>),
    /// No further conversation begins.
    Stop,
}

/// The number of conversations that run at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jobs {
    /// The number from the start.
    pub usual: usize,
    /// The number once the processors have been idle for half of the time, unless memory is scarce: many agents only
    /// wait for their models, and some start a large program for each session.
    pub most: usize,
}

/// The most processes of an agent at once by default: each may take some hundred megabytes.
const MOST_JOBS: usize = 16;

impl Jobs {
    /// Returns the number that the user wants, or the usual one for a subject of this party.
    pub fn of(party: Party, wanted: Option<NonZeroUsize>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        match (wanted, party) {
            (Some(wanted), _) => Self::exactly(wanted.get()),
            // An agent waits for its commands, its model and its limits; meanwhile the next process starts.
            (None, Party::Agent) => Self { usual: cores + cores / 2, most: (8 * cores).min(MOST_JOBS) },
            (None, Party::Client) => Self::exactly(cores),
        }
    }

    /// Runs this many from start to end.
    pub const fn exactly(count: usize) -> Self {
        Self { usual: count, most: count }
    }
}

/// In which process a case runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RunMode {
    /// In one with other cases, if the subject and the plan of the run allow it.
    Shared,
    /// In one of its own, so that its result proves more than that of a shared conversation.
    Alone,
    /// The same, to confirm what it showed in a shared conversation: it goes on after its transcript as far as there.
    Confirm,
}

/// The number of conversations that may still begin at the same time.
struct Permits {
    free: Mutex<usize>,
    freed: Condvar,
}

impl Permits {
    /// Waits for a slot.
    fn take(&self) -> Permit<'_> {
        let free = lock(&self.free);
        let mut free = self.freed.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Permit(self)
    }

    fn add(&self) {
        *lock(&self.free) += 1;
        self.freed.notify_one();
    }
}

/// The right to begin a conversation; dropping it lets another one begin.
struct Permit<'s>(&'s Permits);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.add();
    }
}

/// Returns the subject with limits that fit what the run knows of it.
fn fitted(subject: &Subject, is_alone: bool) -> Subject {
    Subject { limits: subject.openings.limits(subject.limits, is_alone), ..subject.clone() }
}

/// Runs the cases against the subject, and reports in the order of events.
///
/// A process that only has to exit does not count, since many use up their whole time for that. The next conversations
/// begin while up to as many such processes as there are jobs are left.
///
/// `mode` says for each case whether it may share a conversation. `report` decides how the run goes on; it cannot count
/// on a repetition, which takes a conversation that still runs. A case that [`stop`](super::stop) or a signal
/// interrupts ends there.
pub fn run_all(
    cases: &[Case],
    subject: &Subject,
    jobs: Jobs,
    mode: impl Fn(&Case) -> RunMode,
    mut report: impl FnMut(Progress) -> Next,
) {
    let mode = |case: &Case| if subject.shares() { mode(case) } else { mode(case).max(RunMode::Alone) };
    let planned = conversations(cases, jobs.usual, |case| mode(case) != RunMode::Shared).into_iter().map(|indices| {
        let mode = indices.iter().map(|&index| mode(&cases[index])).max().unwrap_or(RunMode::Shared);
        Planned { cases: indices, mode }
    });
    let jobs = Jobs { usual: jobs.usual.clamp(1, cases.len().max(1)), most: jobs.most.min(cases.len()) };
    let work = Work::of(planned.collect());
    let slots = Permits { free: Mutex::new(jobs.usual), freed: Condvar::new() };
    let run = Run { cases, subject, work, slots, numbers: AtomicUsize::new(1), refused: AtomicBool::new(false) };
    let (sender, events) = mpsc::channel();
    std::thread::scope(|scope| {
        let run = &run;
        let begin_job = move |sender: &mpsc::Sender<Progress>| {
            // The second one begins while the process of the first one exits.
            for _ in 0..2 {
                let sender = sender.clone();
                scope.spawn(move || run.job(&sender));
            }
        };
        (0..jobs.usual).for_each(|_| begin_job(&sender));
        // A failure is confirmed while long conversations go on, unless the user wants one process at a time.
        if jobs.most > 1 {
            let sender = sender.clone();
            scope.spawn(move || run.confirmations(&sender));
        }
        scope.spawn(move || {
            let mut processors = ProcessorTimes::now();
            for _ in jobs.usual..jobs.most {
                loop {
                    if run.work.ends_within(SAMPLE) {
                        return;
                    }
                    let before = replace(&mut processors, ProcessorTimes::now());
                    if processors.are_idle_since(before) && !is_memory_scarce() && !run.work.is_wanted() {
                        break;
                    }
                }
                run.slots.add();
                begin_job(&sender);
            }
        });
        for event in events {
            match report(event) {
                Next::Continue => {}
                Next::Repeat(cases) => run.work.put_first(cases),
                Next::Stop => run.refused.store(true, Ordering::Relaxed),
            }
        }
    });
}

/// A run of many cases, which all of its jobs share.
struct Run<'r> {
    cases: &'r [Case],
    subject: &'r Subject,
    work: Work,
    slots: Permits,
    /// The number of the next conversation that holds several cases.
    numbers: AtomicUsize,
    /// Whether no further conversation may begin.
    refused: AtomicBool,
}

impl Run<'_> {
    /// Runs conversations until none is waiting.
    fn job(&self, events: &mpsc::Sender<Progress>) {
        loop {
            let slot = Cell::new(Some(self.slots.take()));
            let Some((planned, _taken)) = self.work.take() else { break };
            if self.is_over() {
                self.work.close();
                break;
            }
            self.run(planned, events, &|| drop(slot.take()));
        }
    }

    /// Runs the cases that confirm failures, until none can come.
    fn confirmations(&self, events: &mpsc::Sender<Progress>) {
        while let Some((planned, _taken)) = self.work.take_confirmation()
            && !self.is_over()
        {
            self.run(planned, events, &|| ());
        }
    }

    /// Whether no further conversation begins.
    fn is_over(&self) -> bool {
        let has_left = self.subject.person.as_ref().is_some_and(Person::has_left);
        stopped().is_some() || has_left || self.refused.load(Ordering::Relaxed)
    }

    /// Runs a conversation. `ending` is called when only the exit of the process is still to come.
    fn run(&self, planned: Planned, events: &mpsc::Sender<Progress>, ending: &dyn Fn()) {
        let Planned { cases: mut indices, mode } = planned;
        let is_alone = mode != RunMode::Shared;
        let running = Running { events, case: Cell::new(None), ending };
        // A case that confirms a failure runs in any case.
        if mode != RunMode::Confirm {
            indices.retain(|&index| match self.subject.hangs.useless(&self.cases[index]) {
                Some(like) => events.send(Progress::Useless { cases: vec![index], like }).is_err(),
                None => true,
            });
        }
        let Some(&first) = indices.first() else { return };
        let first = &self.cases[first];
        let opening = if is_alone { None } else { opening_of_agent(first) };
        if let Some(like) = opening.as_ref().and_then(|opening| self.subject.openings.useless(opening)) {
            let _ = events.send(Progress::Useless { cases: indices, like });
            return;
        }
        let (confirms, is_sole) = (mode == RunMode::Confirm, indices.len() == 1);
        let subject = Subject { confirms, is_sole, ..fitted(self.subject, is_alone) };
        let begun = Instant::now();
        let (cases, trace) = match indices.as_slice() {
            [index] => {
                running.start(*index);
                let trace = run_case_until(first, &subject, mode == RunMode::Confirm, &|| running.end());
                self.note_opening(opening.as_ref(), first, &trace);
                (indices, trace)
            }
            _ => self.converse(indices, opening.as_ref(), &subject, &running),
        };
        let took = begun.elapsed();
        let _ = events.send(Progress::Ended { cases, trace: Box::new(trace), took });
    }

    fn note_opening(&self, opening: Option<&Value>, first: &Case, trace: &Trace) {
        if let Some(opening) = opening {
            self.subject.openings.note(opening, &first.id, &trace.events);
        }
    }

    /// Runs several cases in one conversation, and returns those that ran.
    fn converse(
        &self,
        mut indices: Vec<usize>,
        opening: Option<&Value>,
        subject: &Subject,
        running: &Running<'_>,
    ) -> (Vec<usize>, Trace) {
        let chosen: Vec<&Case> = indices.iter().map(|&index| &self.cases[index]).collect();
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let header = Arc::new(conversation_header(chosen[0], number, subject));
        self.work.begin(number, &indices);
        let shared = Shared { run: self, running, indices: &indices, header, number };
        let (trace, done) = run_conversation(&chosen, number, subject, &shared);
        // The next job that takes the rest must know.
        self.note_opening(opening, chosen[0], &trace);
        let rest = self.work.end(number, done);
        if !rest.is_empty() {
            self.work.put_back(rest);
        }
        indices.truncate(done);
        (indices, trace)
    }
}

/// Runs these cases in one process, in this order, as far as the process can go on.
pub fn run_in_order(cases: &[&Case], subject: &Subject) -> Trace {
    let subject = Subject { confirms: true, is_sole: cases.len() == 1, ..fitted(subject, true) };
    run_conversation(cases, 0, &subject, &ToTheEnd).0
}

/// Runs the cases one by one; announces each to the person, who may end the run.
///
/// `report` gets each trace; once it returns false, no further case begins.
pub fn run_by_hand(cases: &[Case], subject: &Subject, mut report: impl FnMut(&Trace) -> bool) {
    for (index, case) in cases.iter().enumerate() {
        if let Some(person) = &subject.person {
            person.show(&format!("\n{} of {}  {}", index + 1, cases.len(), case.title));
        }
        let trace = run_case(case, subject);
        let left = subject.person.as_ref().is_some_and(Person::has_left);
        if !report(&trace) || left || stopped().is_some() {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
