//! What a case leaves behind in the process that plays it, and what it cost that process.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use acp_conformance::transport::process::reap_marked;

use crate::left::soon_nothing;

/// The children of this process, also those that nobody waited for, and its open files beyond those before.
pub fn left(before: &BTreeSet<PathBuf>) -> Vec<String> {
    soon_nothing(|| {
        // The search waits for what has ended, and has nobody to kill here.
        reap_marked("no case");
        let files = open_files();
        let fresh = files.difference(before).map(|file| format!("{} is still open", file.display()));
        children().into_iter().chain(fresh).collect()
    })
}

/// What the files of this process are that are open.
pub fn open_files() -> BTreeSet<PathBuf> {
    let entries = fs::read_dir("/proc/self/fd").expect("/proc").flatten();
    // The folder that is being listed is one of them, and no file any more when it is looked at.
    entries.filter_map(|entry| fs::read_link(entry.path()).ok()).collect()
}

/// The most memory that this process held so far, in MiB.
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
