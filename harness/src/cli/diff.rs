//! `diff`: what changed between two runs.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};

use super::args::{DiffArgs, OutputFormat};
use super::check::{files, is_trace, read};
use super::exit::ProgramExit;
use super::output::stdout;
use crate::compare::{Side, compare, write};
use crate::edition::Editions;
use crate::results::{Collector, RunReport};
use crate::snapshot::Bound;
use crate::trace::{CaseMark, Trace, What};

/// The report in a folder, next to its traces or one level above.
const REPORT: &str = "report.json";

/// The traces in such a folder.
const TRACES: &str = "traces";

pub(super) fn run(args: &DiffArgs, editions: &Editions) -> anyhow::Result<ProgramExit> {
    let (old, new) = (side(&args.old, editions)?, side(&args.new, editions)?);
    let [was, is] = [&old, &new].map(|side| side.report().subject.kind);
    if was != is {
        bail!("{} is of {}, and {} of {}", args.old.display(), was.one(), args.new.display(), is.one());
    }
    let bound = if args.full { Bound::Full } else { Bound::Glance };
    let report = compare(&old, &new, bound);
    match args.format {
        OutputFormat::Text => write(&mut stdout(), &report, bound)?,
        OutputFormat::Json => writeln!(stdout(), "{}", serde_json::to_string_pretty(&report)?)?,
    }
    Ok(if report.regression { ProgramExit::NotConformant } else { ProgramExit::Good })
}

/// Reads the path of a report, a folder with a report and traces, a folder of traces, or a trace.
fn side(path: &Path, editions: &Editions) -> anyhow::Result<Side> {
    let shown = path.display().to_string();
    if !path.is_dir() && !is_trace(path) {
        return Ok(Side::new(shown, report(path)?));
    }
    let with_report = path.join(REPORT).is_file();
    let inner = path.join(TRACES);
    let folder = if with_report && inner.is_dir() { inner } else { path.to_owned() };
    let found = files(&[folder])?;
    let known = with_report.then(|| report(&path.join(REPORT))).transpose()?;
    if known.is_none() && found.is_empty() {
        bail!("no {REPORT} and no .jsonl files found in {shown}");
    }
    let traces: Vec<(&PathBuf, Trace)> =
        found.iter().map(|path| Ok((path, read(path, editions)?))).collect::<anyhow::Result<_>>()?;
    let (shared, alone): (Vec<_>, Vec<_>) =
        traces.into_iter().partition(|(_, trace)| trace.header.conversation.is_some());
    let report = match known {
        Some(report) => report,
        // The traces of single cases come first, since they count.
        None => judged(&shown, alone.iter().chain(&shared), editions)?,
    };
    let mut side = Side::new(shown, report);
    // A case that also has a separate trace counts by that one.
    shared.iter().chain(&alone).for_each(|(path, trace)| add_cases(&mut side, path, trace));
    Ok(side)
}

fn report(path: &Path) -> anyhow::Result<RunReport> {
    let mut reports = super::reports::read(path)?;
    if reports.len() > 1 {
        bail!("{} holds {} reports; diff compares one", path.display(), reports.len());
    }
    reports.pop().context("no report")
}

/// Checks traces with this program.
fn judged<'t>(
    shown: &str,
    traces: impl Iterator<Item = &'t (&'t PathBuf, Trace)>,
    editions: &Editions,
) -> anyhow::Result<RunReport> {
    let mut collector: Option<Collector> = None;
    let mut party = None;
    for (path, trace) in traces {
        let subject = trace.header.subject;
        if party.is_some() && party != subject {
            bail!("{shown} has traces of agents and of clients; compare them separately");
        }
        party = subject;
        let Some(kind) = subject else {
            bail!(
                "{}: the recording does not say which party is the subject; make a report of it: \
                 acp-conformance check --subject agent --format json=FILE",
                path.display()
            );
        };
        let collector = match &mut collector {
            Some(collector) => collector,
            None => {
                let edition = editions.of(&trace.header).with_context(|| path.display().to_string())?.edition();
                collector.insert(Collector::new(edition, kind, trace.header.command.clone()))
            }
        };
        let file = path.display().to_string();
        collector.add(trace, Some(&file));
    }
    let collector = collector.with_context(|| format!("no traces found in {shown}"))?;
    Ok(collector.finish(Duration::ZERO, false))
}

/// Adds the transcript of every case of a trace.
fn add_cases(side: &mut Side, path: &Path, trace: &Trace) {
    let name = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    for mut part in trace.by_case() {
        // The events after the mark belong to a fence between two cases.
        let end = part.events.iter().position(|event| event.what == What::Case(CaseMark::Ends));
        part.events.truncate(end.unwrap_or(part.events.len()));
        side.add(part.header.case.clone().unwrap_or_else(name), &part);
    }
}
