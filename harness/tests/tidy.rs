//! Properties of the whole tree that no compiler checks: the order of the modules and files, the catalogue, the
//! published schemas, the generated pages, the links of the documentation, and stray files.

mod catalogue;
mod circles;
mod citations;
mod frozen;
mod language;
mod links;
mod options;
mod schemas;
mod snippets;
mod sources;
mod tree;

use std::path::{Path, PathBuf};

use libtest_mimic::Trial;

/// Returns the trials of all files.
pub fn trials() -> Vec<Trial> {
    let files = [
        catalogue::trials(),
        circles::trials(),
        citations::trials(),
        frozen::trials(),
        language::trials(),
        links::trials(),
        options::trials(),
        schemas::trials(),
        snippets::trials(),
        sources::trials(),
        tree::trials(),
    ];
    files.into_iter().flatten().collect()
}

/// Returns the root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns every file below a folder of the repository, by its path from the root, in order. Leaves out `target`,
/// `dist` and `.git`, which is a file in a linked worktree.
fn files(folder: &str) -> Vec<String> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join(&folder)).expect("a folder of the repository").flatten() {
            let path = folder.join(entry.file_name());
            if ["target", "dist", ".git"].iter().any(|name| path.ends_with(name)) {
                continue;
            }
            if entry.path().is_dir() {
                folders.push(path);
            } else {
                files.push(path.to_string_lossy().trim_start_matches("./").replace('\\', "/"));
            }
        }
    }
    files.sort();
    files
}

fn read(file: &str) -> String {
    std::fs::read_to_string(root().join(file)).expect("a text of the repository")
}

/// Fails with all problems, one per line.
fn none_of(what: &str, wrong: &[String]) {
    assert!(wrong.is_empty(), "{what}:\n  {}", wrong.join("\n  "));
}
