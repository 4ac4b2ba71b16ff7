//! `check`: checks recorded traffic, offline and without the subject.

use std::collections::{BTreeMap, BTreeSet};
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
use crate::case::{self, on_all_cores};
use crate::edition::{Bundle, Editions};
use crate::judge::{JudgedTrace, JudgingSession};
use crate::protocol::{Edition, edition_label};
use crate::recording::{self, Input, Recording};
use crate::report::model::RunReport;
use crate::report::{Chart, Charting, Collector, SuiteEvent};
use crate::requirement::Party;
use crate::run::MODEL_LOG;
use crate::trace::{Event, Header, Trace, TraceReader};

/// Runs the command.
pub(super) fn run(args: &CheckArgs, editions: &Editions) -> anyhow::Result<ProgramExit> {
    let started = Instant::now();
    let mut baseline = Baseline::load(&args.result.expected, None, args.subject, editions.preferred())?;
    let tapes = tapes(args, editions)?;
    let wanted = args.result.outputs();
    let mut reports = Reports::default();
    let with_charts = wanted.iter().any(Output::has_charts);
    let mut charts = Vec::new();
    for tapes in tapes.chunks(AT_ONCE) {
        for judged in on_all_cores(tapes, |tape| tape.judge(args, editions, with_charts)) {
            for by_edition in judged? {
                charts.extend(reports.add(by_edition, args)?);
            }
        }
    }
    let several = reports.collectors.len() > 1;
    let first = reports.collectors.keys().next().map(|(edition, _)| *edition);
    let several_editions = reports.collectors.keys().any(|(edition, _)| Some(*edition) != first);
    if several && !wanted.iter().all(Output::holds_both_parties) {
        bail!("the recording has both parties, but a report covers one: add --subject agent or --subject client");
    }
    let mut outputs = Outputs::open(&wanted, args.result.detail.into())?;
    let foreign = reports.foreign;
    let finish = |((edition, party), collector): ((&'static str, Party), Collector)| {
        let begin = collector.begin(tapes.len(), !foreign, String::new());
        (edition, party, begin, collector.finish(started.elapsed(), args.strict))
    };
    let mut finished: Vec<_> = reports.collectors.into_iter().map(finish).collect();
    if let Some(baseline) = &mut baseline {
        apply_expected(baseline, editions.preferred(), finished.iter_mut().map(|(.., report)| report).collect())?;
    }
    let mut worst = ProgramExit::Good;
    for (edition, party, begin, report) in finished {
        if several_editions {
            writeln!(stdout(), "\nThe {party}, by {}:", edition_label(edition))?;
        } else if several {
            writeln!(stdout(), "\nThe {party}:")?;
        }
        outputs.event(&SuiteEvent::Begin(&begin))?;
        report.cases.iter().try_for_each(|case| outputs.event(&SuiteEvent::Case(case, None)))?;
        outputs.event(&SuiteEvent::Run(&report))?;
        worst = worst.worse(ProgramExit::of_report(&report, args.result.allow_incomplete));
    }
    charts.iter().try_for_each(|(id, chart)| outputs.event(&SuiteEvent::Chart(id, chart)))?;
    outputs.close()?;
    Ok(worst)
}

/// Applies the expected failures to each report. The named cases may be built in, or among the recorded ones.
fn apply_expected(
    baseline: &mut Baseline,
    bundle: &'static Bundle,
    mut reports: Vec<&mut RunReport>,
) -> anyhow::Result<()> {
    let (cases, _) = case::embedded(bundle);
    let recorded: Vec<String> =
        reports.iter().flat_map(|report| report.cases.iter().map(|case| case.id.clone())).collect();
    let built_in = cases.iter().map(|case| case.id.as_str());
    baseline.check_cases(&built_in.chain(recorded.iter().map(String::as_str)).collect::<Vec<_>>())?;
    for report in &mut reports {
        let own = cases.iter().filter(|case| case.subject == report.subject.kind);
        let own: Vec<&str> = own.map(|case| case.id.as_str()).collect();
        let whole = report.has_all(&own);
        baseline.apply_expected(report, whole)?;
    }
    Ok(())
}

/// A report for each edition and party.
#[derive(Default)]
struct Reports {
    collectors: BTreeMap<(&'static str, Party), Collector>,
    /// The cases that have a trace of their own.
    alone: BTreeSet<String>,
    /// Whether a trace is not the run of a case, so that not all of its requirements need be exercised.
    foreign: bool,
}

impl Reports {
    /// Adds a recording to the report of each requested party. Returns the charts of its cases, by their names in reports.
    ///
    /// A case that also has a separate trace counts by that one, as in the run that wrote both.
    fn add(&mut self, recording: JudgedTape<'_>, args: &CheckArgs) -> anyhow::Result<Vec<(String, Chart)>> {
        let JudgedTape { tape, header, edition, mut judged, evidence, mut charts } = recording;
        // Each process counts, even one whose case counts by its run alone.
        let starts = judged.iter().map(JudgedTrace::starts).sum();
        if header.conversation.is_some() {
            judged.retain(|judged| !self.alone.contains(&tape.id_of(judged)));
            charts.retain(|(id, _)| !self.alone.contains(id));
        } else {
            self.alone.extend(judged.iter().map(|judged| tape.id_of(judged)));
        }
        let is_of_cases = header.is_of_cases();
        self.foreign |= !is_of_cases;
        if let (Some(subject), Some(asked)) = (header.subject, args.subject)
            && subject != asked
        {
            bail!(
                "{}: the trace is of a test of the {subject}, and --subject asks for the {asked}; leave --subject out",
                tape.name
            );
        }
        let parties = header.subject.or(args.subject).map_or_else(|| tape.parties(), |party| vec![party]);
        for party in parties {
            let of_party = || Collector::new(edition, party, header.command.clone());
            let other =
                self.collectors.keys().find(|(other, of)| is_of_cases && *of == party && *other != edition.name);
            if let Some((other, _)) = other {
                bail!(
                    "{}: its edition is {}, but an earlier trace has {other}; check them in two runs",
                    tape.name,
                    edition.name
                );
            }
            let collector = self.collectors.entry((edition.name.as_str(), party)).or_insert_with(of_party);
            collector.count_starts(starts);
            for judged in &judged {
                let file = is_of_cases.then(|| tape.name.clone());
                collector.add_recording(tape.id_of(judged), judged, &evidence, judged.took(), file);
            }
        }
        Ok(charts)
    }
}

/// The number of recordings that are checked before their results are added to the report, which limits the memory.
const AT_ONCE: usize = 64;

/// A checked recording.
struct JudgedTape<'t> {
    tape: &'t Tape,
    header: Header,
    edition: &'static Edition,
    judged: Vec<JudgedTrace>,
    evidence: BTreeMap<usize, Event>,
    charts: Vec<(String, Chart)>,
}

/// A recording that can be read several times.
struct Tape {
    name: String,
    what: Source,
}

enum Source {
    File(PathBuf),
    /// A copy of standard input, which can be read only once.
    Copied(File),
    Sides(Vec<(Party, PathBuf)>),
}

impl Tape {
    fn play(&self, args: &CheckArgs, editions: &Editions) -> anyhow::Result<Recording> {
        let format = recording::Format::ALL.into_iter().find(|f| args.input_format.as_deref() == Some(f.name()));
        let input = match &self.what {
            Source::File(path) => Input::Whole(open(path)?, format, args.subject),
            Source::Copied(file) => {
                let mut file = file.try_clone()?;
                file.rewind()?;
                Input::Whole(Box::new(file), format, args.subject)
            }
            Source::Sides(sides) => Input::Sides(
                sides.iter().map(|(party, path)| Ok((*party, open(path)?))).collect::<anyhow::Result<_>>()?,
            ),
        };
        Recording::open(input, editions.preferred().edition()).with_context(|| self.name.clone())
    }

    /// Whether it is the trace of a conversation that holds several cases. It reads the first line of a file.
    fn is_conversation(&self) -> bool {
        let Source::File(path) = &self.what else { return false };
        let header = File::open(path).ok().and_then(|file| TraceReader::new(BufReader::new(file)).ok());
        header.is_some_and(|reader| reader.header.conversation.is_some())
    }

    /// Judges the recording by the edition of its header and, where connections of a recording negotiated other versions, by
    /// their editions as well. An edition that covers no connection is left out if another one does.
    fn judge(&self, args: &CheckArgs, editions: &Editions, with_charts: bool) -> anyhow::Result<Vec<JudgedTape<'_>>> {
        let header = self.play(args, editions)?.header;
        let edition = editions.of(&header).with_context(|| self.name.clone())?.edition();
        let first = self.judge_by(edition, args, editions, with_charts)?;
        let negotiated: BTreeSet<u64> = match header.is_of_cases() {
            true => BTreeSet::new(),
            false => first.judged.iter().flat_map(JudgedTrace::other_versions).collect(),
        };
        let mut by_edition = vec![first];
        for bundle in negotiated.into_iter().filter_map(|version| editions.of_major(version)) {
            by_edition.push(self.judge_by(bundle.edition(), args, editions, with_charts)?);
        }
        if by_edition.len() > 1 {
            by_edition.retain(|tape| tape.judged.iter().any(|judged| judged.judgement.covered > 0));
        }
        Ok(by_edition)
    }

    /// Judges the recording by this edition.
    fn judge_by(
        &self,
        edition: &'static Edition,
        args: &CheckArgs,
        editions: &Editions,
        with_charts: bool,
    ) -> anyhow::Result<JudgedTape<'_>> {
        let recording = self.play(args, editions)?;
        let mut header = recording.header.clone();
        header.edition.clone_from(&edition.name);
        if !header.is_of_cases() {
            header.file = self.file();
        }
        let mut session = JudgingSession::new(&header, edition);
        for event in recording {
            session.event(&event.with_context(|| self.name.clone())?);
        }
        let judged = session.close_by_case();
        let evidence = self.evidence(&judged, args, editions)?;
        let charts = if with_charts { self.charts(&judged, args, editions)? } else { Vec::new() };
        Ok(JudgedTape { tape: self, header, edition, judged, evidence, charts })
    }

    /// Returns the file, if it is one.
    fn file(&self) -> Option<String> {
        if let Source::File(path) = &self.what { Some(path.display().to_string()) } else { None }
    }

    /// Returns the recorded parties.
    fn parties(&self) -> Vec<Party> {
        match &self.what {
            Source::Sides(sides) => sides.iter().map(|(party, _)| *party).collect(),
            Source::File(_) | Source::Copied(_) => vec![Party::Agent, Party::Client],
        }
    }

    /// Returns the name of a case of it in reports.
    fn id_of(&self, judged: &JudgedTrace) -> String {
        judged.header().case.clone().unwrap_or_else(|| self.name.clone())
    }

    /// Returns the charts of its cases for a page, by id. This reads the recording once more.
    fn charts(
        &self,
        judged: &[JudgedTrace],
        args: &CheckArgs,
        editions: &Editions,
    ) -> anyhow::Result<Vec<(String, Chart)>> {
        let recording = self.play(args, editions)?;
        let header = recording.header.clone();
        let begin = |judged: &JudgedTrace| (self.id_of(judged), Charting::new(judged.header(), judged.evidence()));
        let mut charts: Vec<(String, Charting)> = judged.iter().map(begin).collect();
        if header.conversation.is_some() {
            // It was recorded here, so its size is limited.
            let events = recording.collect::<Result<_, _>>().with_context(|| self.name.clone())?;
            for part in (Trace { header, events }).by_case() {
                let chart = charts.iter_mut().find(|(id, _)| part.header.case.as_ref() == Some(id));
                chart.into_iter().for_each(|(_, chart)| part.events.iter().for_each(|event| chart.event(event)));
            }
        } else {
            for event in recording {
                let event = event.with_context(|| self.name.clone())?;
                charts.iter_mut().for_each(|(_, chart)| chart.event(&event));
            }
        }
        Ok(charts.into_iter().map(|(id, chart)| (id, chart.close())).collect())
    }

    /// Returns the events that prove a finding. This reads the recording once more, so that the first reading need not keep all
    /// events.
    fn evidence(
        &self,
        judged: &[JudgedTrace],
        args: &CheckArgs,
        editions: &Editions,
    ) -> anyhow::Result<BTreeMap<usize, Event>> {
        let wanted: BTreeSet<usize> = judged.iter().flat_map(JudgedTrace::evidence).collect();
        let Some(last) = wanted.last() else { return Ok(BTreeMap::new()) };
        let mut found = BTreeMap::new();
        for event in self.play(args, editions)?.take(last + 1) {
            let event = event.with_context(|| self.name.clone())?;
            if wanted.contains(&event.n) {
                found.insert(event.n, event);
            }
        }
        Ok(found)
    }
}

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
        tapes.push(Tape { name: names.join(" + "), what: Source::Sides(sides) });
    }
    let fits = |path: &Path| is_trace(path) || !is_model_log(path) && is_recording(path, editions);
    for path in files_that(&args.files, fits)? {
        let what = if path == Path::new("-") { Source::Copied(copied()?) } else { Source::File(path.clone()) };
        tapes.push(Tape { name: path.display().to_string(), what });
    }
    // The traces of single cases come first, since they count.
    tapes.sort_by_key(Tape::is_conversation);
    if tapes.is_empty() {
        bail!("no traces or recordings found in the given paths");
    }
    Ok(tapes)
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
fn files_that(paths: &[PathBuf], fits: impl Fn(&Path) -> bool) -> anyhow::Result<Vec<PathBuf>> {
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
fn is_trace(path: &Path) -> bool {
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
