//! The folders of one case: a fresh HOME and a fresh workspace, gone when the case is over; or those that a person works in.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tempfile::TempDir;

use crate::peer::folder::remove_folder;
use crate::peer::relay::short_temp_dir;

/// A folder with everything that one case may touch.
pub struct Sandbox {
    /// Goes with the case, unless the folders stay.
    temporary: Option<TempDir>,
    root: PathBuf,
    home: PathBuf,
    workspace: PathBuf,
}

/// The folder that all cases of a run share, for what a program unpacks at its first start. It is there once somebody asks
/// for it, and goes with the run.
#[derive(Debug, Clone, Default)]
pub struct Cache(Arc<OnceLock<TempDir>>);

impl Cache {
    /// Where it is.
    ///
    /// # Errors
    ///
    /// Those of the file system, when it is made.
    pub fn folder(&self) -> io::Result<&Path> {
        if let Some(folder) = self.0.get() {
            return Ok(folder.path());
        }
        let folder = tempfile::Builder::new().prefix("acp-run-").tempdir_in(short_temp_dir())?;
        // Where another case was faster, this one goes again.
        Ok(self.0.get_or_init(|| folder).path())
    }
}

impl Sandbox {
    /// Makes the folders.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn make() -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("acp-case-").tempdir_in(short_temp_dir())?;
        // Subjects compare paths with what the system tells them, so links in the way to the folder are resolved here.
        let root = folder.path().canonicalize()?;
        let (home, workspace) = (root.join("home"), root.join("work"));
        std::fs::create_dir(&home)?;
        std::fs::create_dir(&workspace)?;
        Ok(Self { temporary: Some(folder), root, home, workspace })
    }

    /// The folders that a person's client knows, which stay when the case is over.
    #[must_use]
    pub const fn lasting(root: PathBuf, home: PathBuf, workspace: PathBuf) -> Self {
        Self { temporary: None, root, home, workspace }
    }

    /// Gives a further case of the same process a working directory of its own; those of earlier cases stay.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn begin_workspace(&mut self, number: usize) -> io::Result<()> {
        self.workspace = self.root.join(format!("work-{number}"));
        std::fs::create_dir(&self.workspace)
    }

    /// Writes files below one of the folders, by relative path.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn write<'f>(base: &Path, files: impl IntoIterator<Item = (&'f String, String)>) -> io::Result<()> {
        for (path, text) in files {
            let path = base.join(path);
            path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            std::fs::write(path, text)?;
        }
        Ok(())
    }

    /// The HOME of the subject.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The working directory of the sessions.
    #[must_use]
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// All of it.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The path of what a client is to take for its agent.
    #[must_use]
    pub fn agent(&self, name: &str) -> PathBuf {
        self.root().join("bin").join(name)
    }

    /// A name that no other case has; the subject's processes carry it in their environment.
    #[must_use]
    pub fn marker(&self) -> String {
        self.root.display().to_string()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if let Some(folder) = self.temporary.take() {
            // A folder that cannot be removed stays: nobody is to blame for it, and nothing else can be done.
            let _ = remove_folder(&folder.keep());
        }
    }
}
