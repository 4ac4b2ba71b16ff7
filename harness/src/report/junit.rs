//! The report as JUnit XML: a test suite for each area, a test case for each case.
//!
//! A broken requirement is a failure, a fault of the harness an error, and whatever was not decided is skipped, with the
//! reason. A broken SHOULD is told in the output of a case that passed, unless the run was strict.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::broken::{Broken, broken_by_case};
use super::event::{Renderer, SuiteEvent};
use super::model::{CaseReport, RunReport};
use super::visible::{cut, visible};
use super::words::{file_of, level, reproduce, subject};
use crate::verdict::Verdict;

/// The longest text in an attribute.
const LONGEST: usize = 500;

/// Writes the report as JUnit XML when the run is over.
pub struct JunitReport<W> {
    out: W,
    /// How the subject is started again.
    again: String,
}

impl<W: Write> JunitReport<W> {
    /// A report on this stream.
    pub const fn new(out: W) -> Self {
        Self { out, again: String::new() }
    }

    fn report(&mut self, report: &RunReport) -> io::Result<()> {
        let broken = broken_by_case(report);
        let cases: Vec<_> = report.cases.iter().map(|case| Outcome::of(case, report, &broken)).collect();
        let mut areas: BTreeMap<&str, Vec<&Outcome<'_>>> = BTreeMap::new();
        for case in &cases {
            areas.entry(area(&case.case.id)).or_default().push(case);
        }
        writeln!(self.out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
        let counts = Counts::of(cases.iter());
        writeln!(
            self.out,
            r#"<testsuites name="acp-conformance" tests="{}" failures="{}" errors="{}" time="{}">"#,
            counts.tests,
            counts.failures,
            counts.errors,
            seconds(report.summary.duration_ms)
        )?;
        areas.into_iter().try_for_each(|(area, cases)| self.suite(area, &cases, report))?;
        writeln!(self.out, "</testsuites>")
    }

    fn suite(&mut self, area: &str, cases: &[&Outcome<'_>], report: &RunReport) -> io::Result<()> {
        let counts = Counts::of(cases.iter().copied());
        writeln!(
            self.out,
            r#"  <testsuite name="{}" tests="{}" failures="{}" errors="{}" skipped="{}" time="{}">"#,
            quoted(area),
            counts.tests,
            counts.failures,
            counts.errors,
            counts.skipped,
            seconds(cases.iter().map(|case| case.case.duration_ms).fold(0, u64::saturating_add))
        )?;
        writeln!(self.out, "    <properties>")?;
        for (name, value) in [("subject", subject(report)), ("edition", report.suite.edition.clone())] {
            writeln!(self.out, r#"      <property name="{name}" value="{}"/>"#, quoted(&value))?;
        }
        writeln!(self.out, "    </properties>")?;
        cases.iter().try_for_each(|case| self.case(area, case))?;
        writeln!(self.out, "  </testsuite>")
    }

    fn case(&mut self, area: &str, outcome: &Outcome<'_>) -> io::Result<()> {
        let case = outcome.case;
        let (name, class) = (quoted(&case.id), quoted(&area.replace('/', ".")));
        writeln!(self.out, r#"    <testcase name="{name}" classname="{class}" time="{}">"#, seconds(case.duration_ms))?;
        let reason = case.reason.as_deref().unwrap_or_default();
        match outcome.kind {
            Kind::Pass => {}
            Kind::Failure => self.failure(outcome)?,
            Kind::Error => {
                let message = quoted(&cut(reason, LONGEST));
                writeln!(
                    self.out,
                    r#"      <error message="{message}" type="harness-error">{}</error>"#,
                    escaped(reason)
                )?;
            }
            Kind::Skipped => {
                let why = outcome.expected.clone().unwrap_or_else(|| format!("{}: {reason}", case.verdict));
                let message = quoted(&cut(&why, LONGEST));
                writeln!(self.out, r#"      <skipped message="{message}"/>"#)?;
            }
        }
        if !outcome.tolerated.is_empty() {
            writeln!(self.out, "      <system-out>{}</system-out>", escaped(&told(&outcome.tolerated)))?;
        }
        writeln!(self.out, "    </testcase>")
    }

    /// One element with everything that was broken: many readers look at the first alone.
    fn failure(&mut self, outcome: &Outcome<'_>) -> io::Result<()> {
        let reason = outcome.case.reason.as_deref().unwrap_or_default();
        let (kind, message, text) = match outcome.failed.as_slice() {
            [] => ("", reason.to_owned(), reason.to_owned()),
            [first, more @ ..] => {
                let others = if more.is_empty() { String::new() } else { format!(" (and {} more)", more.len()) };
                let message = format!("{}: {}{others}", first.requirement.id, cut(&first.finding.message, LONGEST));
                let line = first.finding.line.map_or_else(String::new, |line| format!(":{line}"));
                let place = Some(format!("at {}{line}", file_of(outcome.case)));
                let again = reproduce(first.finding.party, &outcome.case.id, &self.again);
                let text = [Some(told(&outcome.failed)), place, again].into_iter().flatten().collect::<Vec<_>>();
                (level(first.requirement.level), message, text.join("\n\n"))
            }
        };
        let (message, text) = (quoted(&cut(&message, 2 * LONGEST)), escaped(&text));
        writeln!(self.out, r#"      <failure message="{message}" type="{kind}">{text}</failure>"#)
    }
}

impl<W: Write> Renderer for JunitReport<W> {
    fn event(&mut self, event: &SuiteEvent<'_>) -> io::Result<()> {
        match event {
            SuiteEvent::Begin(begin) => self.again.clone_from(&begin.reproduce),
            SuiteEvent::Start(_) | SuiteEvent::Case(..) | SuiteEvent::Chart(..) => {}
            SuiteEvent::Run(report) => self.report(report)?,
        }
        self.out.flush()
    }
}

/// What becomes of a case in JUnit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Pass,
    Failure,
    Error,
    Skipped,
}

/// A case with what was broken in it.
struct Outcome<'r> {
    case: &'r CaseReport,
    kind: Kind,
    /// What counts.
    failed: Vec<Broken<'r>>,
    /// What does not, or was expected.
    tolerated: Vec<Broken<'r>>,
    /// Why it is skipped, where all that failed was expected.
    expected: Option<String>,
}

impl<'r> Outcome<'r> {
    fn of(case: &'r CaseReport, report: &RunReport, broken: &BTreeMap<&str, Vec<Broken<'r>>>) -> Self {
        let all = broken.get(case.id.as_str()).cloned().unwrap_or_default();
        let (failed, tolerated): (Vec<_>, Vec<_>) = all.into_iter().partition(|broken| broken.counts(report));
        let expected = tolerated.iter().find_map(|broken| broken.expected(report));
        let expected = expected.filter(|_| failed.is_empty()).map(|entry| format!("expected: {}", entry.reason));
        let kind = match case.verdict {
            Verdict::HarnessError => Kind::Error,
            _ if !failed.is_empty() => Kind::Failure,
            _ if expected.is_some() => Kind::Skipped,
            Verdict::Fail => Kind::Failure,
            Verdict::Pass => Kind::Pass,
            Verdict::Inconclusive | Verdict::NotApplicable | Verdict::NotExercised => Kind::Skipped,
        };
        Self { case, kind, failed, tolerated, expected }
    }
}

/// How many cases became what.
#[derive(Default)]
struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

impl Counts {
    fn of<'o, 'r: 'o>(cases: impl Iterator<Item = &'o Outcome<'r>>) -> Self {
        cases.fold(Self::default(), |counts, case| Self {
            tests: counts.tests + 1,
            failures: counts.failures + usize::from(case.kind == Kind::Failure),
            errors: counts.errors + usize::from(case.kind == Kind::Error),
            skipped: counts.skipped + usize::from(case.kind == Kind::Skipped),
        })
    }
}

/// The folder of a case.
fn area(case: &str) -> &str {
    case.rsplit_once('/').map_or("recordings", |(area, _)| area)
}

fn told(all: &[Broken<'_>]) -> String {
    all.iter().map(Broken::told).collect::<Vec<_>>().join("\n\n")
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

/// The text for an attribute, where a line feed by itself would become a blank.
fn quoted(text: &str) -> String {
    escaped(text).replace('"', "&quot;").replace('\n', "&#10;").replace('\t', "&#9;")
}

/// The text for an element.
fn escaped(text: &str) -> String {
    visible(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
