//! Reads `/proc`, which Linux has.

use std::collections::HashSet;
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Signal, WaitId, WaitIdOptions, kill_process, waitid};

/// A process may fork between the search and the kill, so the search is repeated; only a fork bomb survives this many
/// rounds.
const ROUNDS: usize = 32;

/// The longest wait for a process that has no environment yet, and the interval of checks.
const STARTS: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(1);

/// The most characters of a command line that are kept.
const LONGEST_COMMAND: usize = 200;

/// The flag of kernel threads among the flags of a process.
const OF_KERNEL: u32 = 0x0020_0000;

/// The part of `/proc/<pid>/stat` with the parent of a process, and whether it has ended.
pub(super) struct State {
    pub(super) group: u32,
    parent: u32,
    pub(super) runs: bool,
    /// Whether it is not a kernel thread.
    is_program: bool,
    /// Whether it has an environment; a process has none for a moment while it starts another program.
    is_settled: bool,
}

/// How long all processors have been idle, and how long they have run, in ticks.
pub(super) fn processor_times() -> Option<(u64, u64)> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    // user, nice, system, idle, iowait, irq, softirq, steal: proc_stat(5).
    let fields: Vec<u64> = stat.lines().next()?.split_ascii_whitespace().skip(1).take(8).flat_map(str::parse).collect();
    Some((fields.get(3)? + fields.get(4)?, fields.iter().sum()))
}

/// The memory that programs can have without swapping, and all memory, in kB.
pub(super) fn memory() -> Option<(u64, u64)> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    // Such as `MemAvailable:   17654321 kB`: proc_meminfo(5).
    let value = |name: &str| {
        let line = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.split_ascii_whitespace().next()?.parse().ok()
    };
    Some((value("MemAvailable")?, value("MemTotal")?))
}

/// Whether this program ignored SIGHUP when it started.
pub(super) fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    // A bit for each signal, in hexadecimal, the first one for SIGHUP: proc_pid_status(5).
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).is_some_and(|bits| bits & 1 == 1)
}

pub(super) fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

pub(super) fn state(pid: u32) -> Option<State> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses, which may itself hold blanks and parentheses.
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let mut fields = str::from_utf8(&stat[after_name..]).ok()?.split_ascii_whitespace();
    let runs = !matches!(fields.next()?, "Z" | "X" | "x");
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    // Systems similar to Linux may leave these out; then the process counts as an ordinary one.
    let flags: u32 = fields.nth(3).and_then(|flags| flags.parse().ok()).unwrap_or_default();
    let is_settled = fields.nth(41).is_none_or(|end_of_environment| end_of_environment != "0");
    Some(State { group, parent, runs, is_program: flags & OF_KERNEL == 0, is_settled })
}

/// Returns the time that the descendants of this process have used the processors, in ticks.
pub(super) fn used_by_descendants() -> u64 {
    let used = |pid: u32| {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let after_name = stat.iter().rposition(|byte| *byte == b')')? + 1;
        // utime and stime: proc_pid_stat(5).
        let fields = str::from_utf8(&stat[after_name..]).ok()?.split_ascii_whitespace().skip(11).take(2);
        Some(fields.flat_map(str::parse::<u64>).sum::<u64>())
    };
    descendants().into_iter().filter_map(used).sum()
}

/// Returns every descendant of this process, as far as its ancestors are alive.
pub(super) fn descendants() -> Vec<u32> {
    tree(std::process::id()).split_off(1)
}

/// Returns a process and then every descendant of it, as far as its ancestors are alive.
pub(super) fn tree(root: u32) -> Vec<u32> {
    let mut rest: Vec<(u32, u32)> = pids().filter_map(|pid| Some((pid, state(pid)?.parent))).collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(rest.extract_if(.., |(_, of)| *of == parent).map(|(pid, _)| pid));
        next += 1;
    }
    found
}

/// Returns the bytes of memory that only this process has: those in memory without those of shared code and files.
pub(super) fn private_memory(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    // Such as `RssAnon:     5820 kB`: proc_pid_status(5).
    let size = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    size.split_ascii_whitespace().next()?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// Returns the children of this process that have ended. The search runs only if there is one, which is quick to find
/// out.
pub(super) fn ended_children() -> Vec<u32> {
    let question = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if !waitid(WaitId::All, question).is_ok_and(|found| found.is_some()) {
        return Vec::new();
    }
    let is_one = |state: State| state.parent == std::process::id() && !state.runs;
    pids().filter(|pid| state(*pid).is_some_and(is_one)).collect()
}

pub(super) fn kill_marked(variable: &str, value: &str) -> usize {
    let wanted = format!("{variable}={value}");
    let mut killed = HashSet::new();
    for _ in 0..ROUNDS {
        let found = marked(wanted.as_bytes());
        if found.is_empty() {
            break;
        }
        for pid in found {
            if let Some(target) = super::pid(pid) {
                // It may have exited by itself meanwhile, which has the same effect.
                let _ = kill_process(target, Signal::KILL);
            }
            killed.insert(pid);
        }
    }
    killed.len()
}

/// Returns the group and the command line of each running process that carries the marker.
pub(super) fn marked_commands(variable: &str, value: &str) -> Vec<(u32, String)> {
    let wanted = format!("{variable}={value}");
    let found = marked(wanted.as_bytes()).into_iter();
    let command = |pid: u32| {
        let state = state(pid).filter(|state| state.runs)?;
        // The arguments end with a null byte each: proc_pid_cmdline(5).
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let line = String::from_utf8_lossy(line.strip_suffix(b"\0").unwrap_or(&line)).replace('\0', " ");
        Some((state.group, line.chars().take(LONGEST_COMMAND).collect()))
    };
    found.filter_map(command).collect()
}

/// Returns the processes that carry the marker. On a busy machine, a new process may have no environment for a while,
/// and so no marker; the search waits for it. A process that ends before it is read may have left a child, so the
/// search is repeated until it finds no new process.
fn marked(wanted: &[u8]) -> Vec<u32> {
    let deadline = Instant::now() + STARTS;
    let mut seen = HashSet::from([std::process::id()]);
    let (mut found, mut open) = (Vec::new(), Vec::new());
    loop {
        let known = seen.len();
        open.extend(pids().filter(|pid| seen.insert(*pid)));
        open.retain(|pid| {
            let carries = carries(*pid, wanted);
            found.extend(carries.filter(|yes| *yes).map(|_| *pid));
            carries.is_none()
        });
        let is_new = seen.len() > known;
        if !found.is_empty() || !is_new && open.is_empty() || Instant::now() >= deadline {
            return found;
        }
        if !is_new {
            std::thread::sleep(PAUSE);
        }
    }
}

/// Whether the process carries the marker; `None` as long as that is unknown.
fn carries(pid: u32, wanted: &[u8]) -> Option<bool> {
    let environ = || fs::read(format!("/proc/{pid}/environ"));
    let is_marked = |environ: &[u8]| environ.split(|byte| *byte == 0).any(|entry| entry == wanted);
    match environ() {
        Ok(read) if read.is_empty() => match state(pid).filter(|state| state.runs && state.is_program) {
            Some(state) if !state.is_settled => None,
            // It may have an environment now.
            Some(_) => Some(environ().is_ok_and(|read| is_marked(&read))),
            None => Some(false),
        },
        Ok(read) => Some(is_marked(&read)),
        Err(_) => Some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_known() {
        let (free, all) = memory().expect("/proc/meminfo");
        assert!(0 < free && free < all, "{free} of {all} kB");
    }
}
