//! The lasting folders through which a person's client reaches the harness; the settings of the client can name them
//! permanently.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::transport::folder::remove_folder;
use crate::transport::relay::{LastingRelays, Relays};

/// The folder of the user's data below HOME.
const DATA: &str = if cfg!(target_os = "macos") { "Library/Application Support" } else { ".local/share" };

/// The longest path of the folder in bytes; the path of a socket must fit into it.
const LONGEST: usize = 80;

/// Why the folder cannot be used.
#[derive(Debug, Error)]
pub enum AgentFolderError {
    /// Another run uses the folder.
    #[error("another manual run uses {}", .0.display())]
    Taken(PathBuf),
    /// The project is a link.
    #[error("{} is a link, and everything in it would be deleted; remove the link", .0.display())]
    Link(PathBuf),
    /// The project holds files that no run has put there.
    #[error("{} was not created by acp-conformance, and everything in it would be deleted; move it away", .0.display())]
    Foreign(PathBuf),
    /// No path is short and plain enough.
    #[error(
        "no folder for the agent: its path must be short, without blanks and signs; set XDG_DATA_HOME to such a folder"
    )]
    NoFolder,
    /// The file system refuses.
    #[error("{}: {source}", path.display())]
    Io {
        /// The path that failed.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// A folder with an agent that a client may have in its settings permanently, and with a project to open in it. Only
/// one run at a time uses it.
#[derive(Debug)]
pub struct AgentFolder {
    relays: LastingRelays,
    folder: PathBuf,
    home: PathBuf,
    _lock: File,
}

impl AgentFolder {
    /// Returns the default folder: in the folder of the user's data (`XDG_DATA_HOME`), or else in HOME.
    ///
    /// # Errors
    ///
    /// Neither has a path that every client can handle.
    pub fn usual_folder() -> Result<PathBuf, AgentFolderError> {
        let variable = |name| std::env::var_os(name).map(PathBuf::from);
        folder_for(variable("XDG_DATA_HOME"), variable("HOME")).ok_or(AgentFolderError::NoFolder)
    }

    /// Locks this folder, and creates missing parts of it.
    ///
    /// # Errors
    ///
    /// The folder is in use, the project must not be changed, or file system errors.
    pub fn take(folder: &Path) -> Result<Self, AgentFolderError> {
        let failed = |source| AgentFolderError::Io { path: folder.to_owned(), source };
        fs::create_dir_all(folder).map_err(failed)?;
        // Clients compare paths with the system's paths, so links in the path of the folder are resolved here.
        let folder = folder.canonicalize().map_err(failed)?;
        if !is_plain(&folder) {
            return Err(AgentFolderError::NoFolder);
        }
        let lock = lock(&folder.join("lock"))?;
        let (agent, project) = (folder.join("agent"), folder.join("project"));
        check_project(&project, agent.exists())?;
        fs::create_dir_all(&project).map_err(failed)?;
        let relays = LastingRelays::open(&folder.join("socket"), &agent).map_err(failed)?;
        let home = std::env::var_os("HOME").map_or_else(|| folder.clone(), PathBuf::from);
        Ok(Self { relays, folder, home, _lock: lock })
    }

    /// Returns the path of the agent, for the settings of the client.
    pub fn agent(&self) -> PathBuf {
        self.folder.join("agent")
    }

    /// Returns the folder to open in the client.
    pub fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    pub(crate) fn relays(&self) -> io::Result<Relays> {
        self.relays.for_a_case()
    }

    /// Returns the folder of the harness.
    pub(crate) fn path(&self) -> &Path {
        &self.folder
    }

    /// Returns the HOME of the person.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// Empties the project for the next case.
    pub(crate) fn clear_project(&self) -> io::Result<()> {
        let project = self.project();
        check_project(&project, true).map_err(io::Error::other)?;
        fs::create_dir_all(&project)?;
        for entry in fs::read_dir(&project)? {
            let entry = entry?;
            // A link is removed, but not its target.
            if entry.file_type()?.is_dir() {
                remove_folder(&entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

fn lock(path: &Path) -> Result<File, AgentFolderError> {
    let failed = |source| AgentFolderError::Io { path: path.to_owned(), source };
    let file = File::options().create(true).truncate(false).write(true).open(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(AgentFolderError::Taken(path.to_owned())),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

/// Checks that everything in the project may be deleted.
fn check_project(project: &Path, known: bool) -> Result<(), AgentFolderError> {
    let Ok(found) = project.symlink_metadata() else { return Ok(()) };
    if found.is_symlink() {
        return Err(AgentFolderError::Link(project.to_owned()));
    }
    let empty = || fs::read_dir(project).is_ok_and(|mut entries| entries.next().is_none());
    if found.is_dir() && (known || empty()) { Ok(()) } else { Err(AgentFolderError::Foreign(project.to_owned())) }
}

fn folder_for(data: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let usual = data.filter(|data| data.is_absolute()).or_else(|| Some(home.as_ref()?.join(DATA)));
    let places = [usual.map(|data| data.join("acp-conformance")), home.map(|home| home.join(".acp-conformance"))];
    places.into_iter().flatten().find(|folder| is_plain(folder))
}

/// Whether every client can start a program in this folder: some split its path at blanks, and settings put it between
/// quotes of some language.
fn is_plain(folder: &Path) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "/._-+@".contains(c);
    folder.to_str().is_some_and(|text| text.len() <= LONGEST && text.chars().all(plain)) && folder.is_absolute()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(data: Option<&str>, home: &str) -> Option<String> {
        folder_for(data.map(PathBuf::from), Some(home.into())).map(|folder| folder.display().to_string())
    }

    #[test]
    fn the_folder_is_short_and_has_no_blanks() {
        assert_eq!(chosen(Some("/data"), "/ann").as_deref(), Some("/data/acp-conformance"));
        assert_eq!(chosen(Some("/my data"), "/ann").as_deref(), Some("/ann/.acp-conformance"));
        assert_eq!(chosen(Some(&format!("/{}", "d".repeat(90))), "/ann").as_deref(), Some("/ann/.acp-conformance"));
        assert_eq!(chosen(None, "/ann bee"), None);
        if !cfg!(target_os = "macos") {
            assert_eq!(chosen(None, "/ann").as_deref(), Some("/ann/.local/share/acp-conformance"));
            assert_eq!(chosen(Some("relative"), "/ann").as_deref(), Some("/ann/.local/share/acp-conformance"));
        }
    }

    #[test]
    fn only_one_run_can_take_the_folder() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = AgentFolder::take(place.path()).expect("a free folder");
        assert!(matches!(AgentFolder::take(place.path()), Err(AgentFolderError::Taken(_))));
        let agent = folder.agent();
        drop(folder);
        assert!(agent.exists());
        AgentFolder::take(place.path()).expect("the folder is free again");
    }

    #[test]
    fn deletes_only_files_of_runs() {
        let place = tempfile::tempdir().expect("a folder");
        let mine = tempfile::tempdir().expect("a folder");
        fs::write(mine.path().join("dear"), "x").expect("a file");
        let project = place.path().join("project");
        std::os::unix::fs::symlink(mine.path(), &project).expect("a link");
        assert!(matches!(AgentFolder::take(place.path()), Err(AgentFolderError::Link(_))));
        fs::remove_file(&project).expect("the link goes");

        fs::create_dir(&project).expect("a folder");
        fs::write(project.join("thesis"), "x").expect("a file");
        assert!(matches!(AgentFolder::take(place.path()), Err(AgentFolderError::Foreign(_))));
        fs::remove_file(project.join("thesis")).expect("the file goes");

        let folder = AgentFolder::take(place.path()).expect("a free folder");
        std::os::unix::fs::symlink(mine.path(), project.join("link")).expect("a link");
        fs::create_dir_all(project.join("sub/sub")).expect("a folder");
        folder.clear_project().expect("an empty project");
        assert_eq!(fs::read_dir(&project).expect("the project stays").count(), 0);
        assert!(mine.path().join("dear").exists());
    }
}
