//! The report as JUnit XML: a test suite for each area, a test case for each case.
//!
//! A violated requirement is a failure, an error of the harness an error, and a case without a verdict is skipped, with the
//! reason. A violated SHOULD is in the output of a passed case, unless the run was strict.

use std::collections::BTreeMap;
use std::io::{self, Write};

use maud::{Markup, PreEscaped, html};

use super::broken::{Broken, broken_by_case};
use super::event::{Renderer, SuiteEvent};
use super::visible::{cut, in_one_line, visible};
use super::words::{file_of, level, partial, reproduce, subject};
use crate::results::{CaseReport, RunReport};
use crate::verdict::Verdict;

/// The longest text in an attribute.
const LONGEST: usize = 500;

/// Writes the report as JUnit XML when the run is over.
pub struct JunitReport<W> {
    out: W,
    /// The command that runs a case again.
    again: String,
}

impl<W: Write> JunitReport<W> {
    /// Writes a report to this stream.
    pub const fn new(out: W) -> Self {
        Self { out, again: String::new() }
    }

    fn document(&self, report: &RunReport) -> Markup {
        let broken = broken_by_case(report);
        let cases: Vec<_> = report.cases.iter().map(|case| TestCase::of(case, report, &broken)).collect();
        let mut areas: BTreeMap<&str, Vec<&TestCase<'_>>> = BTreeMap::new();
        for case in &cases {
            areas.entry(area(&case.case.id)).or_default().push(case);
        }
        if cases.is_empty() && report.partial.is_some() {
            // Only a suite can say why no case ran.
            areas.entry("no case").or_default();
        }
        let SuiteCounts { tests, failures, errors, .. } = SuiteCounts::of(cases.iter());
        html! {
            (PreEscaped("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"))
            testsuites name="acp-conformance" tests=(tests) failures=(failures) errors=(errors)
                time=(seconds(report.summary.duration_ms)) {
                @for (area, cases) in &areas { "\n" (self.suite(area, cases, report)) }
                "\n"
            }
            "\n"
        }
    }

    fn suite(&self, area: &str, cases: &[&TestCase<'_>], report: &RunReport) -> Markup {
        let SuiteCounts { tests, failures, errors, skipped } = SuiteCounts::of(cases.iter().copied());
        let time = seconds(cases.iter().map(|case| case.case.duration_ms).fold(0, u64::saturating_add));
        html! {
            testsuite name=(in_one_line(area)) tests=(tests) failures=(failures) errors=(errors) skipped=(skipped)
                time=(time) {
                properties {
                    property name="subject" value=(in_one_line(&subject(report))) {}
                    property name="edition" value=(in_one_line(&report.suite.edition)) {}
                    @if let Some(cut) = report.partial { property name="partial" value=(partial(cut)) {} }
                }
                @for case in cases { "\n" (self.case(area, case)) }
                "\n"
            }
        }
    }

    fn case(&self, area: &str, case: &TestCase<'_>) -> Markup {
        let CaseReport { id, title, verdict, reason, duration_ms, stderr, .. } = case.case;
        let (reason, class) = (reason.as_deref().unwrap_or_default(), area.replace('/', "."));
        html! {
            testcase name=(in_one_line(id)) classname=(in_one_line(&class)) time=(seconds(*duration_ms)) {
                @if let Some(title) = title { properties { property name="title" value=(attribute(title)) {} } }
                @match case.kind {
                    Kind::Pass => {}
                    Kind::Failure => (self.failure(case)),
                    Kind::Error => error message=(attribute(reason)) type="harness-error" { (visible(reason)) },
                    Kind::Skipped => {
                        @let why = case.expected.clone().unwrap_or_else(|| format!("{verdict}: {}", last_words(stderr, reason)));
                        skipped message=(attribute(&why)) {}
                    }
                }
                @if !case.tolerated.is_empty() { system-out { (visible(&told(&case.tolerated))) } }
                @if !stderr.is_empty() { system-err { (visible(&stderr.join("\n"))) } }
            }
        }
    }

    /// Writes all violations into one element, since many readers use only the first.
    fn failure(&self, case: &TestCase<'_>) -> Markup {
        let stderr = &case.case.stderr;
        let reason = case.case.reason.as_deref().unwrap_or_default();
        let (kind, message, text) = match case.failed.as_slice() {
            [] => ("", cut(reason, LONGEST), reason.to_owned()),
            [first, more @ ..] => {
                let others = if more.is_empty() { String::new() } else { format!(" (and {} more)", more.len()) };
                let message = format!("{}: {}{others}", first.requirement.id, cut(&first.finding.text, LONGEST));
                let line = first.finding.line.map_or_else(String::new, |line| format!(":{line}"));
                let place = Some(format!("at {}{line}", file_of(case.case)));
                let again = reproduce(&case.case.id, &first.finding.after, &self.again);
                let exit = (!stderr.is_empty())
                    .then(|| format!("The subject exited; its standard error ends with:\n{}", stderr.join("\n")));
                let text = [exit, Some(told(&case.failed)), place, again].into_iter().flatten().collect::<Vec<_>>();
                (level(first.requirement.level), message, text.join("\n\n"))
            }
        };
        html! { failure message=(in_one_line(&message)) type=(kind) { (visible(&text)) } }
    }
}

impl<W: Write> Renderer for JunitReport<W> {
    fn event(&mut self, event: &SuiteEvent<'_>) -> io::Result<()> {
        match event {
            SuiteEvent::Begin(begin) => self.again.clone_from(&begin.reproduce),
            SuiteEvent::Start(_)
            | SuiteEvent::Played(_)
            | SuiteEvent::First(_)
            | SuiteEvent::Case(..)
            | SuiteEvent::Chart(..) => {}
            SuiteEvent::Run(report) => self.out.write_all(self.document(report).into_string().as_bytes())?,
        }
        self.out.flush()
    }
}

/// The result of a case in JUnit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Pass,
    Failure,
    Error,
    Skipped,
}

/// A case with its violations.
struct TestCase<'r> {
    case: &'r CaseReport,
    kind: Kind,
    /// The violations that count.
    failed: Vec<Broken<'r>>,
    /// The violations that do not count, or were expected.
    tolerated: Vec<Broken<'r>>,
    /// The reason for skipping it, if all of its failures were expected.
    expected: Option<String>,
}

impl<'r> TestCase<'r> {
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

/// The number of cases by result.
#[derive(Default)]
struct SuiteCounts {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

impl SuiteCounts {
    fn of<'o, 'r: 'o>(cases: impl Iterator<Item = &'o TestCase<'r>>) -> Self {
        cases.fold(Self::default(), |counts, case| Self {
            tests: counts.tests + 1,
            failures: counts.failures + usize::from(case.kind == Kind::Failure),
            errors: counts.errors + usize::from(case.kind == Kind::Error),
            skipped: counts.skipped + usize::from(case.kind == Kind::Skipped),
        })
    }
}

/// Returns the folder of a case.
fn area(case: &str) -> &str {
    case.rsplit_once('/').map_or("recordings", |(area, _)| area)
}

/// Returns the reason after the last line on standard error of a subject that exited.
fn last_words(stderr: &[String], reason: &str) -> String {
    match stderr.last() {
        Some(last) => format!("standard error ends with `{last}`; {reason}"),
        None => reason.to_owned(),
    }
}

fn told(all: &[Broken<'_>]) -> String {
    all.iter().map(Broken::told).collect::<Vec<_>>().join("\n\n")
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

/// Shortens a text for an attribute and joins its lines, as XML readers do.
fn attribute(text: &str) -> String {
    in_one_line(&cut(text, LONGEST))
}
