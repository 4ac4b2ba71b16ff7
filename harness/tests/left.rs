//! Finds processes and files that a case left. Only Linux has `/proc`, so tests that use this are ignored elsewhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The time a killed process needs to disappear.
const PAUSE: Duration = Duration::from_secs(10);

/// Lists everything related to a folder: processes with it in their arguments or their environment, and its files.
pub fn below(folder: &Path) -> Vec<String> {
    let mut left = soon_nothing(|| processes(folder));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    left.extend(entries.map(|entry| format!("{} was left", entry.path().display())));
    left
}

/// Repeats `check` until it finds nothing, for a moment at most.
pub fn soon_nothing(check: impl Fn() -> Vec<String>) -> Vec<String> {
    let deadline = Instant::now() + PAUSE;
    loop {
        let found = check();
        if found.is_empty() || Instant::now() >= deadline {
            return found;
        }
        std::thread::yield_now();
    }
}

/// Lists the processes. A zombie has neither arguments nor an environment.
fn processes(folder: &Path) -> Vec<String> {
    let folder = folder.as_os_str().as_encoded_bytes();
    let mentions = |path: PathBuf| {
        let texts = ["cmdline", "environ"].map(|name| fs::read(path.join(name)).unwrap_or_default());
        let found = texts.iter().any(|text| text.windows(folder.len()).any(|part| part == folder));
        found.then(|| format!("left: {}", String::from_utf8_lossy(&texts[0]).replace('\0', " ")))
    };
    let entries = fs::read_dir("/proc").expect("/proc, without which nothing is found");
    entries.flatten().filter_map(|entry| mentions(entry.path())).collect()
}
