//! The folders of one case: a fresh HOME and workspace that are removed after the case, or the lasting folders of a
//! person.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::case::model::WorkspaceFile;
use crate::trace::SCRATCH;
use crate::transport::folder::remove_folder;
use crate::transport::process::{CASE_MARKER, Environment};
use crate::transport::relay::short_temp_dir;

/// A temporary folder that a subject may write into. Dropping it removes the folder with its content.
#[derive(Debug)]
struct Scratch(PathBuf);

impl Scratch {
    fn make(prefix: &str) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix(prefix).tempdir_in(short_temp_dir())?;
        // Subjects compare paths with the system's paths, so links in the path of the folder are resolved here.
        let path = folder.path().canonicalize()?;
        let _ = folder.keep();
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A failed removal has no further remedy, and no verdict depends on it.
        let _ = remove_folder(&self.0);
    }
}

/// Variables that would point a program outside its fresh HOME, or to the tmux server of the user.
const OUTSIDE: [&str; 6] =
    ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "TMUX", "TMUX_PANE"];

/// A folder with everything that one case may touch.
pub struct Sandbox {
    /// Removes the folders with the case, unless they are lasting.
    _scratch: Option<Scratch>,
    root: PathBuf,
    home: PathBuf,
    workspace: PathBuf,
    /// The workspace that cases share, as long as it is empty between them.
    shared: PathBuf,
    /// The number of the current case in its conversation, from 0.
    number: usize,
}

/// The folder that all cases of a run share, for files that a program unpacks at its first start. It is made at the
/// first use and removed with the run.
#[derive(Debug, Clone, Default)]
pub struct Cache(Arc<OnceLock<Scratch>>);

impl Cache {
    /// Returns its path.
    ///
    /// # Errors
    ///
    /// File system errors while it is made.
    pub fn folder(&self) -> io::Result<&Path> {
        if let Some(Scratch(folder)) = self.0.get() {
            return Ok(folder);
        }
        let made = Scratch::make("acp-run-")?;
        // If another case was faster, this folder is removed again.
        let Scratch(folder) = self.0.get_or_init(|| made);
        Ok(folder)
    }
}

impl Sandbox {
    /// Makes the folders.
    pub fn make() -> io::Result<Self> {
        let scratch = Scratch::make(SCRATCH)?;
        let root = scratch.0.clone();
        let (home, workspace) = (root.join("home"), root.join("work"));
        let (temporary, runtime) = temporary_folders(&root);
        for folder in [&home, &workspace, &temporary] {
            std::fs::create_dir(folder)?;
        }
        // Programs refuse a runtime folder that others may read: XDG Base Directory Specification.
        DirBuilder::new().mode(0o700).create(runtime)?;
        let shared = workspace.clone();
        Ok(Self { _scratch: Some(scratch), root, home, workspace, shared, number: 0 })
    }

    /// Takes the folders of a person's client, which are not removed after the case.
    pub fn lasting(root: PathBuf, home: PathBuf, workspace: PathBuf) -> Self {
        Self { _scratch: None, root, home, shared: workspace.clone(), workspace, number: 0 }
    }

    /// Gives another case of the same process its working directory; with `is_own`, one that no case had before. Those
    /// of earlier cases stay.
    ///
    /// Other cases share one as long as it is empty, since many agents spend a second or more on each new directory.
    pub fn begin_workspace(&mut self, number: usize, is_own: bool) -> io::Result<()> {
        self.number = number;
        if !is_own && is_empty(&self.shared) {
            self.workspace.clone_from(&self.shared);
            return Ok(());
        }
        self.workspace = self.root.join(format!("work-{number}"));
        if !is_own {
            self.shared.clone_from(&self.workspace);
        }
        std::fs::create_dir(&self.workspace)
    }

    /// Removes these paths below the workspace, as far as they exist, with the folders that are empty after that. What
    /// a subject keeps there for itself stays.
    pub fn clear_workspace<'p>(&self, paths: impl IntoIterator<Item = &'p Path>) {
        for path in paths {
            let path = self.workspace.join(path);
            // A link or `..` may lead out of the workspace.
            let Some(Ok(above)) = path.parent().map(Path::canonicalize) else { continue };
            if path.file_name().is_none() || !above.starts_with(&self.workspace) {
                continue;
            }
            // A path that cannot be removed keeps the workspace from being shared; the next case gets another one.
            let _ =
                if path.is_dir() && !path.is_symlink() { remove_folder(&path) } else { std::fs::remove_file(&path) };
            let folders = above.ancestors().take_while(|folder| *folder != self.workspace);
            folders.take_while(|folder| std::fs::remove_dir(folder).is_ok()).for_each(drop);
        }
    }

    /// Writes files below one of the folders, by relative path. They replace what has their names.
    pub fn write<'f>(base: &Path, files: impl IntoIterator<Item = (&'f String, WorkspaceFile)>) -> io::Result<()> {
        for (path, file) in files {
            let path = base.join(path);
            path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            if path.is_symlink() {
                std::fs::remove_file(&path)?;
            }
            match file {
                WorkspaceFile::Bytes(bytes) => std::fs::write(path, bytes)?,
                WorkspaceFile::Link(target) => std::os::unix::fs::symlink(base.join(target), path)?,
            }
        }
        Ok(())
    }

    /// Returns the HOME of the subject.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Returns the working directory of the sessions.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// Returns the folder for the MCP servers of the current case.
    pub fn servers(&self) -> PathBuf {
        self.root.join(format!("mcp-{}", self.number))
    }

    /// Returns the root of all these folders.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the path of the program that a client starts as its agent.
    pub fn agent(&self, name: &str) -> PathBuf {
        self.root().join("bin").join(name)
    }

    /// Returns the environment of a process of the case: a marker that finds processes which left the group, a HOME,
    /// and folders for temporary files and for sockets of per-user daemons, such as tmux. In shared folders,
    /// parallel cases would end each other's daemons.
    pub fn environment(&self) -> Environment {
        let (temporary, runtime) = temporary_folders(&self.root);
        let environment = self.marked().with("HOME", &self.home);
        let environment = environment.with("TMPDIR", &temporary).with("TMUX_TMPDIR", &temporary);
        OUTSIDE.iter().fold(environment.with("XDG_RUNTIME_DIR", runtime), |all, name| all.without(*name))
    }

    /// Returns the inherited environment with the marker of the case.
    pub fn marked(&self) -> Environment {
        Environment::default().with(CASE_MARKER, self.marker())
    }

    /// Returns a unique name of the case; the subject's processes carry it in their environment.
    pub fn marker(&self) -> String {
        self.root.display().to_string()
    }
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// Returns the folders for temporary files and for sockets. Their names are short, since the path of a socket has room
/// for about 100 bytes.
fn temporary_folders(root: &Path) -> (PathBuf, PathBuf) {
    (root.join("tmp"), root.join("run"))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use super::{Cache, Sandbox};

    #[test]
    fn cases_share_a_workspace_while_it_is_empty() {
        let mut sandbox = Sandbox::make().expect("folders");
        let first = sandbox.workspace().to_owned();
        let mut next = |number, is_own| {
            sandbox.begin_workspace(number, is_own).expect("a workspace");
            sandbox.workspace().to_owned()
        };
        assert_eq!(next(1, false), first);
        let own = next(2, true);
        assert_ne!(own, first);
        assert_eq!(next(3, false), first);
        fs::write(first.join("left"), "x").expect("a file");
        let second = next(4, false);
        assert!(second != first && second != own);
        assert_eq!(next(5, false), second);
    }

    #[test]
    fn clears_only_the_given_files_below_the_workspace() {
        let sandbox = Sandbox::make().expect("folders");
        let outside = sandbox.home().join("kept");
        let files = ["notes.txt", "src/deep/a.txt", "src/b.txt", ".agent/state"];
        Sandbox::write(sandbox.workspace(), files.map(str::to_owned).iter().map(|path| (path, "".into())))
            .expect("files");
        fs::write(&outside, "x").expect("a file");
        std::os::unix::fs::symlink(sandbox.home(), sandbox.workspace().join("link")).expect("a link");
        let given = ["link/kept", "notes.txt", "src/deep/a.txt", "absent", "../home/kept", ""].map(Path::new);
        sandbox.clear_workspace(given.into_iter().chain([outside.as_path()]));
        assert!(outside.exists() && sandbox.workspace().join(".agent/state").exists());
        assert!(sandbox.workspace().join("src/b.txt").exists() && !sandbox.workspace().join("src/deep").exists());
        assert!(!sandbox.workspace().join("notes.txt").exists());
    }

    #[test]
    fn cache_is_one_folder_removed_with_its_last_owner() {
        let (cache, locked) = (Cache::default(), Permissions::from_mode(0o000));
        let folder = cache.clone().folder().expect("a folder").to_owned();
        assert_eq!(cache.folder().expect("the same"), folder);
        let below = folder.join("below");
        fs::create_dir(&below).and_then(|()| fs::set_permissions(&below, locked)).expect("locked");
        drop(cache);
        assert!(!folder.exists());
    }
}
