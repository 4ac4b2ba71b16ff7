//! `board`: the runs of many subjects as a folder of pages, or as Markdown.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::args::BoardArgs;
use super::exit::ProgramExit;
use super::output::say;
use super::reports::{charts, read};
use crate::edition::Editions;
use crate::output_file::write_file;
use crate::report::{BoardRun, ListedAgent, PageReport, count, file_name, write_board, write_board_markdown};
use crate::results::RunReport;

/// The folder of the pages of the runs, below that of the board.
const RUNS: &str = "runs";

pub(super) fn run(args: &BoardArgs, editions: &Editions) -> anyhow::Result<ProgramExit> {
    let reports = reports(&args.reports)?;
    if reports.is_empty() {
        bail!("no reports found; `--format json=FILE` writes one");
    }
    let docs = args.docs.as_deref().map(|docs| docs.trim_end_matches('/'));
    let board = BoardFiles { folder: args.output.as_deref(), markdown: args.markdown.as_deref(), docs, listed: &[] };
    board.write(reports, editions)?;
    Ok(ProgramExit::Good)
}

/// The files of a board.
pub(super) struct BoardFiles<'b> {
    /// The folder of the pages.
    pub(super) folder: Option<&'b Path>,
    /// The file of the table.
    pub(super) markdown: Option<&'b Path>,
    /// The address of the documentation, without a slash at its end.
    pub(super) docs: Option<&'b str>,
    /// The agents that are listed whether they have a run or not.
    pub(super) listed: &'b [ListedAgent],
}

impl BoardFiles<'_> {
    /// Writes the board of these reports, each with its file.
    ///
    /// # Errors
    ///
    /// A trace of a report cannot be read, or a file cannot be written.
    pub(super) fn write(&self, reports: Vec<(PathBuf, RunReport)>, editions: &Editions) -> anyhow::Result<()> {
        let (mut runs, mut names, mut charted) = (Vec::new(), BTreeSet::new(), 0);
        for (file, report) in reports {
            let page = format!("{RUNS}/{}.html", unique(&mut names, &file_name(&report)));
            if let Some(folder) = self.folder {
                charted += write_run(&folder.join(&page), &report, &file, editions)?;
            }
            runs.push(BoardRun { report, page });
        }
        if let Some(folder) = self.folder {
            let board = folder.join("index.html");
            write(&board, |out| write_board(&runs, self.listed, self.docs, out))?;
            let (runs, charted) = (count(runs.len(), "run", "runs"), count(charted, "chart", "charts"));
            say(&format!("{}: {runs}, {charted} of cases", board.display()));
        }
        self.markdown.map_or(Ok(()), |file| write(file, |out| write_board_markdown(&runs, self.listed, out)))
    }
}

fn write(path: &Path, page: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) -> anyhow::Result<()> {
    write_file(path, page).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes the page of a run, and returns the number of its charts.
fn write_run(page: &Path, report: &RunReport, file: &Path, editions: &Editions) -> anyhow::Result<usize> {
    let folder = page.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let charts = charts(report, file, &[], editions)?;
    write(page, |out| {
        let mut page = PageReport::new(out).with_board("../index.html");
        page.report(report.clone());
        charts.iter().try_for_each(|(case, chart)| page.chart(case, chart))?;
        page.finish().map(drop)
    })?;
    Ok(charts.len())
}

/// Reads the reports with their files. Other JSON files in a folder are skipped with a note; a named file must be a
/// report.
fn reports(given: &[PathBuf]) -> anyhow::Result<Vec<(PathBuf, RunReport)>> {
    let mut reports = Vec::new();
    for path in given {
        let (files, is_folder) = if path.is_dir() { (json_files(path)?, true) } else { (vec![path.clone()], false) };
        for file in files {
            match read(&file).and_then(|found| whole(&file, found)) {
                Ok(found) => reports.extend(found.into_iter().map(|report| (file.clone(), report))),
                Err(error) if is_folder => say(&format!("skipped: {error:#}")),
                Err(error) => return Err(error),
            }
        }
    }
    Ok(reports)
}

/// Refuses the parts of a run, which say nothing about the cases of the other parts.
fn whole(file: &Path, reports: Vec<RunReport>) -> anyhow::Result<Vec<RunReport>> {
    if reports.iter().any(|report| report.shard.is_some()) {
        bail!("{} is one shard of a run; `merge` joins the shards", file.display());
    }
    Ok(reports)
}

/// Returns the JSON files in a folder and below it, in order.
fn json_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let entry = entry.with_context(|| format!("cannot read {}", folder.display()))?;
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Returns a name that is not taken yet, with a number at its end if it must differ.
fn unique(taken: &mut BTreeSet<String>, name: &str) -> String {
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let free = std::iter::once(name.to_owned()).chain(numbered).find(|name| taken.insert(name.clone()));
    free.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut taken = BTreeSet::new();
        let names = ["a", "a", "b", "a", "a-2"].map(|name| unique(&mut taken, name));
        assert_eq!(names, ["a", "a-2", "b", "a-3", "a-2-2"]);
    }
}
