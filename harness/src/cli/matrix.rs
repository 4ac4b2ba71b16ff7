//! `matrix`: many subjects in one page.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::args::MatrixArgs;
use super::exit::ProgramExit;
use super::output::say;
use super::reports::{charts, evidence, read};
use crate::edition::Editions;
use crate::output_file::write_file;
use crate::report::{Column, write_matrix, write_subjects};
use crate::results::FindingReport;
use crate::verdict::Verdict;

/// Runs the command.
pub(super) fn run(args: &MatrixArgs, editions: &Editions) -> anyhow::Result<ProgramExit> {
    let given = given(&args.files)?;
    if let Some(output) = &args.format {
        let reports: Vec<_> = given.iter().map(|given| read(given.report)).collect::<anyhow::Result<_>>()?;
        output.write(|out| write_subjects(reports.concat(), out))?;
    }
    args.html.as_deref().map_or(Ok(()), |html| page(&given, html, editions))?;
    Ok(ProgramExit::Good)
}

/// Writes the page.
fn page(given: &[Given<'_>], html: &Path, editions: &Editions) -> anyhow::Result<()> {
    let mut columns: Vec<Column> = Vec::new();
    for given in given {
        for report in read(given.report)? {
            let charts = charts(&report, given.report, &given.folders, &evidence(&report, failed), editions)?;
            columns.push(Column { report, file: given.report.display().to_string(), charts });
        }
    }
    let (subjects, charts) = (columns.len(), columns.iter().map(|column| column.charts.len()).sum::<usize>());
    write_file(html, |out| write_matrix(columns, out)).with_context(|| format!("cannot write {}", html.display()))?;
    let (subjects, charts) = (many(subjects, "report"), many(charts, "chart"));
    say(&format!("{}: {subjects}, {charts} of failed cases", html.display()));
    Ok(())
}

fn many(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// A report, and the folders of traces named after it.
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
            bail!("no traces found in {}", path.display());
        } else if let Some(before) = given.last_mut() {
            before.folders.push(path);
        } else {
            bail!("{} is a folder of traces: name it after its report", path.display());
        }
    }
    Ok(given)
}

fn failed(finding: &FindingReport) -> bool {
    finding.verdict == Verdict::Fail
}
