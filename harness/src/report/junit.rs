//! The report as JUnit XML: a test suite for each area, a test case for each case.
//!
//! A violated requirement is a failure, an error of the harness an error, and a case without a verdict is skipped, with
//! the reason. A violated SHOULD is in the output of a passed case, unless the run was strict.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::broken::{Broken, ByCase, broken_by_case};
use super::event::{Renderer, SuiteEvent};
use super::visible::{cut, in_one_line, visible};
use super::words::{file_of, level, partial, reproduce, subject, times};
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

    fn document(&self, report: &RunReport) -> Report {
        let broken = broken_by_case(report);
        let mut areas: BTreeMap<&str, Vec<&CaseReport>> = BTreeMap::new();
        for case in &report.cases {
            areas.entry(area(&case.id)).or_default().push(case);
        }
        if areas.is_empty() && report.partial.is_some() {
            // Only a suite can say why no case ran.
            areas.entry("no case").or_default();
        }
        let mut document = Report::new("acp-conformance");
        document.set_time(Duration::from_millis(report.summary.duration_ms));
        for (area, cases) in areas {
            let mut suite = TestSuite::new(in_one_line(area));
            let time = cases.iter().map(|case| case.duration_ms).fold(0, u64::saturating_add);
            suite.set_time(Duration::from_millis(time));
            suite.add_property(("subject", in_one_line(&subject(report)).as_str()));
            suite.add_property(("edition", in_one_line(&report.suite.edition).as_str()));
            if let Some(repeated) = &report.repeated {
                suite.add_property(("runs", repeated.runs.to_string().as_str()));
            }
            if let Some(cut) = report.partial {
                suite.add_property(("partial", partial(cut).as_str()));
            }
            suite.add_test_cases(cases.into_iter().map(|case| self.case(area, case, report, &broken)));
            document.add_test_suite(suite);
        }
        document
    }

    fn case(&self, area: &str, case: &CaseReport, report: &RunReport, broken: &ByCase<'_>) -> TestCase {
        let all = broken.get(case.id.as_str()).cloned().unwrap_or_default();
        let (failed, tolerated): (Vec<_>, Vec<_>) = all.into_iter().partition(|broken| broken.counts(report));
        let expected = tolerated.iter().find_map(|broken| broken.expected(report));
        let expected = expected.filter(|_| failed.is_empty()).map(|entry| format!("expected: {}", entry.reason));
        let runs = report.repeated.as_ref().and_then(|repeated| repeated.of_unstable_case(&case.id)).map(times);
        let status = self.status(case, &failed, expected, runs.as_deref());
        let mut test = TestCase::new(in_one_line(&case.id), status);
        test.set_classname(in_one_line(&area.replace('/', ".")));
        test.set_time(Duration::from_millis(case.duration_ms));
        if let Some(title) = &case.title {
            test.add_property(("title", attribute(title).as_str()));
        }
        if let Some(runs) = &runs {
            test.add_property(("runs", runs.as_str()));
        }
        if !tolerated.is_empty() {
            test.set_system_out(visible(&listed(&tolerated)));
        }
        if !case.stderr.is_empty() {
            test.set_system_err(visible(&case.stderr.join("\n")));
        }
        test
    }

    fn status(
        &self,
        case: &CaseReport,
        failed: &[Broken<'_>],
        expected: Option<String>,
        runs: Option<&str>,
    ) -> TestCaseStatus {
        let reason = case.reason.as_deref().unwrap_or_default();
        let is_skipped = failed.is_empty() && expected.is_some();
        match case.verdict {
            Verdict::HarnessError => {
                let mut error = TestCaseStatus::non_success(NonSuccessKind::Error);
                error.set_message(attribute(reason)).set_type("harness-error").set_description(visible(reason));
                error
            }
            Verdict::Fail if !is_skipped => self.failure(case, failed, runs),
            _ if !failed.is_empty() => self.failure(case, failed, runs),
            Verdict::Pass if !is_skipped => TestCaseStatus::success(),
            verdict => {
                let why = expected.unwrap_or_else(|| format!("{verdict}: {}", last_words(&case.stderr, reason)));
                let mut skipped = TestCaseStatus::skipped();
                skipped.set_message(attribute(&why));
                skipped
            }
        }
    }

    /// Writes all violations into one element, since many readers use only the first.
    fn failure(&self, case: &CaseReport, failed: &[Broken<'_>], runs: Option<&str>) -> TestCaseStatus {
        let reason = case.reason.as_deref().unwrap_or_default();
        let (kind, message, text) = match failed {
            [] => ("", cut(reason, LONGEST), reason.to_owned()),
            [first, more @ ..] => {
                let others = if more.is_empty() { String::new() } else { format!(" (and {} more)", more.len()) };
                let message = format!("{}: {}{others}", first.requirement.id, cut(&first.finding.text, LONGEST));
                let line = first.finding.line.map_or_else(String::new, |line| format!(":{line}"));
                let place = Some(format!("at {}{line}", file_of(case)));
                let again = reproduce(&case.id, &first.finding.after, &self.again);
                let exit = (!case.stderr.is_empty())
                    .then(|| format!("The subject exited; its standard error ends with:\n{}", case.stderr.join("\n")));
                let runs = runs.map(|runs| format!("runs: {runs}"));
                let text = [exit, Some(listed(failed)), place, runs, again].into_iter().flatten().collect::<Vec<_>>();
                (level(first.requirement.level), message, text.join("\n\n"))
            }
        };
        let mut failure = TestCaseStatus::non_success(NonSuccessKind::Failure);
        failure.set_message(in_one_line(&message)).set_type(kind).set_description(visible(&text));
        failure
    }
}

impl<W: Write> Renderer for JunitReport<W> {
    fn event(&mut self, event: &SuiteEvent<'_>) -> io::Result<()> {
        match event {
            SuiteEvent::Begin(begin) => self.again.clone_from(&begin.reproduce),
            SuiteEvent::Run(report) => {
                let text = self.document(report).to_string().map_err(io::Error::other)?;
                self.out.write_all(without_total_of_skipped(&text).as_bytes())?;
            }
            _ => {}
        }
        self.out.flush()
    }
}

/// Removes the number of skipped cases from the root, where the schema of Jenkins does not have it. Each suite keeps
/// its own.
fn without_total_of_skipped(text: &str) -> String {
    let root = text.split_once("<testsuites").and_then(|(_, rest)| rest.split_once('>')).map_or("", |(root, _)| root);
    let skipped = root.split_once(" skipped=\"").and_then(|(_, rest)| rest.split_once('"'));
    match skipped {
        Some((count, _)) => text.replacen(&format!(" skipped=\"{count}\""), "", 1),
        None => text.to_owned(),
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

fn listed(all: &[Broken<'_>]) -> String {
    all.iter().map(Broken::violation_text).collect::<Vec<_>>().join("\n\n")
}

/// Shortens a text for an attribute and joins its lines, as XML readers do.
fn attribute(text: &str) -> String {
    in_one_line(&cut(text, LONGEST))
}
