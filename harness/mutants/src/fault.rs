//! Faults: deliberate deviations of a reference program, as data.
//!
//! A fault is a file `faults/<version>/<party>/<area>/<id>.yaml` in the form of [`mod@file`]. It says which messages of
//! the program change and how, or which options and layers make the program deviate, and which requirement must fail
//! because of it. [`inject`] applies the changes to the lines of the program.

mod edit;
pub mod file;
pub mod inject;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use acp_conformance::case::file::LimitsFile;
use acp_conformance::case::{Case, LimitOverrides};
use acp_conformance::document::{decode, yaml};
use acp_conformance::requirement::Party;

pub use self::file::{EditFile, FaultFile, MatchFile};

/// A deliberate deviation, and the failures that it must cause.
#[derive(Debug, Clone)]
pub struct Fault {
    /// The name of the file without its extension.
    pub id: String,
    /// The path of the file.
    pub path: PathBuf,
    /// The party that deviates, by the folder of the file.
    pub party: Party,
    /// The content of the file; `match` and `do` have become the only one of its `edits`.
    pub file: FaultFile,
}

impl Fault {
    /// Reads a fault from its file. It does not check the names in it.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is not a fault.
    pub fn read(path: &Path) -> Result<Self, String> {
        let shown = path.display().to_string();
        let bytes = fs::read(path).map_err(|error| format!("{shown}: {error}"))?;
        let folder = path.ancestors().nth(2).and_then(Path::file_name);
        let party = Party::ALL.into_iter().find(|party| folder.is_some_and(|folder| folder == party.name()));
        let party = party.ok_or_else(|| format!("{shown}: it is not in the folder of an area of a party"))?;
        let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { id, path: path.to_owned(), party, file: Self::parse(&shown, &bytes)? })
    }

    /// Parses the content of a fault file.
    ///
    /// # Errors
    ///
    /// It is not a fault.
    pub fn parse(shown: &str, bytes: &[u8]) -> Result<FaultFile, String> {
        let source = decode(shown, bytes).map_err(|problem| problem.to_string())?;
        let (document, problems) = yaml::read(&source);
        let Some(document) = document.filter(|_| problems.is_empty()) else {
            return Err(problems.iter().map(ToString::to_string).collect());
        };
        let mut file: FaultFile =
            serde_json::from_value(document.value).map_err(|error| format!("{shown}: {error}"))?;
        match (file.on.take(), file.change.take(), file.edits.is_empty()) {
            (None, None, _) => {}
            (Some(on), Some(change), true) => file.edits.push(EditFile { on, change }),
            _ => return Err(format!("{shown}: a fault has `match` and `do`, or `edits`")),
        }
        if file.edits.is_empty() && file.agent.is_empty() && file.client.is_empty() {
            return Err(format!("{shown}: nothing deviates"));
        }
        Ok(file)
    }

    /// Finds a fault by its path, or by its id with or without its version: `cancel-sticky`, `v2/version-above`.
    ///
    /// # Errors
    ///
    /// No fault has that name, or it cannot be read.
    pub fn find(name: &str, party: Party) -> Result<Self, String> {
        if name.ends_with(".yaml") {
            return Self::read(Path::new(name));
        }
        let (version, id) = name.split_once('/').map_or((None, name), |(version, id)| (Some(version), id));
        let versions = ["v1", "v2"].into_iter().filter(|known| version.is_none_or(|version| version == *known));
        let paths = versions.flat_map(|version| paths(version, party));
        let named = paths.into_iter().find(|path| path.file_stem().is_some_and(|stem| stem == id));
        Self::read(&named.ok_or_else(|| format!("no fault of the {party} has the id `{name}`"))?)
    }

    /// Reads every fault of a version of the protocol, such as `v1`, in the order of the parties and paths.
    ///
    /// # Errors
    ///
    /// Files that cannot be read, or are not faults: one line each.
    pub fn all(version: &str) -> Result<Vec<Self>, String> {
        let read = Party::ALL.into_iter().flat_map(|party| paths(version, party)).map(|path| Self::read(&path));
        let (faults, problems): (Vec<_>, Vec<_>) = read.partition(Result::is_ok);
        let problems: Vec<String> = problems.into_iter().filter_map(Result::err).collect();
        if problems.is_empty() { Ok(faults.into_iter().flatten().collect()) } else { Err(problems.join("\n")) }
    }

    /// Returns the options of the reference program that belong to the fault.
    pub fn options(&self) -> &[String] {
        match self.party {
            Party::Agent => &self.file.agent,
            Party::Client => &self.file.client,
        }
    }

    /// Returns the environment that the program with the fault needs: some faults ask the scripted model.
    pub fn environment(&self) -> BTreeMap<String, String> {
        let asks_model = self.options().iter().any(|option| option.starts_with("asks-model"));
        asks_model.then(|| ("ACP_MODEL".to_owned(), "{model}".to_owned())).into_iter().collect()
    }

    /// Whether this case is one of those that show the fault.
    pub fn names(&self, case: &Case) -> bool {
        self.file.case.items.iter().any(|(_, id)| *id == case.id)
    }

    /// Whether this requirement may fail: it is the one that the fault kills, or a consequence.
    pub fn may_break(&self, requirement: &str) -> bool {
        let file = &self.file;
        file.kills == requirement || file.also.contains_key(requirement) || file.sometimes.contains_key(requirement)
    }

    /// Returns the time limits that override those of the case.
    pub fn limits(&self) -> LimitOverrides {
        self.file.limits.as_ref().map(LimitsFile::overrides).unwrap_or_default()
    }
}

/// Returns the folder of the faults of a version.
pub fn folder(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("faults").join(version)
}

/// Lists the fault files of a party, in the order of their paths.
fn paths(version: &str, party: Party) -> Vec<PathBuf> {
    let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let areas: Vec<PathBuf> = entries(&folder(version).join(party.name())).collect();
    let mut paths: Vec<PathBuf> = areas.iter().flat_map(|area| entries(area)).collect();
    paths.sort();
    paths
}
