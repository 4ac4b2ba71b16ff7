//! Violations as workflow commands of GitHub Actions, which become annotations: a MUST is an error, a SHOULD a warning.
//!
//! There is one command for each requirement, since GitHub shows ten of each kind and step. A command names the file
//! only if it belongs to the user; built-in cases are not in the repository that GitHub shows.

use std::io::{self, Write};

use super::broken::{Broken, examples, unconfirmed};
use super::event::{Renderer, SuiteEvent};
use super::visible::{cut, visible};
use super::words::{counts, file_of, partial, protocol_of, subject};
use crate::requirement::Level;
use crate::results::{CaseReport, RequirementReport, RunReport};
use crate::verdict::{Conformance, Verdict};

/// The longest message.
const LONGEST: usize = 8000;

/// Writes workflow commands when the run is over.
pub struct GithubReport<W>(pub W);

impl<W: Write> GithubReport<W> {
    fn report(&mut self, report: &RunReport) -> io::Result<()> {
        let counting = |wanted| move |r: &&RequirementReport| report.counts(r.level) == wanted;
        for requirement in report.requirements.iter().filter(counting(true)) {
            self.requirement("error", requirement, report)?;
        }
        for case in report.cases.iter().filter(|case| case.verdict == Verdict::HarnessError) {
            let reason = case.reason.as_deref().unwrap_or_default();
            self.command("error", "the harness failed", Place::default(), &format!("{}: {reason}", case.id))?;
        }
        let should = |r: &&RequirementReport| r.level == Level::Should;
        for requirement in report.requirements.iter().filter(counting(false)).filter(should) {
            self.requirement("warning", requirement, report)?;
        }
        for broken in unconfirmed(report) {
            let case = report.cases.iter().find(|case| case.id == broken.finding.case);
            self.command("warning", &broken.requirement.id, Place::of(case, &broken), &broken.violation_text())?;
        }
        self.summary(report)
    }

    /// Writes one command for all violations of a requirement.
    fn requirement(&mut self, command: &str, requirement: &RequirementReport, report: &RunReport) -> io::Result<()> {
        let mut all = examples(requirement);
        all.retain(|broken| broken.expected(report).is_none());
        let Some(first) = all.first() else { return Ok(()) };
        let others = match all.len() - 1 {
            0 => String::new(),
            more => format!("\n… and {more} more like it"),
        };
        let case = report.cases.iter().find(|case| case.id == first.finding.case);
        let message = format!("{}{others}", first.violation_text());
        self.command(command, &requirement.id, Place::of(case, first), &message)
    }

    fn summary(&mut self, report: &RunReport) -> io::Result<()> {
        let command = if report.verdict == Conformance::HarnessError { "error" } else { "notice" };
        let message = format!(
            "{}, checked against {}\nrequirements  {}\ncases         {}",
            subject(report),
            protocol_of(&report.suite),
            counts(&report.summary.requirements),
            counts(&report.summary.cases)
        );
        self.command(command, report.verdict.name(), Place::default(), &message)?;
        report.partial.map_or(Ok(()), |cut| self.command("warning", "partial", Place::default(), &partial(cut)))
    }

    fn command(&mut self, command: &str, title: &str, place: Place, message: &str) -> io::Result<()> {
        let file = place.file.map(|file| format!("file={}", property(&file)));
        let line = place.line.map(|line| format!("line={line}"));
        let properties: Vec<_> = file.into_iter().chain(line).chain([format!("title={}", property(title))]).collect();
        writeln!(self.0, "::{command} {}::{}", properties.join(","), data(&cut(message, LONGEST)))
    }
}

impl<W: Write> Renderer for GithubReport<W> {
    fn event(&mut self, event: &SuiteEvent<'_>) -> io::Result<()> {
        let SuiteEvent::Run(report) = event else { return Ok(()) };
        self.report(report)?;
        self.0.flush()
    }
}

/// The place of an annotation.
#[derive(Default)]
struct Place {
    file: Option<String>,
    line: Option<usize>,
}

impl Place {
    fn of(case: Option<&CaseReport>, broken: &Broken<'_>) -> Self {
        let Some(case) = case.filter(|case| case.file.is_some()) else { return Self::default() };
        Self { file: Some(file_of(case)), line: broken.finding.line }
    }
}

/// Encodes a text as the message of a command.
fn data(text: &str) -> String {
    visible(text).replace('%', "%25").replace('\n', "%0A")
}

/// Encodes a text as the value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
