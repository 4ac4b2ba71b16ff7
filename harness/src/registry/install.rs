//! Installs entries into a cache: a folder for each entry, version and kind, which later runs use again.
//!
//! The commands of the package managers run as child programs. Scripts of packages run too, since many packages unpack
//! their program in one; `npx` and `uvx` run them as well.

mod binary;
mod npx;
mod uvx;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};

use super::bounded::{Bounded, Ended, RegistryLimits, Stopped};
use super::entry::{Distribution, RegistryEntry};
use super::lock::LockedEntry;
use super::sandbox::EntryFolders;
use crate::output_file::write_file;
use crate::report::rfc3339;
use crate::transport::folder::remove_folder;
use crate::transport::process::Launch;

/// The file that marks a complete installation.
const MARK: &str = "installed.json";

/// The settings of installations.
#[derive(Debug, Clone, Copy)]
pub struct Install<'i> {
    /// The folder of all installations.
    pub cache: &'i Path,
    /// The limits.
    pub limits: &'i RegistryLimits,
    /// Whether the scripts of npm packages run.
    pub scripts: bool,
}

/// An installed entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installed {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment.
    pub env: BTreeMap<String, String>,
    /// The folder in which it starts; any other one if absent.
    pub cwd: Option<PathBuf>,
    /// The folder to put first on PATH.
    pub bin: PathBuf,
    /// What was installed.
    pub locked: LockedEntry,
}

/// Why an entry could not be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotInstalled {
    /// The reason.
    pub reason: String,
    /// The last lines of the installation.
    pub last_lines: Vec<String>,
    /// Whether the user stopped the run, so that the reason says nothing.
    pub is_interrupted: bool,
}

/// The result of an installation.
#[derive(Debug)]
pub struct Installation {
    /// The installed entry, or the reason why there is none.
    pub result: Result<Installed, NotInstalled>,
    /// The duration; zero if it was installed before.
    pub took: Duration,
}

impl NotInstalled {
    fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), last_lines: Vec::new(), is_interrupted: false }
    }

    fn failed(program: &str, ended: Ended) -> Self {
        let is_interrupted = ended.stopped == Some(Stopped::Interrupted);
        // A wrapper on PATH, such as those of version managers, may lead to no program.
        let reason = match &ended.exit {
            Some(crate::trace::Exit::Code(127)) => format!("{program} is not installed"),
            _ => format!("{program} {}", ended.how()),
        };
        Self { reason, last_lines: ended.last_lines, is_interrupted }
    }

    fn io(what: &Path, error: &std::io::Error) -> Self {
        Self::new(format!("cannot write {}: {error}", what.display()))
    }
}

/// The place of one installation, and the way to run commands for it.
struct Site<'s> {
    folder: PathBuf,
    install: &'s Install<'s>,
    folders: &'s EntryFolders,
    version: &'s str,
}

/// The parts of an installation that its kind determines.
struct Found {
    program: PathBuf,
    cwd: Option<PathBuf>,
    digest: Option<String>,
}

impl Site<'_> {
    /// Runs a command of the installation.
    async fn run(&self, program: &str, args: &[&str], env: &[(&str, &str)]) -> Result<(), NotInstalled> {
        let environment = self.folders.for_installs(self.install.cache);
        let environment = env.iter().fold(environment, |all, (name, value)| all.with(name, value));
        let launch = Launch {
            program: program.into(),
            args: args.iter().map(Into::into).collect(),
            cwd: self.folder.clone(),
            environment,
        };
        let limits = self.install.limits;
        let (marker, filled) = (self.folders.marker(), self.folder.clone());
        let bounded = Bounded { launch, marker, time: limits.install, limits, filled, farewell: None };
        let ended = bounded.run().await.map_err(NotInstalled::new)?;
        let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
        if ended.is_good() { Ok(()) } else { Err(NotInstalled::failed(&name, ended)) }
    }
}

/// Downloads the index of a registry into the cache, and returns its file.
///
/// # Errors
///
/// The reason why there is none.
pub async fn fetch_index(url: &str, install: &Install<'_>) -> Result<PathBuf, String> {
    let file = install.cache.join("registry.json");
    std::fs::create_dir_all(install.cache).map_err(|error| format!("{}: {error}", install.cache.display()))?;
    let folders = EntryFolders::make().map_err(|error| error.to_string())?;
    let site = Site { folder: install.cache.to_owned(), install, folders: &folders, version: "" };
    let failed = |failure: NotInstalled| {
        let last = failure.last_lines.last().map(|line| format!(": {line}")).unwrap_or_default();
        format!("{}{last}", failure.reason)
    };
    binary::download(&site, url, &file).await.map_err(failed)?;
    Ok(file)
}

/// Installs an entry by the first of its distributions that works, or finds it installed.
pub async fn install(entry: &RegistryEntry, install: &Install<'_>) -> Installation {
    let began = Instant::now();
    let distributions = match &entry.distributions {
        Ok(distributions) => distributions,
        Err(reason) => return Installation { result: Err(NotInstalled::new(reason)), took: Duration::ZERO },
    };
    let mut failures: Vec<NotInstalled> = Vec::new();
    for distribution in distributions {
        let folder = install.cache.join(&entry.id).join(&entry.version).join(distribution.kind());
        if let Some(installed) = kept(&folder, distribution) {
            return Installation { result: Ok(installed), took: Duration::ZERO };
        }
        match one(entry, distribution, folder, install).await {
            Ok(installed) => return Installation { result: Ok(installed), took: began.elapsed() },
            Err(failure) => failures.push(failure),
        }
    }
    let joined = failures.into_iter().reduce(|all, next| NotInstalled {
        reason: format!("{}; {}", all.reason, next.reason),
        last_lines: [all.last_lines, next.last_lines].concat(),
        is_interrupted: all.is_interrupted || next.is_interrupted,
    });
    let failure = joined.unwrap_or_else(|| NotInstalled::new("no distribution"));
    Installation { result: Err(failure), took: began.elapsed() }
}

/// Returns a complete earlier installation of the same package.
fn kept(folder: &Path, distribution: &Distribution) -> Option<Installed> {
    let bytes = std::fs::read(folder.join(MARK)).ok()?;
    let installed: Installed = serde_json::from_slice(&bytes).ok()?;
    let same = installed.locked.package == distribution.package() && installed.args == distribution.args();
    // An interpreter on PATH has no path here.
    let exists = installed.cwd.is_some() || installed.program.exists();
    (same && installed.env == *distribution.env() && exists).then_some(installed)
}

async fn one(
    entry: &RegistryEntry,
    distribution: &Distribution,
    folder: PathBuf,
    install: &Install<'_>,
) -> Result<Installed, NotInstalled> {
    // An earlier installation was interrupted, or is of another package.
    remove_folder(&folder)
        .and_then(|()| std::fs::create_dir_all(&folder))
        .map_err(|e| NotInstalled::io(&folder, &e))?;
    let folders = EntryFolders::make().map_err(|error| NotInstalled::io(&std::env::temp_dir(), &error))?;
    let site = Site { folder: folder.clone(), install, folders: &folders, version: &entry.version };
    let found = match distribution {
        Distribution::Npx(target) => npx::install(&site, target).await,
        Distribution::Uvx(target) => uvx::install(&site, target).await,
        Distribution::Binary(target) => binary::install(&site, target).await,
    }?;
    let bin = found.program.parent().map_or_else(|| folder.clone(), Path::to_owned);
    let installed = Installed {
        bin,
        program: found.program,
        args: distribution.args().to_vec(),
        env: distribution.env().clone(),
        cwd: found.cwd,
        locked: LockedEntry {
            version: entry.version.clone(),
            distribution: distribution.kind().to_owned(),
            package: distribution.package().to_owned(),
            digest: found.digest,
            installed: rfc3339(SystemTime::now()),
        },
    };
    let mark = folder.join(MARK);
    let text = serde_json::to_vec_pretty(&installed).map_err(|error| NotInstalled::new(error.to_string()))?;
    write_file(&mark, |out| out.write_all(&text)).map_err(|error| NotInstalled::io(&mark, &error))?;
    Ok(installed)
}
