//! `matrix`: many subjects in one page.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::args::MatrixArgs;
use super::exit::Exit;
use super::output::say;
use crate::report::model::{FORMAT, RunReport};
use crate::report::{Chart, Column, write_matrix};
use crate::trace::Trace;
use crate::verdict::Verdict;

/// Runs the command.
pub(super) fn run(args: &MatrixArgs) -> anyhow::Result<Exit> {
    let mut columns: Vec<Column> = Vec::new();
    for given in given(&args.files)? {
        for report in read(given.report)? {
            let charts = charts(&report, given.report, &given.folders)?;
            columns.push(Column { report, file: given.report.display().to_string(), charts });
        }
    }
    let file = File::create(&args.html).with_context(|| format!("cannot write {}", args.html.display()))?;
    let (subjects, charts) = (columns.len(), columns.iter().map(|column| column.charts.len()).sum::<usize>());
    write_matrix(columns, &mut BufWriter::new(file)).with_context(|| args.html.display().to_string())?;
    let (subjects, charts) = (many(subjects, "report"), many(charts, "chart"));
    say(&format!("{}: {subjects}, {charts} of cases that failed", args.html.display()));
    Ok(Exit::Good)
}

fn many(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// A report, and the folders of traces that were named behind it.
struct Given<'a> {
    report: &'a Path,
    folders: Vec<&'a Path>,
}

fn given(files: &[PathBuf]) -> anyhow::Result<Vec<Given<'_>>> {
    let mut given: Vec<Given<'_>> = Vec::new();
    for path in files {
        if !path.is_dir() {
            given.push(Given { report: path, folders: Vec::new() });
        } else if super::check::files(std::slice::from_ref(path))?.is_empty() {
            bail!("there is no trace in {}", path.display());
        } else if let Some(before) = given.last_mut() {
            before.folders.push(path);
        } else {
            bail!("{} is a folder of traces: name it behind the report that it belongs to", path.display());
        }
    }
    Ok(given)
}

/// The reports in a file: one, or as `monitor` writes them one a line.
fn read(path: &Path) -> anyhow::Result<Vec<RunReport>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let reports: Vec<RunReport> = serde_json::Deserializer::from_str(&text)
        .into_iter()
        .collect::<Result<_, _>>()
        .with_context(|| format!("{} is no report; `--format json=FILE` writes one", path.display()))?;
    if let Some(other) = reports.iter().find(|report| report.format != FORMAT) {
        bail!("{}: the format is `{}`, and this program reads `{FORMAT}`", path.display(), other.format);
    }
    if reports.is_empty() {
        bail!("{} is empty; `--format json=FILE` writes a report", path.display());
    }
    Ok(reports)
}

/// The charts of the cases in which something failed, as far as their traces are found.
fn charts(report: &RunReport, file: &Path, folders: &[&Path]) -> anyhow::Result<BTreeMap<String, Chart>> {
    let mut charts = BTreeMap::new();
    for (case, evidence) in failed(report) {
        let trace = report.cases.iter().find(|known| known.id == case).and_then(|case| case.trace.as_deref());
        let Some(path) = trace.and_then(|trace| find(Path::new(trace), file, folders)) else { continue };
        let trace = super::check::read(&path)?;
        // Another run may have written another trace there since.
        if is_of(&trace, report, case) {
            charts.insert(case.to_owned(), Chart::of(&trace, evidence));
        }
    }
    Ok(charts)
}

/// The cases in which something failed, with the events that prove it.
fn failed(report: &RunReport) -> BTreeMap<&str, BTreeSet<usize>> {
    let mut failed: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    let findings = report.requirements.iter().flat_map(|requirement| &requirement.findings);
    for finding in findings.filter(|finding| finding.verdict == Verdict::Fail) {
        failed.entry(&finding.case).or_default().extend(&finding.events);
    }
    failed
}

/// The trace file that a report names: in a folder that was named with it, as it was written, or from where the report is.
fn find(trace: &Path, report: &Path, folders: &[&Path]) -> Option<PathBuf> {
    let name = trace.file_name()?;
    let named = folders.iter().map(|folder| folder.join(name));
    let beside = report.parent().map(|folder| folder.join(trace));
    named.chain([trace.to_owned()]).chain(beside).find(|path| path.is_file())
}

fn is_of(trace: &Trace, report: &RunReport, case: &str) -> bool {
    let header = &trace.header;
    let same_case = header.case.as_deref() == Some(case) && header.subject == Some(report.subject.kind);
    same_case && header.command == report.subject.command
}
