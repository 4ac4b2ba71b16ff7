//! `check`: judges recorded traces, offline and without the subject.

use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::args::{CheckArgs, Format};
use super::exit::Exit;
use super::output::stdout;
use crate::report::{Collector, SuiteEvent, TextReport};
use crate::requirement::Party;
use crate::trace::Trace;

/// Runs the command.
pub(super) fn run(args: &CheckArgs) -> anyhow::Result<Exit> {
    let started = Instant::now();
    let mut traces = Vec::new();
    for path in files(&args.traces)? {
        let trace = read(&path)?;
        traces.push((path, trace));
    }
    let Some((_, first)) = traces.first() else { bail!("there is no .jsonl file in what was given") };
    let mut collector = Collector::new(first.header.subject.unwrap_or(Party::Agent), first.header.command.clone());
    let mut out = stdout();
    let mut text = (args.format == Format::Text).then(|| TextReport::new(&mut out, String::new(), false));
    for (path, trace) in &traces {
        let duration = Duration::from_micros(trace.events.last().map_or(0, |event| event.us));
        let report = collector.add(trace, duration, Some(path.display().to_string()));
        text.as_mut().map_or(Ok(()), |text| text.event(&SuiteEvent::Case(&report)))?;
    }
    let report = collector.finish(started.elapsed(), args.strict);
    match text.as_mut() {
        Some(text) => text.event(&SuiteEvent::Run(&report))?,
        None => writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?,
    }
    Ok(Exit::of(report.verdict, args.allow_incomplete))
}

/// Reads a trace file.
pub(super) fn read(path: &Path) -> anyhow::Result<Trace> {
    let file = std::fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    Trace::read(BufReader::new(file)).with_context(|| path.display().to_string())
}

/// The trace files that were named, or that lie in folders that were.
pub(super) fn files(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let mut inside = traces_in(path).with_context(|| format!("cannot read {}", path.display()))?;
            inside.sort();
            files.extend(inside);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn traces_in(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    let paths = std::fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|path| path.extension().is_some_and(|e| e == "jsonl")).collect())
}
