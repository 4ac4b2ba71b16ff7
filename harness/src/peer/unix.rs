//! What [`process`](crate::peer::process) needs from Unix: groups, signals, shared pipes. All that is there on one system
//! alone is here, such as `/proc` of Linux.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use tokio::process::{ChildStdout, Command};

use crate::peer::process::Exit;

/// Makes the child the leader of a new process group.
pub(super) fn lead_group(command: &mut Command) {
    command.process_group(0);
}

/// Points both outputs of `command` at one new pipe and returns its reading end.
pub(super) fn merge_output(command: &mut Command) -> io::Result<ChildStdout> {
    let (reader, writer) = io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    ChildStdout::from_std(OwnedFd::from(reader).into())
}

/// Reads what lies in the pipe without waiting, at most about `limit` bytes, and hands each piece to `sink`.
///
/// Returns whether the pipe has ended.
/// After a process has ended, all it ever wrote is in the pipe, so this gets it even if others keep the pipe open.
pub(crate) fn read_available(pipe: &ChildStdout, limit: usize, mut sink: impl FnMut(&[u8])) -> io::Result<bool> {
    let mut buffer = vec![0; 16 * 1024];
    let mut total = 0;
    while total < limit {
        match rustix::io::read(pipe.as_fd(), &mut buffer[..]) {
            Ok(0) => return Ok(true),
            Ok(n) => {
                sink(&buffer[..n]);
                total += n;
            }
            Err(Errno::AGAIN) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(false)
}

/// Sends SIGTERM to the group.
pub(super) fn terminate_group(id: u32) {
    signal_group(id, Signal::TERM);
}

/// Sends SIGKILL to the group.
pub(super) fn kill_group(id: u32) {
    signal_group(id, Signal::KILL);
}

fn signal_group(id: u32, signal: Signal) {
    if let Some(group) = pid(id) {
        // The only failures are a group that is gone, and a member we may not signal: nothing to be done about either.
        let _ = kill_process_group(group, signal);
    }
}

/// Whether the group has a member, be it only one that ended and was not waited for.
pub(super) fn group_exists(id: u32) -> bool {
    pid(id).is_some_and(|group| test_kill_process_group(group) != Err(Errno::SRCH))
}

/// Whether the group has a member that still runs.
pub(super) fn group_runs(id: u32) -> bool {
    group_exists(id) && members_run(id)
}

/// Orphans are waited for by process 1, which in containers often never does so; hence the look at their state.
#[cfg(target_os = "linux")]
fn members_run(group: u32) -> bool {
    proc::pids().any(|pid| proc::state(pid).is_some_and(|state| state.group == group && state.runs))
}

/// Darwin refuses to signal a group of which all members have ended, even to its owner.
#[cfg(not(target_os = "linux"))]
fn members_run(group: u32) -> bool {
    pid(group).is_some_and(|group| test_kill_process_group(group).is_ok())
}

/// How the process ended.
pub(super) fn exit(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, Some(number)) => Exit::Signal(signal_name(number)),
        (None, None) => Exit::Signal("unknown".to_owned()),
    }
}

const NAMES: [(Signal, &str); 26] = [
    (Signal::HUP, "SIGHUP"),
    (Signal::INT, "SIGINT"),
    (Signal::QUIT, "SIGQUIT"),
    (Signal::ILL, "SIGILL"),
    (Signal::TRAP, "SIGTRAP"),
    (Signal::ABORT, "SIGABRT"),
    (Signal::BUS, "SIGBUS"),
    (Signal::FPE, "SIGFPE"),
    (Signal::KILL, "SIGKILL"),
    (Signal::USR1, "SIGUSR1"),
    (Signal::SEGV, "SIGSEGV"),
    (Signal::USR2, "SIGUSR2"),
    (Signal::PIPE, "SIGPIPE"),
    (Signal::ALARM, "SIGALRM"),
    (Signal::TERM, "SIGTERM"),
    (Signal::CHILD, "SIGCHLD"),
    (Signal::CONT, "SIGCONT"),
    (Signal::STOP, "SIGSTOP"),
    (Signal::TSTP, "SIGTSTP"),
    (Signal::TTIN, "SIGTTIN"),
    (Signal::TTOU, "SIGTTOU"),
    (Signal::XCPU, "SIGXCPU"),
    (Signal::XFSZ, "SIGXFSZ"),
    (Signal::VTALARM, "SIGVTALRM"),
    (Signal::PROF, "SIGPROF"),
    (Signal::SYS, "SIGSYS"),
];

/// Sends a signal of this name to one process; false when there is no such signal.
pub(super) fn signal_process(id: u32, name: &str) -> bool {
    let Some((signal, _)) = NAMES.iter().find(|(_, known)| *known == name) else { return false };
    if let Some(target) = pid(id) {
        // It may have ended meanwhile.
        let _ = kill_process(target, *signal);
    }
    true
}

fn signal_name(number: i32) -> String {
    let named = NAMES.iter().find(|(signal, _)| signal.as_raw() == number);
    named.map_or_else(|| format!("SIG{number}"), |(_, name)| (*name).to_owned())
}

fn pid(id: u32) -> Option<Pid> {
    // Process 1 as a group would address everything we may signal.
    i32::try_from(id).ok().filter(|id| *id > 1).and_then(Pid::from_raw)
}

/// Has this thread run when no other one wants to; where only a whole process can, nothing happens.
pub fn give_way() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, 10);
}

/// Whether there is a process with this id that has not ended.
#[must_use]
pub fn is_running(id: u32) -> bool {
    #[cfg(target_os = "linux")]
    return proc::state(id).is_some_and(|state| state.runs);
    // Elsewhere one that ended and was not waited for cannot be told from one that runs.
    #[cfg(not(target_os = "linux"))]
    return pid(id).is_some_and(|target| rustix::process::test_kill_process(target).is_ok());
}

/// Kills every process whose environment carries `ACP_CONFORMANCE_CASE=<marker>`, and returns how many there were.
///
/// This finds descendants that left their group, as a daemon does, unless they also cleared their environment.
/// Works on Linux only; elsewhere it finds nothing.
pub fn reap_marked(marker: &str) -> usize {
    #[cfg(target_os = "linux")]
    return proc::reap(marker);
    #[cfg(not(target_os = "linux"))]
    return {
        let _ = marker;
        0
    };
}

/// Looks into `/proc`.
#[cfg(target_os = "linux")]
mod proc {
    use std::collections::HashSet;
    use std::fs;
    use std::time::{Duration, Instant};

    use rustix::process::{Signal, kill_process};

    use crate::peer::process::CASE_MARKER;

    /// A victim can have forked between being found and being killed, so the search is repeated;
    /// only a fork bomb survives this many rounds.
    const ROUNDS: usize = 32;

    /// How long a process is waited for that has no environment yet, and how often it is looked at.
    const STARTS: Duration = Duration::from_secs(2);
    const PAUSE: Duration = Duration::from_millis(1);

    /// A thread of the kernel, in the flags of a process.
    const OF_KERNEL: u32 = 0x0020_0000;

    /// The part of `/proc/<pid>/stat` that tells which group a process is in, and whether it has ended.
    pub(super) struct State {
        pub(super) group: u32,
        pub(super) runs: bool,
        /// Whether it is no thread of the kernel.
        is_program: bool,
        /// Whether it is not just between one program and the next, which has no environment yet.
        is_settled: bool,
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
        let group = fields.nth(1)?.parse().ok()?;
        // Whoever does not tell these, as some systems do that are only like Linux, is an ordinary process.
        let flags: u32 = fields.nth(3).and_then(|flags| flags.parse().ok()).unwrap_or_default();
        let is_settled = fields.nth(41).is_none_or(|end_of_environment| end_of_environment != "0");
        Some(State { group, runs, is_program: flags & OF_KERNEL == 0, is_settled })
    }

    pub(super) fn reap(marker: &str) -> usize {
        let wanted = format!("{CASE_MARKER}={marker}");
        let mut killed = HashSet::new();
        for _ in 0..ROUNDS {
            let found = marked(wanted.as_bytes());
            if found.is_empty() {
                break;
            }
            for pid in found {
                if let Some(target) = super::pid(pid) {
                    // It may have ended by itself meanwhile, which is as good.
                    let _ = kill_process(target, Signal::KILL);
                }
                killed.insert(pid);
            }
        }
        killed.len()
    }

    /// The processes that carry the mark. On a busy machine a process can be for a while between two programs, as a daemon
    /// that was just started is, and shows no mark then; such a one is waited for. Whoever ended before it was looked at may
    /// have left a child, so the list is asked for until it has nobody new.
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

    /// Whether the process carries the mark; nothing as long as that cannot be told.
    fn carries(pid: u32, wanted: &[u8]) -> Option<bool> {
        let environ = || fs::read(format!("/proc/{pid}/environ"));
        let is_marked = |environ: &[u8]| environ.split(|byte| *byte == 0).any(|entry| entry == wanted);
        match environ() {
            Ok(read) if read.is_empty() => match state(pid).filter(|state| state.runs && state.is_program) {
                Some(state) if !state.is_settled => None,
                // It may have settled since it was read.
                Some(_) => Some(environ().is_ok_and(|read| is_marked(&read))),
                None => Some(false),
            },
            Ok(read) => Some(is_marked(&read)),
            Err(_) => Some(false),
        }
    }
}
