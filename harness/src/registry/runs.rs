//! The runs of several entries: which are due, and their installation, test and result one after the other.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Instant, SystemTime};

use anyhow::{Context, bail};
use tokio::runtime::Builder;

use super::install::{Install, Installed, NotInstalled, install};
use super::results::{EntryOutcome, EntryResult, LoginRule};
use super::test::{CaseChoice, EntryTest, case_choice, test_entry};
use super::{RegistryEntry, RegistryLock};
use crate::output_file::write_json;
use crate::profile::Profile;
use crate::report::rfc3339;
use crate::run::stopped;
use crate::sync::lock;

/// The files and folders in that of the results.
const LOCK: &str = "registry.lock";
const ENTRIES: &str = "entries";

/// The most processes of an agent at once.
const MOST_AGENTS: usize = 4;

/// An entry with the choice of its cases.
#[derive(Debug)]
pub struct ChosenEntry {
    /// The entry.
    pub entry: RegistryEntry,
    /// Its cases.
    pub choice: CaseChoice,
    /// The first word of the command of its profile.
    program: Option<String>,
}

impl ChosenEntry {
    /// Chooses the cases of an entry: with one of these profiles, or without.
    pub fn new(entry: RegistryEntry, profiles: &[Profile], quick: bool) -> Self {
        let choice = case_choice(&entry, profiles, quick);
        let profile = profiles.iter().find(|profile| Some(&profile.name) == choice.profile.as_ref());
        let program = profile.and_then(|profile| profile.command.first().cloned());
        Self { entry, choice, program }
    }
}

/// A step of the run of an entry, for showing progress.
#[derive(Debug)]
pub enum EntryStep<'e> {
    /// The runs begin.
    Begin {
        /// The number of entries that are due.
        due: usize,
        /// The number of entries that have a result already.
        known: usize,
    },
    /// The entry with this number, from 1, is installed.
    Installs(usize, &'e RegistryEntry),
    /// It is tested with these cases.
    Tests(usize, &'e RegistryEntry, &'e str),
    /// It has a result.
    Ended(usize, &'e EntryResult),
}

/// The runs of several entries, whose results go into a folder.
pub struct EntryRuns<'r> {
    output: &'r Path,
    traces: bool,
    installs: Install<'r>,
    locked: Mutex<RegistryLock>,
    begun: AtomicUsize,
    show: &'r (dyn Fn(EntryStep<'_>) + Sync),
}

impl<'r> EntryRuns<'r> {
    /// Prepares runs that write into this folder, with the traces of all cases if `traces`.
    ///
    /// # Errors
    ///
    /// The folder cannot be created, or its lock file cannot be read.
    pub fn new(
        output: &'r Path,
        traces: bool,
        installs: Install<'r>,
        show: &'r (dyn Fn(EntryStep<'_>) + Sync),
    ) -> anyhow::Result<Self> {
        std::fs::create_dir_all(output.join(ENTRIES)).with_context(|| format!("cannot create {}", output.display()))?;
        let locked = RegistryLock::read(&output.join(LOCK)).map_err(anyhow::Error::msg)?;
        let (locked, begun) = (Mutex::new(locked), AtomicUsize::new(0));
        Ok(Self { output, traces, installs, locked, begun, show })
    }

    /// Installs and tests the entries without a result, or all of them `again`, several at once, until the user stops
    /// the run.
    ///
    /// # Errors
    ///
    /// A result cannot be written.
    pub fn all(&self, selected: &[&ChosenEntry], jobs: NonZeroUsize, again: bool) -> anyhow::Result<()> {
        let is_due = |one: &&ChosenEntry| {
            let known = read_entry(self.output, &one.entry.id);
            let words = one.choice.words();
            again || !known.is_some_and(|it| it.is_of(&one.entry.version, env!("CARGO_PKG_VERSION"), &words))
        };
        let due: VecDeque<&ChosenEntry> = selected.iter().copied().filter(is_due).collect();
        (self.show)(EntryStep::Begin { due: due.len(), known: selected.len() - due.len() });
        let workers = jobs.get().min(due.len());
        // Entries share the processors, and the processes of an agent share its limit of memory.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let agents = (cores / jobs.get()).clamp(1, MOST_AGENTS);
        let waiting = Mutex::new(due);
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..workers).map(|_| scope.spawn(|| self.work(&waiting, agents))).collect();
            workers.into_iter().try_for_each(|worker| match worker.join() {
                Ok(result) => result,
                Err(_) => bail!("a worker failed"),
            })
        })
    }

    fn work(&self, waiting: &Mutex<VecDeque<&ChosenEntry>>, agents: usize) -> anyhow::Result<()> {
        let next = || lock(waiting).pop_front();
        while let Some(chosen) = next().filter(|_| stopped().is_none()) {
            let number = self.begun.fetch_add(1, Ordering::Relaxed) + 1;
            if let Some(result) = self.entry(chosen, number, agents)? {
                (self.show)(EntryStep::Ended(number, &result));
                let file = entry_file(self.output, &result.id);
                write_json(&file, &result).with_context(|| format!("cannot write {}", file.display()))?;
            }
        }
        Ok(())
    }

    /// Installs and tests an entry. `None` if the user stopped the run.
    fn entry(&self, chosen: &ChosenEntry, number: usize, agents: usize) -> anyhow::Result<Option<EntryResult>> {
        let ChosenEntry { entry, choice, program } = chosen;
        let began = rfc3339(SystemTime::now());
        (self.show)(EntryStep::Installs(number, entry));
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
        (self.show)(EntryStep::Tests(number, entry, &result.cases));
        let test_began = Instant::now();
        let test = EntryTest {
            entry,
            installed: &installed,
            choice,
            profile_program: program.as_deref(),
            limits: self.installs.limits,
            jobs: agents,
            output: self.output,
            traces: self.traces,
        };
        let Some(tested) = block_on(test_entry(&test))? else { return Ok(None) };
        Ok(Some(EntryResult {
            test_ms: u64::try_from(test_began.elapsed().as_millis()).unwrap_or(u64::MAX),
            outcome: tested.outcome,
            reason: tested.reason,
            stderr: tested.stderr,
            login: tested.login,
            profile: result.profile.or_else(|| test.found_profile()),
            editions: tested.editions,
            ..result
        }))
    }

    /// Writes the installation to the lock file.
    fn record(&self, entry: &RegistryEntry, installed: Installed) -> Result<Installed, NotInstalled> {
        let mut locked = lock(&self.locked);
        let failed = |reason| NotInstalled { reason, last_lines: Vec::new(), is_interrupted: false };
        locked.record(&entry.id, &installed.locked).map_err(failed)?;
        let file = self.output.join(LOCK);
        let written = write_json(&file, &*locked);
        written.map_err(|error| failed(format!("cannot write {}: {error}", file.display())))?;
        Ok(installed)
    }
}

fn entry_file(output: &Path, id: &str) -> PathBuf {
    output.join(ENTRIES).join(format!("{id}.json"))
}

/// Returns the newest result of an entry; a file of another version of this program counts as none.
pub fn read_entry(output: &Path, id: &str) -> Option<EntryResult> {
    serde_json::from_slice(&std::fs::read(entry_file(output, id)).ok()?).ok()
}

/// Runs a future on a runtime of its own.
///
/// # Errors
///
/// The runtime cannot start.
pub fn block_on<F: Future>(future: F) -> anyhow::Result<F::Output> {
    let runtime = Builder::new_current_thread().enable_all().build().context("cannot start a runtime")?;
    Ok(runtime.block_on(future))
}
