//! `registry`: installs and tests the agents of a registry, and shows what changed.

mod show;

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Instant, SystemTime};

use anyhow::{Context, bail};
use tokio::runtime::Builder;
use wildmatch::WildMatch;

use self::show::{Progress, list, listed, summary};
use super::args::RegistryArgs;
use super::board::BoardFiles;
use super::exit::ProgramExit;
use super::output::{say, stdout};
use super::reports::read;
use crate::edition::Editions;
use crate::output_file::write_file;
use crate::plan::built_in_profiles;
use crate::profile::Profile;
use crate::registry::{
    CaseChoice, EntryOutcome, EntryResult, EntryTest, FORMAT, Install, Installed, LoginRule, NotInstalled,
    RegistryChanges, RegistryEntry, RegistryLimits, RegistryLock, RegistryReport, case_choice, changes_between,
    fetch_index, install, read_registry, test_entry, write_feed,
};
use crate::report::rfc3339;
use crate::results::{ProfileInfo, RunReport};
use crate::run::stopped;
use crate::sync::lock;
use crate::verdict::Conformance;

/// The files and folders in that of the results.
const RESULTS: &str = "results.json";
const LOCK: &str = "registry.lock";
const ENTRIES: &str = "entries";
const BOARD: &str = "board";
const TABLE: &str = "board.md";
const FEED: &str = "feed.xml";

/// The most processes of an agent at once.
const MOST_AGENTS: usize = 4;

/// How many runs with changes the results keep.
const KEPT_CHANGES: usize = 50;

/// An entry with the choice of its cases.
pub(super) struct Chosen {
    entry: RegistryEntry,
    choice: CaseChoice,
    /// The first word of the command of its profile.
    program: Option<String>,
}

/// Runs the command.
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
    let all: Vec<Chosen> = entries.into_iter().map(|entry| chosen(entry, &profiles, args.quick)).collect();
    let selected = select(&all, args)?;
    if args.list {
        write!(stdout(), "{}", list(&selected))?;
        return Ok(ProgramExit::Good);
    }
    std::fs::create_dir_all(args.output.join(ENTRIES))
        .with_context(|| format!("cannot create {}", args.output.display()))?;
    let before = read_results(&args.output.join(RESULTS))?;
    if !args.collect {
        let lock_file = args.output.join(LOCK);
        let locked = RegistryLock::read(&lock_file).map_err(anyhow::Error::msg)?;
        let run = EntryRuns {
            args,
            installs,
            limits: &limits,
            lock_file,
            locked: Mutex::new(locked),
            waiting: Mutex::new(VecDeque::new()),
            progress: Progress::default(),
        };
        run.all(&selected)?;
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

fn chosen(entry: RegistryEntry, profiles: &[Profile], quick: bool) -> Chosen {
    let choice = case_choice(&entry, profiles, quick);
    let profile = profiles.iter().find(|profile| Some(&profile.name) == choice.profile.as_ref());
    let program = profile.and_then(|profile| profile.command.first().cloned());
    Chosen { entry, choice, program }
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
fn select<'a>(all: &'a [Chosen], args: &RegistryArgs) -> anyhow::Result<Vec<&'a Chosen>> {
    let globs: Vec<WildMatch> = args.only.iter().map(|glob| WildMatch::new(glob)).collect();
    for (glob, text) in globs.iter().zip(&args.only) {
        if !all.iter().any(|one| glob.matches(&one.entry.id)) {
            let ids = all.iter().map(|one| one.entry.id.as_str());
            let near = crate::diagnostic::nearest(text, ids).map(|near| format!("; did you mean `{near}`?"));
            bail!("--only {text}: no such entry{}", near.unwrap_or_else(|| "; --list shows the entries".to_owned()));
        }
    }
    let is_named = |one: &&Chosen| globs.is_empty() || globs.iter().any(|glob| glob.matches(&one.entry.id));
    let mut selected: Vec<&Chosen> = all.iter().filter(is_named).collect();
    if let Some(shard) = args.shard {
        shard.keep(&mut selected, |one| &one.entry.id);
    }
    Ok(selected)
}

fn block_on<F: Future>(future: F) -> anyhow::Result<F::Output> {
    let runtime = Builder::new_current_thread().enable_all().build().context("cannot start a runtime")?;
    Ok(runtime.block_on(future))
}

/// The runs of the selected entries.
struct EntryRuns<'r> {
    args: &'r RegistryArgs,
    installs: Install<'r>,
    limits: &'r RegistryLimits,
    lock_file: PathBuf,
    locked: Mutex<RegistryLock>,
    waiting: Mutex<VecDeque<&'r Chosen>>,
    progress: Progress,
}

impl<'r> EntryRuns<'r> {
    /// Installs and tests the entries without a result, several at once.
    fn all(&self, selected: &[&'r Chosen]) -> anyhow::Result<()> {
        let is_open = |one: &&Chosen| {
            let known = read_entry(&self.args.output, &one.entry.id);
            let words = one.choice.words();
            let is_known = known.is_some_and(|it| it.is_of(&one.entry.version, env!("CARGO_PKG_VERSION"), &words));
            self.args.again || !is_known
        };
        let open: VecDeque<&Chosen> = selected.iter().copied().filter(is_open).collect();
        self.progress.begin(open.len(), selected.len());
        let jobs = self.args.jobs.get().min(open.len());
        *lock(&self.waiting) = open;
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(|| self.work())).collect();
            workers.into_iter().try_for_each(|worker| match worker.join() {
                Ok(result) => result,
                Err(_) => bail!("a worker failed"),
            })
        })
    }

    fn work(&self) -> anyhow::Result<()> {
        let next = || lock(&self.waiting).pop_front();
        while let Some(chosen) = next().filter(|_| stopped().is_none()) {
            let number = self.progress.next();
            if let Some(result) = self.entry(chosen, number)? {
                self.progress.ended(number, &result);
                write_json(&entry_file(&self.args.output, &result.id), &result)?;
            }
        }
        Ok(())
    }

    /// Installs and tests an entry. `None` if the user stopped the run.
    fn entry(&self, chosen: &Chosen, number: usize) -> anyhow::Result<Option<EntryResult>> {
        let Chosen { entry, choice, program } = chosen;
        let began = rfc3339(SystemTime::now());
        self.progress.installs(number, entry);
        let installation = block_on(install(entry, &self.installs))?;
        let installed = installation.result.and_then(|installed| self.record(entry, installed));
        let mut result = EntryResult {
            id: entry.id.clone(),
            name: entry.name.clone(),
            version: entry.version.clone(),
            suite: env!("CARGO_PKG_VERSION").to_owned(),
            distribution: None,
            package: None,
            profile: choice.profile.clone(),
            cases: choice.words(),
            began,
            install_ms: u64::try_from(installation.took.as_millis()).unwrap_or(u64::MAX),
            test_ms: 0,
            outcome: EntryOutcome::NotInstalled,
            reason: None,
            stderr: Vec::new(),
            login: LoginRule::unknown("not installed"),
            editions: Vec::new(),
        };
        let installed = match installed {
            Ok(installed) => installed,
            Err(failure) if failure.is_interrupted => return Ok(None),
            Err(failure) => {
                result.reason = Some(failure.reason);
                result.stderr = failure.last_lines;
                return Ok(Some(result));
            }
        };
        result.distribution = Some(installed.locked.distribution.clone());
        result.package = Some(installed.locked.package.clone());
        self.progress.tests(number, entry, &result.cases);
        let (test_began, jobs) = (Instant::now(), self.agent_jobs());
        let test = EntryTest {
            entry,
            installed: &installed,
            choice,
            profile_program: program.as_deref(),
            limits: self.limits,
            jobs,
            output: &self.args.output,
        };
        let Some(tested) = block_on(test_entry(&test))? else { return Ok(None) };
        Ok(Some(EntryResult {
            test_ms: u64::try_from(test_began.elapsed().as_millis()).unwrap_or(u64::MAX),
            outcome: tested.outcome,
            reason: tested.reason,
            stderr: tested.stderr,
            login: tested.login,
            editions: tested.editions,
            ..result
        }))
    }

    /// Entries share the processors, and the processes of an agent share its limit of memory.
    fn agent_jobs(&self) -> usize {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        (cores / self.args.jobs.get()).clamp(1, MOST_AGENTS)
    }

    /// Writes the installation to the lock file.
    fn record(&self, entry: &RegistryEntry, installed: Installed) -> Result<Installed, NotInstalled> {
        let mut locked = lock(&self.locked);
        let failed = |reason| NotInstalled { reason, last_lines: Vec::new(), is_interrupted: false };
        locked.record(&entry.id, &installed.locked).map_err(failed)?;
        let written = locked.write(&self.lock_file);
        written.map_err(|error| failed(format!("cannot write {}: {error}", self.lock_file.display())))?;
        Ok(installed)
    }
}

fn entry_file(output: &Path, id: &str) -> PathBuf {
    output.join(ENTRIES).join(format!("{id}.json"))
}

/// Returns the newest result of an entry; a file of another version of this program counts as none.
fn read_entry(output: &Path, id: &str) -> Option<EntryResult> {
    serde_json::from_slice(&std::fs::read(entry_file(output, id)).ok()?).ok()
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

fn write_results(output: &Path, report: &RegistryReport, all: &[Chosen], editions: &Editions) -> anyhow::Result<()> {
    write_json(&output.join(RESULTS), report)?;
    let feed = output.join(FEED);
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

fn write_json(file: &Path, value: &impl serde::Serialize) -> anyhow::Result<()> {
    write_file(file, |out| {
        serde_json::to_writer_pretty(&mut *out, value)?;
        out.write_all(b"\n")
    })
    .with_context(|| format!("cannot write {}", file.display()))
}
