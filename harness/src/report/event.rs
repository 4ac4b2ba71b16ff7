//! What renderers are told while a run goes on; each of them makes its own of the same events.

use std::io;

use super::Chart;
use super::model::{CaseReport, RunReport, SubjectInfo, SuiteInfo};
use crate::trace::Trace;

/// What happens in a run, in this order: it begins, cases start and end, it is over.
#[derive(Debug, Clone, Copy)]
pub enum SuiteEvent<'r> {
    /// The run begins.
    Begin(&'r Begin),
    /// The case with this id starts.
    Start(&'r str),
    /// The transcript of the case with this id is over; it is judged when its conversation ends.
    Played(&'r str),
    /// A case is over, and judged. Its trace is there unless it was too long to be kept.
    Case(&'r CaseReport, Option<&'r Trace>),
    /// What a page shows of the trace of the case with this id; told after the case, and only where a page is made.
    Chart(&'r str, &'r Chart),
    /// The run is over.
    Run(&'r RunReport),
}

/// What is known before the first case.
#[derive(Debug, Clone)]
pub struct Begin {
    /// By what will be judged.
    pub suite: SuiteInfo,
    /// What will be judged; it has not given its name yet.
    pub subject: SubjectInfo,
    /// How many cases will run.
    pub cases: usize,
    /// Whether they are all cases that there are for such a subject.
    pub whole: bool,
    /// The command that runs a case against the same subject again, with `{case}` in the place of its id; empty if there is none.
    pub reproduce: String,
    /// Whether only the first contact is reported, because nothing can be learned from the subject.
    pub cut_short: bool,
}

/// Makes something of the events of a run: text, a file, a line in a log.
pub trait Renderer {
    /// Takes in the next event.
    ///
    /// # Errors
    ///
    /// Only those of writing.
    fn event(&mut self, event: &SuiteEvent<'_>) -> io::Result<()>;

    /// Learns that nothing more comes. Of a recording there may have been two reports before, one on each party.
    ///
    /// # Errors
    ///
    /// Only those of writing.
    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}
