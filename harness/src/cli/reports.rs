//! Reads earlier reports, and the traces of their cases.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::edition::Editions;
use crate::report::Chart;
use crate::results::{FORMAT, RunReport};
use crate::trace::Trace;

/// The folder of traces next to a report.
const TRACES: &str = "traces";

/// Reads the reports in a file: one, or one per line as `monitor` writes them.
///
/// # Errors
///
/// The file cannot be read, or has other content.
pub(super) fn read(path: &Path) -> anyhow::Result<Vec<RunReport>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let reports: Vec<RunReport> =
        serde_json::Deserializer::from_str(&text).into_iter().collect::<Result<_, _>>().with_context(|| {
            format!("{} is not an acp-conformance report; `--format json=FILE` writes one", path.display())
        })?;
    if let Some(other) = reports.iter().find(|report| report.format != FORMAT) {
        bail!("{}: the format is `{}`; this program reads `{FORMAT}`", path.display(), other.format);
    }
    if reports.is_empty() {
        bail!("{} is empty; `--format json=FILE` writes a report", path.display());
    }
    Ok(reports)
}

/// Returns the charts of the cases with their evidence, as far as their traces are found.
///
/// # Errors
///
/// A trace cannot be read.
pub(super) fn charts(
    report: &RunReport,
    file: &Path,
    folders: &[&Path],
    editions: &Editions,
) -> anyhow::Result<BTreeMap<String, Chart>> {
    let mut evidence: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for finding in report.requirements.iter().flat_map(|requirement| &requirement.findings) {
        evidence.entry(&finding.case).or_default().extend(&finding.events);
    }
    // The trace of a conversation holds several cases, and is read once.
    let mut files: BTreeMap<PathBuf, Vec<&str>> = BTreeMap::new();
    for case in &report.cases {
        let path = case.trace.as_deref().and_then(|trace| find(Path::new(trace), file, folders));
        if let Some(path) = path {
            files.entry(path).or_default().push(&case.id);
        }
    }
    let mut charts = BTreeMap::new();
    for (path, wanted) in files {
        let parts = super::check::read(&path, editions)?.by_case();
        for case in wanted {
            // Another run may have written another trace there since.
            if let Some(part) = parts.iter().find(|part| is_of(part, report, case)) {
                charts.insert(case.to_owned(), Chart::of(part, evidence.remove(case).unwrap_or_default()));
            }
        }
    }
    Ok(charts)
}

/// Finds the trace file that a report names: in a folder that was named with it, at the written path, relative to the
/// report, or in the folder of traces next to it.
fn find(trace: &Path, report: &Path, folders: &[&Path]) -> Option<PathBuf> {
    let name = trace.file_name()?;
    let named = folders.iter().map(|folder| folder.join(name));
    let here = report.parent().into_iter().flat_map(|folder| [folder.join(trace), folder.join(TRACES).join(name)]);
    named.chain([trace.to_owned()]).chain(here).find(|path| path.is_file())
}

fn is_of(trace: &Trace, report: &RunReport, case: &str) -> bool {
    let header = &trace.header;
    let same_case = header.case.as_deref() == Some(case) && header.subject == Some(report.subject.kind);
    same_case && header.command == report.subject.command
}
