//! Two runs of one subject in one page: the old and the new verdict of each case and requirement, with both charts.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use maud::{Markup, html};
use serde::Serialize;

use super::data::{CatalogueEntry, entries};
use super::document::{PageDocument, json};
use super::head;
use super::matrix::Column;
use crate::report::visible::visible;
use crate::report::words::{outcome, partial, protocol};
use crate::results::{CaseReport, FindingReport, RunReport};
use crate::verdict::Verdict;

/// The names of the runs, in their order on the page.
const NAMES: [&str; 2] = ["old", "new"];

/// The data for the script.
#[derive(Serialize)]
struct RunsData<'r> {
    requirements: Vec<Pair<'r>>,
    cases: Vec<Pair<'r>>,
    catalogue: BTreeMap<&'r str, CatalogueEntry<'r>>,
}

/// A requirement or a case in both runs.
#[derive(Serialize)]
struct Pair<'r> {
    id: &'r str,
    title: Option<&'r str>,
    /// The results in the old and the new run; null where it is missing.
    runs: [Option<RunResult<'r>>; 2],
}

#[derive(Serialize)]
struct RunResult<'r> {
    verdict: Verdict,
    reason: Option<&'r str>,
    findings: Vec<RunFinding<'r>>,
}

/// A finding, with its requirement.
#[derive(Serialize)]
struct RunFinding<'r> {
    id: &'r str,
    finding: &'r FindingReport,
}

/// Writes the page of an earlier and a later run.
///
/// # Errors
///
/// Errors of the stream.
pub fn write_runs(runs: &[Column; 2], out: &mut dyn Write) -> io::Result<()> {
    let reports = runs.each_ref().map(|run| &run.report);
    let data = RunsData {
        requirements: requirements(reports),
        cases: cases(reports),
        catalogue: entries(reports.into_iter()),
    };
    let charts = NAMES.iter().zip(runs).flat_map(|(name, run)| {
        run.charts.iter().map(move |(case, chart)| Ok((format!("{name} {case}"), json(chart)?)))
    });
    let charts = charts.collect::<io::Result<Vec<_>>>()?;
    let (data, head) = (json(&data)?, head(runs));
    let document =
        PageDocument {
            title: "Two runs – ACP conformance", head: &head, script: include_str!("runs.js"), data: &data
        };
    document.write(out, charts.iter().map(|(name, chart)| (name.as_str(), chart.as_str())))?;
    out.flush()
}

fn requirements<'r>(reports: [&'r RunReport; 2]) -> Vec<Pair<'r>> {
    let by_id = reports.map(|report| {
        let results = report.requirements.iter().map(|one| {
            let findings = one.findings.iter().map(|finding| RunFinding { id: &one.id, finding }).collect();
            (one.id.as_str(), RunResult { verdict: one.verdict, reason: None, findings })
        });
        results.collect::<BTreeMap<_, _>>()
    });
    pairs(by_id, |_| None)
}

fn cases<'r>(reports: [&'r RunReport; 2]) -> Vec<Pair<'r>> {
    let by_id = reports.map(|report| {
        let mut results: BTreeMap<&str, RunResult<'_>> = report.cases.iter().map(of_case).collect();
        for requirement in &report.requirements {
            for finding in &requirement.findings {
                if let Some(result) = results.get_mut(finding.case.as_str()) {
                    result.findings.push(RunFinding { id: &requirement.id, finding });
                }
            }
        }
        results
    });
    let cases = || reports.iter().flat_map(|report| &report.cases);
    let titles: BTreeMap<&str, &str> =
        cases().filter_map(|case| Some((case.id.as_str(), case.title.as_deref()?))).collect();
    pairs(by_id, |id| titles.get(id).copied())
}

fn of_case(case: &CaseReport) -> (&str, RunResult<'_>) {
    let CaseReport { id, verdict, reason, .. } = case;
    (id, RunResult { verdict: *verdict, reason: reason.as_deref(), findings: Vec::new() })
}

fn pairs<'r>(
    [mut old, mut new]: [BTreeMap<&'r str, RunResult<'r>>; 2],
    title: impl Fn(&str) -> Option<&'r str>,
) -> Vec<Pair<'r>> {
    let ids: BTreeSet<&str> = old.keys().chain(new.keys()).copied().collect();
    ids.into_iter().map(|id| Pair { id, title: title(id), runs: [old.remove(id), new.remove(id)] }).collect()
}

/// Writes the verdict on each run, for readers without scripts.
fn head(runs: &[Column; 2]) -> Markup {
    html! {
        h1 { "Two runs" }
        @for (name, Column { report, file, .. }) in NAMES.iter().zip(runs) {
            p {
                b { (name) } " " (visible(&head::name(&report.subject))) ": "
                b { (report.verdict.name().replace('-', " ")) } ". " (outcome(report)) "."
                @if let Some(cut) = report.partial { " Partial: " (partial(cut)) "." }
                " " span class="facts" {
                    (visible(file)) " · " (visible(&protocol(&report.suite.edition)))
                    " · acp-conformance " (visible(&report.suite.version))
                }
            }
        }
    }
}
