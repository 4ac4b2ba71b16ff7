//! Runs cases until each has a verdict.
//!
//! Cases share conversations first. Those that do not pass there run again alone. Cases in further contexts, and those
//! that repeat others and cost further starts, wait for the verdicts of these, and run only if the subject did
//! something there.

mod live;
mod retry;
mod sequence;
mod skip;

use std::collections::{BTreeSet, HashSet};
use std::mem::take;
use std::time::{Duration, Instant};

use self::live::Live;
use self::retry::Retry;
use self::skip::{skip_repeated, useless};
use crate::case::Case;
use crate::options::RunOptions;
use crate::results::{CaseReport, Collector, Symptom};
use crate::run::{Jobs, Next, Progress, RunMode, Stop, Subject, is_stopping, repeated, run_all, run_in_order, stopped};
use crate::trace::Trace;

/// Follows a suite. An error of any method ends the suite.
pub trait SuiteListener {
    /// The reason why the suite has to end.
    type Error;

    /// A case has begun.
    fn started(&mut self, _case: &str) -> Result<(), Self::Error> {
        Ok(())
    }

    /// The transcript of a case is over; its conversation continues.
    fn played(&mut self, _case: &str) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A shared conversation is judged.
    fn judged(&mut self, _collector: &Collector) -> Result<(), Self::Error> {
        Ok(())
    }

    /// This many of all cases that led to the failure of a requirement run again, since its case alone did not show it.
    fn repeats(&mut self, _requirement: &str, _cases: usize, _all: usize) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Saves the trace of a conversation, and returns the path of the file if there is one.
    fn keep(&mut self, trace: &Trace) -> Result<Option<String>, Self::Error>;

    /// A case has its verdict. The trace is its own, or its part of the trace of a conversation; a case that was
    /// skipped has none.
    fn settled(
        &mut self,
        _collector: &Collector,
        _report: &CaseReport,
        _trace: Option<&Trace>,
    ) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// A suite that is running.
pub struct Suite<'s, L> {
    collector: &'s mut Collector,
    listener: &'s mut L,
    retry: Retry,
    live: Live,
    settled: HashSet<String>,
    /// The failures for which their conversation ran again.
    repeated: BTreeSet<Symptom>,
    /// The ids of the cases that ran again without the failure, in their order.
    in_vain: HashSet<Vec<String>>,
    /// The time that this took.
    repeating: Duration,
    begun: Instant,
}

impl<'s, L: SuiteListener> Suite<'s, L> {
    /// Creates a suite that adds its results to the collector.
    pub fn new(collector: &'s mut Collector, listener: &'s mut L) -> Self {
        let (retry, live) = (Retry::default(), Live::default());
        let (settled, repeated, in_vain) = (HashSet::new(), BTreeSet::new(), HashSet::new());
        let (repeating, begun) = (Duration::ZERO, Instant::now());
        Self { collector, listener, retry, live, settled, repeated, in_vain, repeating, begun }
    }

    /// Runs the cases, and returns when each has a verdict or the run was stopped.
    pub fn run(&mut self, cases: &[Case], subject: &Subject, options: &RunOptions) -> Result<(), L::Error> {
        if options.in_order {
            return self.run_in_order(cases, subject);
        }
        let positions = if options.is_thorough() { Vec::new() } else { repeated(cases, subject.shares()) };
        let (mut open, mut repeated) = (Vec::new(), Vec::new());
        for (index, case) in cases.iter().cloned().enumerate() {
            let list = if positions.contains(&index) { &mut repeated } else { &mut open };
            list.push(case);
        }
        while stopped().is_none() {
            // A failure that a case did not show alone needs the cases before it. Once it is confirmed, no other case
            // runs again for it.
            self.repeat_conversations(cases, subject, |failure| failure.is_refuted_alone)?;
            let (settled, again) = self.retry.review(self.collector);
            self.settle_all(settled)?;
            open.retain(|case| !self.settled.contains(&case.id));
            self.sort_repeated(&mut repeated, &mut open)?;
            let mode = |case: &Case| match again.alone.contains(&case.id) {
                true => RunMode::Confirm,
                false if options.is_isolated() => RunMode::Alone,
                false => RunMode::Shared,
            };
            // `--fail-fast` asks first whether a failure shows alone; the other cases run only if it does not. Shortly
            // before the time limit, only failures are confirmed.
            let confirms_first = options.fail_fast && self.retry.has_open_failures(self.collector) || is_stopping();
            let waits = |case: &Case| match confirms_first {
                true => !again.alone.contains(&case.id),
                false => self.retry.is_pending(&case.id) && !again.contains(&case.id),
            };
            let round: Vec<Case> = open.iter().filter(|case| !waits(case)).cloned().collect();
            if !self.run_once(&round, subject, options, mode)? {
                break;
            }
        }
        if stopped() == Some(Stop::Failure) {
            return Ok(());
        }
        self.repeat_conversations(cases, subject, |_| true)?;
        self.settle_rest()
    }

    /// Settles the cases that wait for another run, by what is known now.
    pub fn settle_rest(&mut self) -> Result<(), L::Error> {
        for alone in self.live.take_held() {
            self.add(&alone)?;
        }
        let rest = self.retry.give_up();
        self.settle_all(rest)
    }

    /// Runs the cases in one process, as far as it can go on, and repeats that if a failure showed.
    fn run_in_order(&mut self, cases: &[Case], subject: &Subject) -> Result<(), L::Error> {
        self.ended(&run_in_order(&cases.iter().collect::<Vec<_>>(), subject))?;
        self.repeat_conversations(cases, subject, |_| true)?;
        self.settle_rest()
    }

    /// Decides about cases that repeat others: skips them if the others exercised nothing, and opens those that are
    /// worth a start.
    fn sort_repeated(&mut self, repeated: &mut Vec<Case>, open: &mut Vec<Case>) -> Result<(), L::Error> {
        let files: HashSet<String> = open.iter().map(|case| Case::file_of(&case.id).to_owned()).collect();
        // They wait until all others have run once. Cases of several files that share a conversation become ready
        // together.
        let is_ready = open.iter().all(|case| self.retry.is_pending(&case.id));
        for case in take(repeated) {
            if files.contains(Case::file_of(&case.id)) || !is_ready {
                repeated.push(case);
            } else if let Some(report) = skip_repeated(self.collector, &case) {
                self.skip(&report)?;
            } else {
                open.push(case);
            }
        }
        Ok(())
    }

    fn skip(&mut self, report: &CaseReport) -> Result<(), L::Error> {
        self.retry.remove(&report.id);
        self.collector.skip(report.clone());
        self.settled.insert(report.id.clone());
        self.listener.settled(self.collector, report, None)
    }

    /// Processes the trace of a conversation: those of its cases that pass have their verdicts.
    pub fn ended(&mut self, trace: &Trace) -> Result<(), L::Error> {
        if self.live.holds(trace, self.collector.edition()) {
            return Ok(());
        }
        for case in self.add(trace)? {
            if let Some(alone) = self.live.take_held_of(&case) {
                self.retry.ran_again(self.collector, &case);
                self.add(&alone)?;
            }
        }
        if trace.header.conversation.is_some() { self.listener.judged(self.collector) } else { Ok(()) }
    }

    /// Adds a trace to the results, and returns the ids of its cases.
    fn add(&mut self, trace: &Trace) -> Result<Vec<String>, L::Error> {
        let file = self.listener.keep(trace)?;
        let cases = match self.live.ended(trace) {
            Some(judged) => self.collector.add_rest(judged.session, judged.events, trace, file.as_deref()),
            None => self.collector.add(trace, file.as_deref()),
        };
        let parts = if trace.header.conversation.is_some() { trace.by_case() } else { vec![trace.clone()] };
        for (id, part) in cases.iter().zip(parts) {
            let is_over = self.retry.add(self.collector, id, part);
            if self.settled.contains(id) {
                // It failed alone while this conversation ran. What it shows only here needs the cases before it.
                self.retry.remove(id);
            } else if let Some(part) = is_over {
                self.settle(id, &part)?;
            }
        }
        Ok(cases)
    }

    /// Runs the cases once, and returns whether there is anything new to review.
    fn run_once(
        &mut self,
        cases: &[Case],
        subject: &Subject,
        options: &RunOptions,
        mode: impl Fn(&Case) -> RunMode,
    ) -> Result<bool, L::Error> {
        let (mut problem, mut any_settled) = (None, false);
        let jobs = Jobs::of(subject.party, options.limits.jobs);
        run_all(cases, subject, jobs, mode, |event| {
            any_settled |= matches!(event, Progress::Ended { .. } | Progress::Useless { .. });
            let result = match event {
                Progress::Over { case, header, events } => {
                    let fails = self.live.event(&header, &events, &cases[case], self.collector);
                    return if fails { Next::Repeat(vec![case]) } else { Next::Continue };
                }
                Progress::Started(index) => self.listener.started(&cases[index].id),
                Progress::Played(index) => self.listener.played(&cases[index].id),
                Progress::Ended { trace, .. } => self.ended(&trace),
                Progress::Useless { cases: skipped, like } => skipped.iter().try_for_each(|&index| {
                    let report = useless(&cases[index], &like);
                    self.skip(&report)
                }),
            };
            // Cases that were running still end after a problem.
            problem = problem.take().or(result.err());
            if problem.is_some() || (options.fail_fast && self.retry.has_open_failures(self.collector)) {
                return Next::Stop;
            }
            // A failure is confirmed at once, so that it is known while the rest still runs.
            let failed = self.retry.rerun_failures(self.collector, |case| self.live.is_confirming(case));
            let position = |id: &String| cases.iter().position(|case| case.id == *id);
            match failed.iter().filter_map(position).collect::<Vec<_>>() {
                none if none.is_empty() => Next::Continue,
                failed => Next::Repeat(failed),
            }
        });
        problem.map_or(Ok(any_settled), Err)
    }

    fn settle_all(&mut self, cases: Vec<(String, Trace)>) -> Result<(), L::Error> {
        cases.iter().try_for_each(|(id, trace)| self.settle(id, trace))
    }

    fn settle(&mut self, id: &str, trace: &Trace) -> Result<(), L::Error> {
        self.settled.insert(id.to_owned());
        let Some(report) = self.collector.case(id) else { return Ok(()) };
        self.listener.settled(self.collector, &report, Some(trace))
    }
}

#[cfg(test)]
mod tests;
