//! `registry`: installs and tests the agents of a registry, and shows what changed.

mod show;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context, bail};
use wildmatch::WildMatch;

use self::show::{Progress, list, listed, summary};
use super::args::RegistryArgs;
use super::board::BoardFiles;
use super::exit::ProgramExit;
use super::output::{say, stdout};
use super::reports::read;
use crate::edition::Editions;
use crate::output_file::{write_file, write_json};
use crate::plan::built_in_profiles;
use crate::registry::{
    ChosenEntry, EntryOutcome, EntryResult, EntryRuns, EntryStep, FORMAT, Install, RegistryChanges, RegistryEntry,
    RegistryReport, block_on, changes_between, fetch_index, read_entry, read_registry, write_feed,
};
use crate::report::rfc3339;
use crate::results::{ProfileInfo, RunReport};
use crate::run::stopped;
use crate::verdict::Conformance;

/// The files and folders in that of the results.
const RESULTS: &str = "results.json";
const BOARD: &str = "board";
const TABLE: &str = "board.md";
const FEED: &str = "feed.xml";

/// How many runs with changes the results keep.
const KEPT_CHANGES: usize = 50;

pub(super) fn run(args: &RegistryArgs, editions: &Editions) -> anyhow::Result<ProgramExit> {
    let (limits, cache) = (args.limits(), cache(args)?);
    let installs = Install { cache: &cache, limits: &limits, scripts: !args.no_scripts };
    let path = match args.registry.starts_with("https://") || args.registry.starts_with("http://") {
        true => block_on(fetch_index(&args.registry, &installs))?.map_err(anyhow::Error::msg)?,
        false => PathBuf::from(&args.registry),
    };
    let (entries, mistakes) = read_registry(&path).map_err(anyhow::Error::msg)?;
    mistakes.iter().for_each(|mistake| say(&format!("skipped: {mistake}")));
    let (profiles, _) = built_in_profiles(editions.preferred())?;
    let all: Vec<ChosenEntry> =
        entries.into_iter().map(|entry| ChosenEntry::new(entry, &profiles, args.quick)).collect();
    let selected = select(&all, args)?;
    if args.list {
        write!(stdout(), "{}", list(&selected))?;
        return Ok(ProgramExit::Good);
    }
    let before = read_results(&args.output.join(RESULTS))?;
    if !args.collect {
        let progress = Progress::default();
        let step = |step: EntryStep<'_>| progress.show(step);
        EntryRuns::new(&args.output, args.traces, installs, &step)?.all(&selected, args.jobs, args.again)?;
        if stopped().is_some() {
            say("interrupted; the same command continues with the other entries");
            return Ok(ProgramExit::Interrupted);
        }
    }
    let results: Vec<EntryResult> =
        all.iter().filter_map(|chosen| read_entry(&args.output, &chosen.entry.id)).collect();
    let report = joined(args, before, results);
    write_results(&args.output, &report, &all, editions)?;
    write!(stdout(), "{}", summary(&report, &selected.iter().map(|one| one.entry.id.as_str()).collect::<Vec<_>>()))?;
    let is_broken = |entry: &EntryResult| {
        let by_harness = |edition: &crate::registry::EditionResult| edition.verdict == Conformance::HarnessError;
        entry.outcome == EntryOutcome::HarnessError || entry.editions.iter().any(by_harness)
    };
    let harness_failed = report.entries.iter().any(is_broken);
    Ok(if harness_failed { ProgramExit::HarnessError } else { ProgramExit::Good })
}

/// Returns the folder for installations.
fn cache(args: &RegistryArgs) -> anyhow::Result<PathBuf> {
    let folder = match &args.cache {
        Some(folder) => folder.clone(),
        None => {
            let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
            let of_user = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
            of_user.context("HOME is not set; name a folder with --cache")?.join("acp-conformance/registry")
        }
    };
    std::path::absolute(&folder).with_context(|| format!("--cache {}", folder.display()))
}

/// Returns the entries of the globs and of the shard.
fn select<'a>(all: &'a [ChosenEntry], args: &RegistryArgs) -> anyhow::Result<Vec<&'a ChosenEntry>> {
    let globs: Vec<WildMatch> = args.only.iter().map(|glob| WildMatch::new(glob)).collect();
    for (glob, text) in globs.iter().zip(&args.only) {
        if !all.iter().any(|one| glob.matches(&one.entry.id)) {
            let ids = all.iter().map(|one| one.entry.id.as_str());
            let near = crate::diagnostic::nearest(text, ids).map(|near| format!("; did you mean `{near}`?"));
            bail!("--only {text}: no such entry{}", near.unwrap_or_else(|| "; --list shows the entries".to_owned()));
        }
    }
    let is_named = |one: &&ChosenEntry| globs.is_empty() || globs.iter().any(|glob| glob.matches(&one.entry.id));
    let mut selected: Vec<&ChosenEntry> = all.iter().filter(is_named).collect();
    if let Some(shard) = args.shard {
        shard.keep(&mut selected, |one| &one.entry.id);
    }
    Ok(selected)
}

/// Reads the results of the run before, if there was one.
fn read_results(file: &Path) -> anyhow::Result<Option<RegistryReport>> {
    if !file.exists() {
        return Ok(None);
    }
    let shown = file.display();
    let text = std::fs::read(file).with_context(|| format!("cannot read {shown}"))?;
    let report: RegistryReport =
        serde_json::from_slice(&text).with_context(|| format!("{shown} does not hold the results of a registry"))?;
    if report.format != FORMAT {
        bail!("{shown}: the format is `{}`; this program reads `{FORMAT}`", report.format);
    }
    Ok(Some(report))
}

/// Joins the results with what changed since the run before.
fn joined(args: &RegistryArgs, before: Option<RegistryReport>, entries: Vec<EntryResult>) -> RegistryReport {
    let (ended, suite) = (rfc3339(SystemTime::now()), env!("CARGO_PKG_VERSION").to_owned());
    let mut changes = Vec::new();
    if let Some(before) = before {
        let new = RegistryChanges {
            ended: ended.clone(),
            since: before.ended,
            other_suite: before.suite != suite,
            changes: changes_between(&before.entries, &entries),
        };
        changes.push(new);
        // Only the newest run is there also without changes.
        changes.extend(before.changes.into_iter().filter(|changes| !changes.changes.is_empty()).take(KEPT_CHANGES));
    }
    RegistryReport { format: FORMAT.to_owned(), suite, registry: args.registry.clone(), ended, entries, changes }
}

fn write_results(
    output: &Path,
    report: &RegistryReport,
    all: &[ChosenEntry],
    editions: &Editions,
) -> anyhow::Result<()> {
    let [results, feed] = [RESULTS, FEED].map(|name| output.join(name));
    write_json(&results, report).with_context(|| format!("cannot write {}", results.display()))?;
    write_file(&feed, |out| write_feed(report, out)).with_context(|| format!("cannot write {}", feed.display()))?;
    let entries: BTreeMap<&str, &RegistryEntry> = all.iter().map(|one| (one.entry.id.as_str(), &one.entry)).collect();
    let mut reports = Vec::new();
    for result in &report.entries {
        for edition in &result.editions {
            let file = output.join(&edition.report);
            let read = read(&file)?;
            let repository = entries.get(result.id.as_str()).and_then(|entry| entry.repository.clone());
            reports.extend(read.into_iter().map(|report| (file.clone(), named(report, result, repository.clone()))));
        }
    }
    let (folder, table) = (output.join(BOARD), output.join(TABLE));
    // The pages of earlier reports stay otherwise.
    let _ = std::fs::remove_dir_all(folder.join("runs"));
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let listed = listed(report);
    let board = BoardFiles { folder: Some(&folder), markdown: Some(&table), docs: None, listed: &listed };
    board.write(reports, editions)
}

/// Names the subject of a report by its entry, since two agents may report the same name.
fn named(mut report: RunReport, result: &EntryResult, homepage: Option<String>) -> RunReport {
    let package = result.package.as_deref().unwrap_or_default();
    let install = result.distribution.as_ref().map(|kind| format!("{kind} {package}"));
    report.subject.profile = Some(Box::new(ProfileInfo {
        name: result.id.clone(),
        title: result.name.clone(),
        homepage,
        install,
        version: Some(result.version.clone()),
    }));
    report
}
