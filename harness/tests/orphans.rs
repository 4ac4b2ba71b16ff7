//! Finds kept files that no test uses any more.

use std::fs;
use std::path::Path;

/// Verifies that a folder has only these files, by their paths in it.
///
/// # Errors
///
/// The additional files, or an error if the folder cannot be read.
pub fn no_orphans(folder: &Path, wanted: &[String]) -> Result<(), String> {
    let mut orphans = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        let entries = fs::read_dir(&next).map_err(|error| format!("cannot read {}: {error}", next.display()))?;
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
            if path.is_dir() {
                folders.push(path);
            } else if !wanted.contains(&name) {
                orphans.push(name);
            }
        }
    }
    if orphans.is_empty() {
        Ok(())
    } else {
        Err(format!("{}: no test makes these files: {orphans:?}", folder.display()))
    }
}
