//! The watched files, and what changed among them.
//!
//! A look at the files costs some milliseconds and works on every system and file system, with the same folders left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};
use std::fs::File;
use std::io::{stderr, stdout};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::cli::args::RunArgs;

/// Folders with the output of build tools and package managers; hidden folders are left out as well.
const LEFT_OUT: [&str; 3] = ["target", "node_modules", "__pycache__"];
/// The most files that are watched, so that a large folder costs little.
const MOST: usize = 20_000;
/// The most changed files that a message names.
const NAMED: usize = 3;

/// The files to watch.
pub(super) struct Watched {
    roots: Vec<PathBuf>,
    /// Files and folders that a run writes.
    written: Vec<PathBuf>,
    /// The device and the number of each file that takes the output of this program.
    streams: Vec<(u64, u64)>,
}

/// The state of the files at one time.
#[derive(Default)]
pub(super) struct Snapshot {
    files: BTreeMap<PathBuf, (Option<SystemTime>, u64)>,
}

/// Some changed files.
#[derive(Default, Clone)]
pub(super) struct Changes {
    files: BTreeSet<PathBuf>,
}

impl Watched {
    /// Watches the current directory, the cases, the file of the project, the profile, and the files that the command names,
    /// such as a built program in `target`.
    pub(super) fn of(args: &RunArgs, project: Option<PathBuf>) -> Self {
        let here = PathBuf::from(".");
        let profile = args.start.profile.as_ref().map(PathBuf::from);
        let command = args.start.command.iter().map(PathBuf::from).filter(|word| word.is_file());
        let named = project.into_iter().chain(args.case_dir.clone()).chain(profile).chain(command);
        let roots = [here].into_iter().chain(named.filter(|path| path.exists())).collect();
        let outputs = args.result.outputs();
        let files = outputs.iter().filter_map(|output| output.file().map(Path::to_path_buf));
        let folders = args.trace_dir.iter().chain(&args.snapshots).cloned();
        let written = files.chain(folders).map(|path| plain(&path)).collect();
        let streams = [stdout().as_fd().try_clone_to_owned(), stderr().as_fd().try_clone_to_owned()];
        let streams = streams.into_iter().filter_map(|stream| File::from(stream.ok()?).metadata().ok());
        Self { roots, written, streams: streams.map(|about| (about.dev(), about.ino())).collect() }
    }

    /// Looks at all files.
    pub(super) fn look(&self) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for root in &self.roots {
            self.add(plain(root), &mut snapshot);
        }
        snapshot
    }

    fn add(&self, root: PathBuf, snapshot: &mut Snapshot) {
        let mut rest = vec![root];
        while let Some(path) = rest.pop() {
            if self.written.contains(&path) || snapshot.files.len() >= MOST {
                continue;
            }
            // Links are followed to files only: a linked folder may contain itself.
            let Ok(about) = std::fs::symlink_metadata(&path) else { continue };
            if about.is_dir() {
                let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
                rest.extend(entries.filter(|entry| !is_left_out(entry)).map(|entry| plain(&entry.path())));
            } else if let Ok(about) = std::fs::metadata(&path)
                && about.is_file()
                && !self.streams.contains(&(about.dev(), about.ino()))
            {
                snapshot.files.insert(path, (about.modified().ok(), about.len()));
            }
        }
    }
}

impl Display for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = self.roots.len() - 1;
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        write!(f, "the files of this directory{more}")
    }
}

/// Whether a folder or file of a watched folder is left out.
fn is_left_out(entry: &std::fs::DirEntry) -> bool {
    let name = entry.file_name();
    let name = name.to_string_lossy();
    name.starts_with('.') || LEFT_OUT.contains(&&*name) && entry.path().is_dir()
}

/// Returns a path without `./` at its beginning.
fn plain(path: &Path) -> PathBuf {
    path.strip_prefix(".").ok().filter(|path| !path.as_os_str().is_empty()).unwrap_or(path).to_path_buf()
}

impl Snapshot {
    /// Returns the files that are new, removed or different since then.
    pub(super) fn since(&self, before: &Self) -> Changes {
        let differs = |(path, state): &(&PathBuf, &(Option<SystemTime>, u64))| before.files.get(*path) != Some(state);
        let changed = self.files.iter().filter(differs).map(|(path, _)| path);
        let removed = before.files.keys().filter(|path| !self.files.contains_key(*path));
        Changes { files: changed.chain(removed).cloned().collect() }
    }
}

impl Changes {
    /// Whether nothing changed.
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether all of these are among the others.
    pub(super) fn is_within(&self, other: &Self) -> bool {
        self.files.is_subset(&other.files)
    }

    /// Adds more changes.
    pub(super) fn add(&mut self, more: Self) {
        self.files.extend(more.files);
    }
}

impl Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named: Vec<String> = self.files.iter().take(NAMED).map(|path| path.display().to_string()).collect();
        let rest = self.files.len().saturating_sub(NAMED);
        let rest = if rest == 0 { String::new() } else { format!(" and {rest} more") };
        write!(f, "{}{rest}", named.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(watched: &Watched, change: impl FnOnce()) -> Vec<String> {
        let before = watched.look();
        change();
        watched
            .look()
            .since(&before)
            .files
            .iter()
            .filter_map(|path| Some(path.file_name()?.display().to_string()))
            .collect()
    }

    #[test]
    fn only_wanted_files_are_watched() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for name in ["target", "node_modules", ".git", "src", "traces"] {
            std::fs::create_dir(path(name)).expect("a folder");
        }
        let write = |name: &str, text: &str| std::fs::write(path(name), text).expect("a file");
        write("src/gone.py", "");
        let watched = Watched {
            roots: vec![folder.path().to_owned()],
            written: vec![path("report.json"), path("traces")],
            streams: Vec::new(),
        };
        let all = ["src/a.py", "target/b", "node_modules/c", ".git/d", "report.json", "traces/e", "f"];
        assert_eq!(changed(&watched, || all.iter().for_each(|name| write(name, ""))), ["f", "a.py"]);
        assert_eq!(changed(&watched, || write("src/a.py", "changed")), ["a.py"]);
        assert_eq!(changed(&watched, || std::fs::remove_file(path("src/gone.py")).expect("it exists")), ["gone.py"]);
        assert!(changed(&watched, || ()).is_empty());
    }
}
