//! Snapshots: texts of the program, each in a file below `snapshots/`. A test that finds another text fails, and writes
//! it next to the snapshot as `….snap.new`; `cargo insta review` shows and accepts it. With `INSTA_UPDATE=no` or in CI,
//! nothing is written.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use libtest_mimic::Trial;

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

/// Returns the trial that a folder has only the snapshots of these names, as in [`compare`]. `file` is that of the
/// tests.
pub fn all_used(file: &str, folder: &'static str, names: Vec<String>) -> Trial {
    let trial = Trial::test(format!("{file}/every-snapshot-is-used-in-{folder}"), move || {
        let accepted = names.iter().map(|name| format!("{name}.snap"));
        let waiting = names.iter().map(|name| format!("{name}.snap.new"));
        let unused = others(&folder_of(folder), &accepted.chain(waiting).collect())?;
        if unused.is_empty() { Ok(()) } else { Err(format!("no test makes these snapshots: {unused:?}").into()) }
    });
    trial.with_kind("snapshots")
}

/// Lists the files below a folder other than these, by their paths in it.
pub fn others(folder: &Path, wanted: &BTreeSet<String>) -> io::Result<Vec<String>> {
    let mut others = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for path in fs::read_dir(next)?.flatten().map(|entry| entry.path()) {
            let below = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
            if path.is_dir() {
                folders.push(path);
            } else if !wanted.contains(&below) {
                others.push(below);
            }
        }
    }
    Ok(others)
}
