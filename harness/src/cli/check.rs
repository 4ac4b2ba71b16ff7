//! `check`: checks recorded traffic, offline and without the subject.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, bail};

use super::args::CheckArgs;
use super::exit::ProgramExit;
use super::expected::Baseline;
use super::output::stdout;
use super::outputs::{Output, Outputs};
use crate::case::{self, Case, on_all_cores};
use crate::check::{PartyReport, Reports, Tape};
use crate::edition::{Bundle, Editions};
use crate::protocol::edition_label;
use crate::recording::{Input, Recording};
use crate::report::{Chart, SuiteEvent, protocol};
use crate::requirement::Party;
use crate::results::RunReport;
use crate::run::MODEL_LOG;
use crate::trace::{Trace, TraceReader};

/// Runs the command. Each edition that decides has reports of its own; with `only`, that edition alone.
pub(super) fn run(args: &CheckArgs, editions: &Editions, only: Option<&'static Bundle>) -> anyhow::Result<ProgramExit> {
    let started = Instant::now();
    let mut baseline = Baseline::load(&args.result.expected, None, args.subject, editions.preferred())?;
    let tapes = tapes(args, editions)?;
    let wanted = args.result.outputs();
    let mut reports = Reports::default();
    let with_charts = wanted.iter().any(Output::has_charts);
    let mut charts: BTreeMap<&str, Vec<(String, Chart)>> = BTreeMap::new();
    for tapes in tapes.chunks(AT_ONCE) {
        for judged in on_all_cores(tapes, |tape| tape.judge(editions, with_charts)) {
            for tape in judged?.into_iter().filter(|tape| only.is_none_or(|only| tape.edition() == only.name())) {
                let edition = tape.edition();
                charts.entry(edition).or_default().extend(reports.add(tape, args.subject)?);
            }
        }
    }
    let mut finished = reports.finish(started.elapsed(), args.strict);
    if let Some(only) = only.filter(|_| finished.is_empty()) {
        let version = only.case_folder();
        bail!("no conversation in the recordings is in {}; leave --protocol {version} out", protocol(only.name()));
    }
    if let Some(baseline) = &mut baseline {
        let reports = finished.iter_mut().map(|one| &mut one.report).collect();
        apply_expected(baseline, editions.preferred(), reports)?;
    }
    let by_edition: Vec<&[PartyReport]> = finished.chunk_by(|one, other| one.edition == other.edition).collect();
    let holds_both = wanted.iter().all(Output::holds_both_parties);
    if by_edition.iter().any(|reports| reports.len() > 1) && !holds_both {
        bail!("the recording has both parties, but a report covers one: add --subject agent or --subject client");
    }
    let mut worst = ProgramExit::Good;
    for reports in &by_edition {
        let edition = reports[0].edition;
        let outputs = match by_edition.len() {
            1 => wanted.clone(),
            _ => {
                let version = editions.named(edition)?.case_folder();
                wanted.iter().map(|output| output.clone().of_version(version)).collect::<anyhow::Result<_>>()?
            }
        };
        let mut outputs = Outputs::open(&outputs, args.result.detail.into())?;
        for PartyReport { party, begin, report, .. } in *reports {
            if by_edition.len() > 1 {
                writeln!(stdout(), "\nThe {party}, by {}:", edition_label(edition))?;
            } else if reports.len() > 1 {
                writeln!(stdout(), "\nThe {party}:")?;
            }
            outputs.event(&SuiteEvent::Begin(begin))?;
            report.cases.iter().try_for_each(|case| outputs.event(&SuiteEvent::Case(case, None)))?;
            outputs.event(&SuiteEvent::Run(report))?;
            worst = worst.worse(ProgramExit::of_report(report, args.result.allow_incomplete));
        }
        let charts = charts.get(edition).into_iter().flatten();
        charts.into_iter().try_for_each(|(id, chart)| outputs.event(&SuiteEvent::Chart(id, chart)))?;
        outputs.close()?;
    }
    Ok(worst)
}

/// Applies the expected failures to each report. The named cases may be built in, or among the recorded ones.
fn apply_expected<'r>(
    baseline: &mut Baseline,
    bundle: &'static Bundle,
    reports: Vec<&'r mut RunReport>,
) -> anyhow::Result<()> {
    let (cases, _) = case::embedded(bundle);
    let recorded: Vec<String> =
        reports.iter().flat_map(|report| report.cases.iter().map(|case| case.id.clone())).collect();
    let built_in = cases.iter().map(|case| case.id.as_str());
    baseline.check_cases(&built_in.chain(recorded.iter().map(String::as_str)).collect::<Vec<_>>())?;
    let with_whole = |report: &'r mut RunReport| {
        let (kind, transport) = (report.subject.kind, report.transport());
        let fits = |case: &&Case| case.subject == kind && case.fits(transport, bundle.catalogue());
        let own = cases.iter().filter(fits);
        let own: Vec<&str> = own.map(|case| case.id.as_str()).collect();
        let whole = report.has_all(&own);
        (report, whole)
    };
    baseline.apply_expected(&mut reports.into_iter().map(with_whole).collect::<Vec<_>>())
}

/// The number of recordings that are checked before their results are added to the report, which limits the memory.
const AT_ONCE: usize = 64;

fn open(path: &Path) -> anyhow::Result<Box<dyn Read>> {
    Ok(Box::new(File::open(path).with_context(|| format!("cannot open {}", path.display()))?))
}

/// Returns the named recordings, and those of every format in named folders.
fn tapes(args: &CheckArgs, editions: &Editions) -> anyhow::Result<Vec<Tape>> {
    let sides = [(Party::Agent, &args.agent), (Party::Client, &args.client)];
    let sides: Vec<(Party, PathBuf)> =
        sides.into_iter().filter_map(|(party, path)| Some((party, path.clone()?))).collect();
    let mut tapes = Vec::new();
    if !sides.is_empty() {
        let names: Vec<String> = sides.iter().map(|(_, path)| path.display().to_string()).collect();
        let parties: Vec<Party> = sides.iter().map(|(party, _)| *party).collect();
        let all = move || sides.iter().map(|(party, path)| Ok((*party, open(path)?))).collect::<anyhow::Result<_>>();
        tapes.push(Tape::new(names.join(" + "), &parties, Box::new(move || Ok(Input::Sides(all()?)))));
    }
    let fits = |path: &Path| is_trace(path) || !is_model_log(path) && is_recording(path, editions);
    let mut files = files_that(&args.files, fits)?;
    // The traces of single cases come first, since they count.
    files.sort_by_key(|path| is_conversation(path));
    let (format, subject) = (args.input_format, args.subject);
    for path in files {
        let name = path.display().to_string();
        tapes.push(if path == Path::new("-") {
            let copy = copied()?;
            let again = move || -> anyhow::Result<Input> {
                let mut file = copy.try_clone()?;
                file.rewind()?;
                Ok(Input::Whole(Box::new(file), format, subject))
            };
            Tape::new(name, &Party::ALL, Box::new(move || Ok(again()?)))
        } else {
            let again = move || Ok(Input::Whole(open(&path)?, format, subject));
            Tape::new(name.clone(), &Party::ALL, Box::new(again)).of_file(name)
        });
    }
    if tapes.is_empty() {
        bail!("no traces or recordings found in the given paths");
    }
    Ok(tapes)
}

/// Whether it is the trace of a conversation that holds several cases. This reads the first line.
fn is_conversation(path: &Path) -> bool {
    let header = File::open(path).ok().and_then(|file| TraceReader::new(BufReader::new(file)).ok());
    header.is_some_and(|reader| reader.header.conversation.is_some())
}

fn copied() -> anyhow::Result<File> {
    let mut file = tempfile::tempfile().context("cannot create a temporary file")?;
    std::io::copy(&mut std::io::stdin().lock(), &mut file).context("cannot copy standard input")?;
    Ok(file)
}

/// Reads a whole recording, of this program or of another tool.
pub(super) fn read(path: &Path, editions: &Editions) -> anyhow::Result<Trace> {
    let recording = Recording::open(Input::Whole(open(path)?, None, None), editions.preferred().edition())
        .with_context(|| path.display().to_string())?;
    let header = recording.header.clone();
    let events = recording.collect::<Result<_, _>>().with_context(|| path.display().to_string())?;
    Ok(Trace { header, events })
}

/// Returns the named trace files, and those in named folders.
pub(super) fn files(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    files_that(paths, is_trace)
}

/// Returns the named files, and those in named folders that fit.
pub(super) fn files_that(paths: &[PathBuf], fits: impl Fn(&Path) -> bool) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let mut inside = files_in(path).with_context(|| format!("cannot read {}", path.display()))?;
            inside.retain(|path| fits(path));
            inside.sort();
            files.extend(inside);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

fn files_in(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    std::fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect()
}

/// Whether the name is that of a trace of this program.
pub(super) fn is_trace(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}

/// Whether the name is that of a log of the scripted model, which stands next to the traces.
fn is_model_log(path: &Path) -> bool {
    path.to_string_lossy().ends_with(&format!(".{MODEL_LOG}"))
}

/// Whether the beginning of a file is that of a recording in a known format.
fn is_recording(path: &Path, editions: &Editions) -> bool {
    let is_known = |from| Recording::open(Input::Whole(from, None, None), editions.preferred().edition()).is_ok();
    path.is_file() && open(path).is_ok_and(is_known)
}
