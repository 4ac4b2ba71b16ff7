//! Runs cases until each has a verdict.
//!
//! Cases share conversations first. Those that do not pass there run again alone. Cases in further contexts, and those that repeat
//! others and cost further starts, wait for the verdicts of these, and run only if the subject did something there.

use std::collections::HashSet;
use std::mem::take;
use std::time::{Duration, Instant};

use crate::case::Case;
use crate::report::Collector;
use crate::report::model::CaseReport;
use crate::run::{Jobs, Next, Progress, Stop, Subject, repeated, run_all, stopped};
use crate::trace::Trace;

/// How the cases of a suite run.
#[derive(Debug, Clone, Copy)]
pub struct SuiteOptions {
    /// How many conversations go on at once.
    pub jobs: Jobs,
    /// Whether each case has a conversation of its own.
    pub isolate: bool,
    /// Whether cases run of which the first use or another shape exercised nothing. Isolated cases all run.
    pub thorough: bool,
    /// Whether a failure ends the suite, so that no further conversation begins before it is settled.
    pub fail_fast: bool,
}

/// Follows a suite.
pub trait SuiteListener {
    /// The reason why the suite has to end.
    type Error;

    /// A case has begun.
    ///
    /// # Errors
    ///
    /// Any; it ends the suite, here and below.
    fn started(&mut self, case: &str) -> Result<(), Self::Error>;

    /// The transcript of a case is over; its conversation continues.
    ///
    /// # Errors
    ///
    /// As for [`Self::started`].
    fn played(&mut self, case: &str) -> Result<(), Self::Error>;

    /// A shared conversation is judged.
    ///
    /// # Errors
    ///
    /// As for [`Self::started`].
    fn judged(&mut self, collector: &Collector) -> Result<(), Self::Error>;

    /// Saves the trace of a conversation, and returns the path of the file if there is one.
    ///
    /// # Errors
    ///
    /// As for [`Self::started`].
    fn keep(&mut self, trace: &Trace) -> Result<Option<String>, Self::Error>;

    /// A case has its verdict.
    ///
    /// # Errors
    ///
    /// As for [`Self::started`].
    fn settled(&mut self, collector: &Collector, case: Settled<'_>) -> Result<(), Self::Error>;
}

/// A case that has its verdict.
#[derive(Clone, Copy)]
pub struct Settled<'s> {
    /// The report on it.
    pub report: &'s CaseReport,
    /// Its trace, or its part of the trace of a conversation. A case that was skipped has none.
    pub trace: Option<&'s Trace>,
    /// The time that it ran.
    pub took: Duration,
    /// The time for checking it; zero for a case of a shared conversation.
    pub judging: Duration,
}

/// A suite that is running.
pub struct Suite<'s, L> {
    /// The results of the cases.
    pub collector: &'s mut Collector,
    /// The listener.
    pub listener: &'s mut L,
}

impl<L: SuiteListener> Suite<'_, L> {
    /// Runs the cases, and returns when each has a verdict or the run was stopped.
    ///
    /// # Errors
    ///
    /// Errors of the listener.
    pub fn run(&mut self, cases: Vec<Case>, subject: &Subject, options: SuiteOptions) -> Result<(), L::Error> {
        let is_thorough = options.isolate || options.thorough;
        let positions = if is_thorough { Vec::new() } else { repeated(&cases, subject.shares()) };
        let (mut open, mut repeated) = (Vec::new(), Vec::new());
        for (index, case) in cases.into_iter().enumerate() {
            let list = if positions.contains(&index) { &mut repeated } else { &mut open };
            list.push(case);
        }
        while stopped().is_none() {
            let (settled, again) = self.collector.review();
            settled.iter().try_for_each(|(report, part)| self.settle(report, Some(part)))?;
            open.retain(|case| !self.collector.is_settled(&case.id));
            self.sort_repeated(&mut repeated, &mut open)?;
            let alone = |case: &Case| options.isolate || again.alone.contains(&case.id);
            // `--fail-fast` asks first whether a failure shows alone; the other cases run only if it does not.
            let waits = |case: &Case| match options.fail_fast && self.collector.has_unconfirmed_failures() {
                true => !alone(case),
                false => self.collector.is_pending(&case.id) && !again.contains(&case.id),
            };
            let round: Vec<Case> = open.iter().filter(|case| !waits(case)).cloned().collect();
            if !self.run_once(&round, subject, options, alone)? {
                break;
            }
        }
        if stopped() == Some(Stop::Failure) {
            return Ok(());
        }
        // A run that was stopped by its user reports what is known by now.
        let (settled, _) = self.collector.review();
        settled.iter().try_for_each(|(report, part)| self.settle(report, Some(part)))
    }

    /// Decides about cases that repeat others: skips them if the others exercised nothing, and opens those that are worth a start.
    fn sort_repeated(&mut self, repeated: &mut Vec<Case>, open: &mut Vec<Case>) -> Result<(), L::Error> {
        let files: HashSet<String> = open.iter().map(|case| Case::file_of(&case.id).to_owned()).collect();
        // They wait until all others have run once. Cases of several files that share a conversation become ready together.
        let is_ready = open.iter().all(|case| self.collector.is_pending(&case.id));
        for case in take(repeated) {
            if files.contains(Case::file_of(&case.id)) || !is_ready {
                repeated.push(case);
            } else if let Some(report) = self.collector.skip_repeated(&case) {
                self.settle(&report, None)?;
            } else {
                open.push(case);
            }
        }
        Ok(())
    }

    /// Processes the trace of a case that had a conversation of its own.
    ///
    /// # Errors
    ///
    /// Errors of the listener.
    pub fn ended(&mut self, trace: &Trace, took: Duration) -> Result<(), L::Error> {
        let file = self.listener.keep(trace)?;
        let arrived = Instant::now();
        let report = self.collector.add(trace, took, file);
        let judging = arrived.elapsed();
        self.listener.settled(self.collector, Settled { report: &report, trace: Some(trace), took, judging })
    }

    /// Runs the cases once, and returns whether there is anything new to review.
    fn run_once(
        &mut self,
        cases: &[Case],
        subject: &Subject,
        options: SuiteOptions,
        alone: impl Fn(&Case) -> bool,
    ) -> Result<bool, L::Error> {
        let (mut problem, mut any_settled) = (None, false);
        run_all(cases, subject, options.jobs, alone, |event| {
            any_settled |= matches!(event, Progress::Ended { .. } | Progress::Useless { .. });
            let is_shared = matches!(&event, Progress::Ended { trace, .. } if trace.header.conversation.is_some());
            let result = match event {
                Progress::Started(index) => self.listener.started(&cases[index].id),
                Progress::Played(index) => self.listener.played(&cases[index].id),
                // It ended before the failure of another case was known.
                Progress::Ended { .. } if stopped() == Some(Stop::Failure) => Ok(()),
                Progress::Ended { trace, took, .. } if trace.header.conversation.is_none() => self.ended(&trace, took),
                Progress::Ended { trace, .. } => self.conversation_ended(&trace),
                Progress::Useless { cases: useless, like } => useless.iter().try_for_each(|&index| {
                    let report = self.collector.skip(&cases[index], like.case.clone(), format!("skipped: {like}"));
                    self.settle(&report, None)
                }),
            };
            // Cases that were running still end after a problem.
            problem = problem.take().or(result.err());
            if problem.is_some() || (options.fail_fast && self.collector.has_unconfirmed_failures()) {
                return Next::Stop;
            }
            if !is_shared {
                return Next::Continue;
            }
            // A failure is confirmed at once, so that it is known while the rest still runs.
            let failed = self.collector.rerun_failures();
            let position = |id: &String| cases.iter().position(|case| case.id == *id);
            Next::Repeat(failed.iter().filter_map(position).collect())
        });
        problem.map_or(Ok(any_settled), Err)
    }

    /// Processes a conversation that held several cases. Those that do not pass are settled later.
    fn conversation_ended(&mut self, trace: &Trace) -> Result<(), L::Error> {
        let file = self.listener.keep(trace)?;
        let settled = self.collector.add_conversation(trace, file.as_deref());
        settled.iter().try_for_each(|(report, part)| self.settle(report, Some(part)))?;
        self.listener.judged(self.collector)
    }

    fn settle(&mut self, report: &CaseReport, trace: Option<&Trace>) -> Result<(), L::Error> {
        let took = Duration::from_millis(report.duration_ms);
        self.listener.settled(self.collector, Settled { report, trace, took, judging: Duration::ZERO })
    }
}
