//! The report by the Test Anything Protocol, version 14: a test point for each case, with a YAML block for its violations.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value, json};

use super::broken::{Broken, broken_by_case};
use super::event::{Renderer, SuiteEvent};
use super::visible::{cut, in_one_line};
use super::words::{level, partial, protocol, subject};
use crate::results::{CaseReport, RunReport};
use crate::verdict::Verdict;

/// The longest reason.
const LONGEST: usize = 500;

/// Writes the report as TAP when the run is over.
pub struct TapReport<W> {
    out: W,
}

impl<W: Write> TapReport<W> {
    /// Writes a report to this stream.
    pub const fn new(out: W) -> Self {
        Self { out }
    }

    fn report(&mut self, report: &RunReport) -> io::Result<()> {
        let broken = broken_by_case(report);
        writeln!(self.out, "TAP version 14\n1..{}", report.cases.len())?;
        for (index, case) in report.cases.iter().enumerate() {
            self.case(index + 1, case, report, &broken)?;
        }
        let told = format!(
            "{}  {}, checked against {}",
            report.verdict.name(),
            subject(report),
            protocol(&report.suite.edition)
        );
        writeln!(self.out, "# {}", in_one_line(&told))?;
        report.partial.map_or(Ok(()), |cut| writeln!(self.out, "# partial: {}", partial(cut)))
    }

    fn case(
        &mut self,
        number: usize,
        case: &CaseReport,
        report: &RunReport,
        broken: &BTreeMap<&str, Vec<Broken<'_>>>,
    ) -> io::Result<()> {
        let all = broken.get(case.id.as_str()).map(Vec::as_slice).unwrap_or_default();
        let expected = all.iter().find_map(|broken| broken.expected(report));
        let fails =
            all.iter().any(|broken| report.counts(broken.requirement.level) && broken.finding.counted_in.is_none())
                || matches!(case.verdict, Verdict::Fail | Verdict::HarnessError);
        let surprises = all.is_empty() || all.iter().any(|broken| broken.counts(report));
        // Readers without escapes would treat a name with a `#` as a directive, and a failure as a skipped case.
        let name = description(&case.id).replace(r"\#", "%23");
        let reason = case.reason.as_deref().unwrap_or_default();
        match case.verdict {
            _ if fails => {
                let todo = expected.filter(|_| !surprises).map(|entry| description(&cut(&entry.reason, LONGEST)));
                let todo = todo.map_or_else(String::new, |reason| format!(" # TODO expected: {reason}"));
                writeln!(self.out, "not ok {number} - {name}{todo}")?;
            }
            Verdict::Inconclusive | Verdict::NotApplicable | Verdict::NotExercised => {
                let why = description(&cut(&format!("{}: {reason}", case.verdict), LONGEST));
                writeln!(self.out, "ok {number} - {name} # SKIP {why}")?;
            }
            _ => writeln!(self.out, "ok {number} - {name}")?,
        }
        if !fails && all.is_empty() {
            return Ok(());
        }
        // A JSON scalar is also a YAML scalar.
        writeln!(self.out, "  ---")?;
        if let Some(title) = &case.title {
            writeln!(self.out, "  title: {}", json!(in_one_line(&cut(title, LONGEST))))?;
        }
        writeln!(self.out, "  verdict: {}", case.verdict)?;
        writeln!(self.out, "  duration_ms: {}", case.duration_ms)?;
        if all.is_empty() {
            writeln!(self.out, "  message: {}", json!(in_one_line(&cut(reason, LONGEST))))?;
        } else {
            writeln!(self.out, "  broken:")?;
        }
        for broken in all {
            writeln!(self.out, "    - {}", details(broken))?;
        }
        writeln!(self.out, "  ...")
    }
}

impl<W: Write> Renderer for TapReport<W> {
    fn event(&mut self, event: &SuiteEvent<'_>) -> io::Result<()> {
        let SuiteEvent::Run(report) = event else { return Ok(()) };
        self.report(report)?;
        self.out.flush()
    }
}

/// Returns a violation as a line of JSON, which is also YAML.
fn details(broken: &Broken<'_>) -> Value {
    json!({
        "requirement": broken.requirement.id,
        "level": level(broken.requirement.level),
        "message": in_one_line(&broken.message()),
        "evidence": broken.finding.lines.iter().map(|line| in_one_line(line)).collect::<Vec<_>>(),
    })
}

/// Escapes a text in which `#` would begin a directive.
fn description(text: &str) -> String {
    in_one_line(text).replace('\\', r"\\").replace('#', r"\#")
}
