//! Finds the leftovers of a case in the process that runs it, and the memory of that process.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use acp_conformance::transport::process::reap_marked;

use crate::left::soon_nothing;

/// Returns the children of this process, including zombies, and the open files in addition to those in `before`.
pub fn left(before: &BTreeSet<PathBuf>) -> Vec<String> {
    soon_nothing(|| {
        // The search reaps zombies; here it has no process to kill.
        reap_marked("no case");
        let files = open_files();
        let fresh = files.difference(before).map(|file| format!("{} is still open", file.display()));
        children().into_iter().chain(fresh).collect()
    })
}

/// Returns the targets of the open files of this process.
pub fn open_files() -> BTreeSet<PathBuf> {
    let entries = fs::read_dir("/proc/self/fd").expect("/proc").flatten();
    // The folder that is being listed is one of them, and no longer exists when it is read.
    entries.filter_map(|entry| fs::read_link(entry.path()).ok()).collect()
}

/// Returns the highest memory use of this process so far, in MiB.
pub fn most_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("/proc");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.expect("a line with VmHWM").div_ceil(1024)
}

fn children() -> Vec<String> {
    let me = std::process::id().to_string();
    let of_mine = |path: PathBuf| {
        let stat = fs::read_to_string(path.join("stat")).ok()?;
        let (name, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        let state = fields.next()?;
        (fields.next()? == me).then(|| format!("a child in the state {state}, {name})"))
    };
    fs::read_dir("/proc").expect("/proc").flatten().filter_map(|entry| of_mine(entry.path())).collect()
}
