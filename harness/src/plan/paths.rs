//! Paths that stay valid in another directory.

use std::path::{Path, PathBuf};

/// Returns a path from this directory, without `.`.
pub(super) fn absolute_path(path: &Path, here: &Path) -> PathBuf {
    here.join(path).components().collect()
}

/// Returns a program named by a path as a path from this directory, so that it is found from other directories too.
pub fn absolute_program(program: &str, here: &Path) -> String {
    if !program.contains('/') || program.starts_with('{') {
        return program.to_owned();
    }
    absolute_path(Path::new(program), here).display().to_string()
}
