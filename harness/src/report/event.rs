//! The events that renderers get during a run; each renderer writes them in its own format.

use std::io;

use super::Chart;
use crate::results::{CaseReport, Collector, InterimResults, RunReport, SubjectInfo, SuiteInfo};
use crate::trace::Trace;

/// The events of a run, in this order: it begins, cases start and end, it is over.
#[derive(Debug, Clone, Copy)]
pub enum SuiteEvent<'r> {
    /// The run begins.
    Begin(&'r Begin),
    /// The case with this id starts.
    Start(&'r str),
    /// The transcript of the case with this id is over. The case is judged when its conversation ends.
    Played(&'r str),
    /// The first shared conversation is judged.
    First(&'r InterimResults),
    /// A case is over, and judged. Its trace is included unless it was too long to keep.
    Case(&'r CaseReport, Option<&'r Trace>),
    /// The chart of the case with this id, for a page; it comes after the case, and only if a page is written.
    Chart(&'r str, &'r Chart),
    /// The run is over.
    Run(&'r RunReport),
}

/// The facts that are known before the first case.
#[derive(Debug, Clone)]
pub struct Begin {
    /// The suite.
    pub suite: SuiteInfo,
    /// The subject, whose own name is not known yet.
    pub subject: SubjectInfo,
    /// The number of cases to run.
    pub cases: usize,
    /// Whether these are all cases for such a subject.
    pub whole: bool,
    /// The command that runs a case against the same subject again, with `{case}` instead of its id; empty if unknown.
    pub reproduce: String,
    /// Whether only the first contact is reported, because the subject cannot be tested.
    pub cut_short: bool,
}

impl Begin {
    /// Describes a run that is over.
    pub fn of(report: &RunReport, whole: bool, reproduce: String) -> Self {
        let RunReport { suite, subject, cases, .. } = report;
        Self { suite: suite.clone(), subject: subject.clone(), cases: cases.len(), whole, reproduce, cut_short: false }
    }

    /// Describes a run of this many cases; the collector knows its subject.
    pub fn new(collector: &Collector, cases: usize, whole: bool, reproduce: String) -> Self {
        let (suite, subject) = (collector.suite(), collector.subject());
        Self { suite, subject, cases, whole, reproduce, cut_short: false }
    }
}

/// Renders the events of a run as text, a file, or lines of a log.
pub trait Renderer {
    /// Renders the next event.
    fn event(&mut self, event: &SuiteEvent<'_>) -> io::Result<()>;

    /// Renders a run that is over, without charts.
    fn finished(&mut self, begin: &Begin, report: &RunReport) -> io::Result<()> {
        self.event(&SuiteEvent::Begin(begin))?;
        report.cases.iter().try_for_each(|case| self.event(&SuiteEvent::Case(case, None)))?;
        self.event(&SuiteEvent::Run(report))
    }

    /// Ends the output. A recording may have produced two reports before, one on each party.
    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}
