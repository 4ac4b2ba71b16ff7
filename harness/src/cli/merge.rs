//! `merge`: joins the reports of all shards of a run to one report.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use super::args::MergeArgs;
use super::exit::ProgramExit;
use super::expected::Baseline;
use super::output::say;
use super::outputs::Outputs;
use super::reports::{charts, read};
use crate::case;
use crate::edition::Editions;
use crate::expected::Expectation;
use crate::report::{Begin, Chart, SuiteEvent, mismatch};
use crate::results::{RunReport, ShardInfo, join};
use crate::verdict::Conformance;

pub(super) fn run(args: &MergeArgs, editions: &Editions) -> anyhow::Result<ProgramExit> {
    let (folders, files): (Vec<&Path>, Vec<&Path>) =
        args.files.iter().map(PathBuf::as_path).partition(|path| path.is_dir());
    for folder in &folders {
        if super::check::files(&[folder.to_path_buf()])?.is_empty() {
            bail!("no traces found in {}; for a report, name its file", folder.display());
        }
    }
    let shards = Shards::read(&files)?.complete(args.allow_missing)?;
    let mut outputs = Outputs::open(&args.result.outputs(), args.result.detail.into())?;
    let charts = if outputs.charts { shards.charts(&folders, editions)? } else { BTreeMap::new() };
    let (whole, learned, reproduce) = (shards.whole, shards.learned(), shards.reproduce());
    let is_missing = shards.is_missing;
    let known = shards.expectations();
    let mut report = shards.join()?;
    report.verdict = report.outcome(report.verdict, |_| false);
    apply_expected(&mut report, args, known, whole, editions)?;
    if is_missing {
        // The cases of a missing shard were selected too.
        let verdicts = std::iter::once(&mut report.verdict);
        let verdicts = verdicts.chain(report.expected.as_mut().map(|expected| &mut expected.otherwise));
        verdicts
            .filter(|verdict| **verdict == Conformance::Passed)
            .for_each(|verdict| *verdict = Conformance::Incomplete);
    }
    let begin = Begin::of(&report, whole, reproduce);
    outputs.event(&SuiteEvent::Begin(&begin))?;
    report.cases.iter().try_for_each(|case| outputs.event(&SuiteEvent::Case(case, None)))?;
    charts.iter().try_for_each(|(case, chart)| outputs.event(&SuiteEvent::Chart(case, chart)))?;
    outputs.event(&SuiteEvent::Run(&report))?;
    outputs.close()?;
    Ok(ProgramExit::of_report(&report, args.result.allow_incomplete && learned))
}

/// Applies the expected failures of the shards and of the arguments.
fn apply_expected(
    report: &mut RunReport,
    args: &MergeArgs,
    known: Option<Vec<Expectation>>,
    whole: bool,
    editions: &Editions,
) -> anyhow::Result<()> {
    let bundle = editions.named(&report.suite.edition)?;
    let Some(mut baseline) = Baseline::load(&args.result.expected, known, Some(report.subject.kind), bundle)? else {
        return Ok(());
    };
    let (cases, _) = case::embedded(bundle);
    let built_in = cases.iter().map(|case| case.id.as_str());
    baseline.check_cases(&built_in.chain(report.cases.iter().map(|case| case.id.as_str())).collect::<Vec<_>>())?;
    baseline.apply_expected(&mut [(report, whole)])
}

/// The reports of the shards of one run.
struct Shards<'a> {
    all: Vec<ShardReport<'a>>,
    /// Whether all of them together are a run of all cases.
    whole: bool,
    /// Whether there are others.
    is_missing: bool,
}

/// The report of a shard.
struct ShardReport<'a> {
    file: &'a Path,
    info: ShardInfo,
    report: RunReport,
}

impl<'a> Shards<'a> {
    /// Reads the reports of one run, in the order of the shards.
    fn read(files: &[&'a Path]) -> anyhow::Result<Self> {
        let mut all: Vec<ShardReport<'a>> = Vec::new();
        for &file in files {
            for report in read(file)? {
                let Some(info) = report.shard.clone() else {
                    bail!(
                        "{} is not the report of a shard; `--shard K/N --format json=FILE` writes one",
                        file.display()
                    );
                };
                let new = ShardReport { file, info, report };
                if let Some((known, why)) =
                    all.iter().find_map(|known| Some((known, mismatch(&known.report, &new.report)?)))
                {
                    bail!("{} and {} are from different runs: {why}", known.file.display(), file.display());
                }
                all.push(new);
            }
        }
        if all.is_empty() {
            bail!("no reports given, only folders; name the JSON files");
        }
        all.sort_by_key(|shard| shard.info.number);
        let is_whole =
            |shard: &ShardReport<'_>| shard.info.whole && !shard.info.cut_short && shard.report.partial.is_none();
        let whole = all.iter().all(is_whole);
        Ok(Self { all, whole, is_missing: false })
    }

    /// Whether any shard could test the subject.
    fn learned(&self) -> bool {
        self.all.iter().any(|shard| !shard.info.cut_short)
    }

    /// Checks that no shard is missing. A shard without any contact with the subject counts as missing, unless all
    /// shards have none: then one of them represents the others.
    fn complete(mut self, allow_missing: bool) -> anyhow::Result<Self> {
        let of = self.all.first().map_or(0, |shard| shard.info.of);
        let is_cut = |shard: &ShardReport<'_>| shard.info.cut_short;
        if self.all.iter().all(is_cut) {
            self.all.truncate(1);
            return Ok(self);
        }
        let mut missing: Vec<String> = Vec::new();
        for number in 1..=of {
            match self.all.iter().find(|shard| shard.info.number == number) {
                None => missing.push(format!("shard {number} of {of} is missing")),
                Some(shard) if is_cut(shard) => {
                    missing.push(format!("shard {number} of {of} ran no case ({})", shard.file.display()))
                }
                Some(_) => {}
            }
        }
        if missing.is_empty() {
            return Ok(self);
        }
        let missing = missing.join("; ");
        if !allow_missing {
            bail!("{missing}; --allow-missing merges the others");
        }
        say(&format!("{missing}; the report does not contain its cases"));
        self.all.retain(|shard| !is_cut(shard));
        self.whole = false;
        self.is_missing = true;
        Ok(self)
    }

    /// Returns the expected failures of the shards, which are the same for all; `None` without any.
    fn expectations(&self) -> Option<Vec<Expectation>> {
        let expected = self.all.first()?.report.expected.as_ref()?;
        Some(expected.entries.iter().map(Expectation::from).collect())
    }

    fn reproduce(&self) -> String {
        self.all.first().map(|shard| shard.info.reproduce.clone()).unwrap_or_default()
    }

    /// Returns the charts of all cases whose traces are found.
    fn charts(&self, folders: &[&Path], editions: &Editions) -> anyhow::Result<BTreeMap<String, Chart>> {
        let mut found = BTreeMap::new();
        let mut cases = 0;
        for ShardReport { file, report, .. } in &self.all {
            cases += report.cases.len();
            found.extend(charts(report, file, folders, editions)?);
        }
        if found.len() < cases {
            say(&format!(
                "the page has charts of {} of {cases} cases because the other traces were not found; also name their folders",
                found.len()
            ));
        }
        Ok(found)
    }

    fn join(self) -> anyhow::Result<RunReport> {
        let joined = self.all.into_iter().map(|shard| shard.report).reduce(join).context("no report given")?;
        Ok(RunReport { shard: None, expected: None, ..joined })
    }
}
