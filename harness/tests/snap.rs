//! Snapshots: texts of the program, each in a file below `snapshots/`. A test that finds another text fails, and writes it next to
//! the snapshot as `….snap.new`; `cargo insta review` shows and accepts it. With `INSTA_UPDATE=no` or in CI, nothing is written.

use std::fs;
use std::path::{Path, PathBuf};

use libtest_mimic::Failed;

/// Returns a folder of snapshots.
fn folder_of(name: &str) -> PathBuf {
    // The packages are at the root and two folders below it.
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = package.ancestors().find(|folder| folder.join("snapshots").is_dir()).expect("the folder of snapshots");
    root.join("snapshots").join(name)
}

/// Compares a text with the snapshot of this name; a name may contain folders.
///
/// # Panics
///
/// They differ.
pub fn compare(folder: &str, name: &str, text: &str) {
    let path = folder_of(folder).join(name);
    let mut settings = insta::Settings::new();
    settings.set_snapshot_path(path.parent().expect("a folder"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let name = path.file_name().expect("a name").to_string_lossy();
    settings.bind(|| insta::assert_snapshot!(&*name, text));
}

/// Verifies that a folder has only the snapshots of these names, as in [`compare`].
///
/// # Errors
///
/// The other files, or an error if the folder cannot be read.
pub fn none_unused(folder: &str, names: &[String]) -> Result<(), Failed> {
    let root = folder_of(folder);
    let mut unused = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(next) = folders.pop() {
        for path in fs::read_dir(next)?.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let below = path.strip_prefix(&root).unwrap_or(&path).to_string_lossy();
            let name = below.strip_suffix(".new").unwrap_or(&below).strip_suffix(".snap");
            if !name.is_some_and(|name| names.iter().any(|wanted| wanted == name)) {
                unused.push(path.display().to_string());
            }
        }
    }
    if unused.is_empty() { Ok(()) } else { Err(format!("no test makes these snapshots: {unused:?}").into()) }
}
