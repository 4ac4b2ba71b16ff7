//! Violations as SARIF 2.1.0: requirements are rules, findings are results, harness errors are notifications.
//!
//! The place of a result is the step in the case file. A built-in case does not belong to the user: its path has the base
//! `SUITE`, which must not have a URI. GitHub refuses the whole upload when a location is not below the checkout, but shows a
//! result in a file that it does not have.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::broken::{Broken, broken};
use super::event::{Renderer, SuiteEvent};
use super::visible::visible;
use super::words::{file_of, level, partial};
use crate::requirement::Level;
use crate::results::{CaseReport, RequirementReport, RunReport};
use crate::verdict::{Conformance, Verdict};

/// The address of the SARIF schema.
const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The base of the paths of built-in cases.
const SUITE: &str = "SUITE";

/// Writes the report as SARIF when the run is over.
pub struct SarifReport<W> {
    out: W,
}

impl<W: Write> SarifReport<W> {
    /// Writes a report to this stream.
    pub const fn new(out: W) -> Self {
        Self { out }
    }
}

impl<W: Write> Renderer for SarifReport<W> {
    fn event(&mut self, event: &SuiteEvent<'_>) -> io::Result<()> {
        let SuiteEvent::Run(report) = event else { return Ok(()) };
        let log = json!({ "$schema": SCHEMA, "version": "2.1.0", "runs": [run(report)] });
        writeln!(self.out, "{}", serde_json::to_string_pretty(&log)?)?;
        self.out.flush()
    }
}

fn run(report: &RunReport) -> Value {
    let rules: Vec<_> = report.requirements.iter().map(|requirement| rule(requirement, report)).collect();
    json!({
        "tool": { "driver": {
            "name": "acp-conformance",
            "semanticVersion": report.suite.version,
            "rules": rules,
        } },
        // GitHub keeps the results of each category apart, which is the part before the last slash.
        "automationDetails": { "id": format!("acp-conformance/{}/", report.subject.kind) },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": { SUITE: { "description": { "text": "The sources of acp-conformance, where its cases are." } } },
        "invocations": [invocation(report)],
        "results": results(report),
        "properties": {
            "edition": report.suite.edition,
            "subject": report.subject,
            "verdict": report.verdict,
            "summary": report.summary,
        },
    })
}

fn rule(requirement: &RequirementReport, report: &RunReport) -> Value {
    let text = requirement.text.as_str();
    let area = requirement.id.split('.').next().unwrap_or_default();
    let mut rule = json!({
        "id": requirement.id,
        "shortDescription": { "text": text },
        "fullDescription": { "text": text },
        "help": { "text": format!("{text}\nacp-conformance explain {} tells more.", requirement.id) },
        "defaultConfiguration": { "level": severity(requirement.level, report) },
        "properties": { "tags": [area, level(requirement.level)] },
    });
    if let Some(link) = requirement.link.as_deref() {
        rule["helpUri"] = link.into();
    }
    rule
}

fn severity(level: Level, report: &RunReport) -> &'static str {
    match level {
        _ if report.counts(level) => "error",
        Level::Should => "warning",
        _ => "note",
    }
}

/// Describes the run itself, with all errors on our side.
fn invocation(report: &RunReport) -> Value {
    let failed = report.cases.iter().filter(|case| case.verdict == Verdict::HarnessError);
    let mut notifications: Vec<_> = failed
        .map(|case| {
            let reason = case.reason.as_deref().unwrap_or_default();
            let text = visible(&format!("{}: {reason}", case.id));
            json!({ "level": "error", "message": { "text": text }, "locations": [location(case, None)] })
        })
        .collect();
    if let Some(cut) = report.partial {
        notifications.push(json!({ "level": "warning", "message": { "text": partial(cut) } }));
    }
    json!({
        // Results that are missing in a partial run are not fixed.
        "executionSuccessful": report.verdict != Conformance::HarnessError && report.partial.is_none(),
        "toolExecutionNotifications": notifications,
    })
}

fn results(report: &RunReport) -> Vec<Value> {
    let cases: BTreeMap<&str, &CaseReport> = report.cases.iter().map(|case| (case.id.as_str(), case)).collect();
    let rules: BTreeMap<&str, usize> =
        report.requirements.iter().enumerate().map(|(index, requirement)| (requirement.id.as_str(), index)).collect();
    let mut seen: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut results = Vec::new();
    for broken in broken(report) {
        let (id, case) = (broken.requirement.id.as_str(), broken.finding.case.as_str());
        let nth = seen.entry((id, case)).and_modify(|n| *n += 1).or_insert(1);
        let place = cases.get(case).map(|case| location(case, broken.finding.line));
        let mut result = json!({
            "ruleId": id,
            "ruleIndex": rules[id],
            "level": severity(broken.requirement.level, report),
            "message": { "text": message(&broken) },
            "locations": place.into_iter().collect::<Vec<_>>(),
            "partialFingerprints": fingerprints(id, case, *nth),
        });
        if let Some(entry) = broken.expected(report) {
            result["suppressions"] = json!([{ "kind": "external", "justification": visible(&entry.reason) }]);
        }
        results.push(result);
    }
    results
}

fn message(broken: &Broken<'_>) -> String {
    let Broken { finding, .. } = broken;
    let mut lines = vec![broken.message(), format!("case: {}", finding.case_name())];
    lines.extend(finding.lines.iter().map(|line| format!("  {line}")));
    visible(&lines.join("\n"))
}

/// Builds the fingerprints. The messages of a subject differ from run to run; the requirement and the case do not.
fn fingerprints(requirement: &str, case: &str, nth: usize) -> Value {
    let digest = Sha256::digest(format!("{requirement} {case}"));
    let hash: String = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let print = format!("{hash}:{nth}");
    // GitHub uses the first one.
    json!({ "primaryLocationLineHash": print, "acpConformanceFinding/v1": print })
}

fn location(case: &CaseReport, line: Option<usize>) -> Value {
    let path = file_of(case);
    let uri = if path.starts_with('/') { format!("file://{}", encoded(&path)) } else { encoded(&path) };
    let mut physical = json!({ "artifactLocation": { "uri": uri } });
    if case.file.is_none() {
        physical["artifactLocation"]["uriBaseId"] = SUITE.into();
    }
    if let Some(line) = line {
        physical["region"] = json!({ "startLine": line });
    }
    json!({ "physicalLocation": physical, "logicalLocations": [{ "fullyQualifiedName": visible(&case.id) }] })
}

/// Encodes a path for a URI.
fn encoded(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
