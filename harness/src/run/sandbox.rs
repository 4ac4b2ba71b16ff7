//! The folders of one case: a fresh HOME and a fresh workspace, gone when the case is over.

use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A temporary folder with everything that one case may touch.
pub struct Sandbox {
    folder: TempDir,
    home: PathBuf,
    workspace: PathBuf,
}

impl Sandbox {
    /// Makes the folders and writes the files of the workspace and of HOME, both by relative path.
    ///
    /// # Errors
    ///
    /// Those of the file system.
    pub fn make(workspace_files: &[(String, String)], home_files: &[(String, String)]) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("acp-case-").tempdir()?;
        // Subjects compare paths with what the system tells them, so links in the way to the folder are resolved here.
        let root = folder.path().canonicalize()?;
        let (home, workspace) = (root.join("home"), root.join("work"));
        for (base, files) in [(&home, home_files), (&workspace, workspace_files)] {
            std::fs::create_dir(base)?;
            for (path, text) in files {
                let path = base.join(path);
                path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
                std::fs::write(path, text)?;
            }
        }
        Ok(Self { folder, home, workspace })
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

    /// A name that no other case has; the subject's processes carry it in their environment.
    #[must_use]
    pub fn marker(&self) -> String {
        self.folder.path().display().to_string()
    }
}
