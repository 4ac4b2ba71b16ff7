//! The Unix parts of [`process`](crate::transport::process): groups, signals and shared pipes. Everything for one
//! system alone is here, such as `/proc` of Linux.

#[cfg(target_os = "linux")]
mod proc;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, test_kill_process_group, waitpid};
use tokio::process::{ChildStdout, Command};

use crate::trace::Exit;

/// Makes the child the leader of a new process group.
pub(super) fn lead_group(command: &mut Command) {
    command.process_group(0);
}

/// Whether the system refused to execute the contents of a file.
pub(super) fn is_wrong_format(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::NOEXEC)
}

/// Points both outputs of `command` at one new pipe and returns its reading end.
pub(super) fn merge_output(command: &mut Command) -> io::Result<ChildStdout> {
    let (reader, writer) = io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer);
    ChildStdout::from_std(OwnedFd::from(reader).into())
}

/// Reads the bytes in the pipe without waiting, at most about `limit`, and passes each piece to `sink`.
///
/// Returns whether the pipe has ended. After a process has exited, all of its output is in the pipe, so this reads all
/// of it even if other processes keep the pipe open.
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
        // The only failures are a missing group and a member that we may not signal; neither has a remedy.
        let _ = kill_process_group(group, signal);
    }
}

/// Whether the group has a member, which may be a zombie.
pub(super) fn group_exists(id: u32) -> bool {
    pid(id).is_some_and(|group| test_kill_process_group(group) != Err(Errno::SRCH))
}

/// Whether the group has a member that is still running.
pub(super) fn group_runs(id: u32) -> bool {
    group_exists(id) && members_run(id)
}

/// Process 1 reaps orphans, but in containers it often does not; so their state counts.
#[cfg(target_os = "linux")]
fn members_run(group: u32) -> bool {
    proc::pids().any(|pid| proc::state(pid).is_some_and(|state| state.group == group && state.runs))
}

/// Darwin refuses to signal a group whose members have all ended, even to its owner.
#[cfg(not(target_os = "linux"))]
fn members_run(group: u32) -> bool {
    pid(group).is_some_and(|group| test_kill_process_group(group).is_ok())
}

/// Converts the exit status of a process.
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

/// Sends a signal to one process by its name; false if the name is unknown.
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
    // As a group, process 1 would mean every process that we may signal.
    i32::try_from(id).ok().filter(|id| *id > 1).and_then(Pid::from_raw)
}

/// Lowers the priority of this thread below all others; does nothing where only a whole process has a priority.
pub fn give_way() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, 10);
}

/// How long the processors have been idle and have run since the start of the system, in ticks. Known on Linux only;
/// elsewhere they never look idle.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProcessorTimes {
    idle: u64,
    all: u64,
}

impl ProcessorTimes {
    /// Reads them.
    pub fn now() -> Self {
        #[cfg(target_os = "linux")]
        return proc::processor_times().map(|(idle, all)| Self { idle, all }).unwrap_or_default();
        #[cfg(not(target_os = "linux"))]
        return Self::default();
    }

    /// Whether the processors were idle for half of the time since then.
    pub const fn are_idle_since(self, before: Self) -> bool {
        let all = self.all.saturating_sub(before.all);
        all > 0 && 2 * self.idle.saturating_sub(before.idle) >= all
    }
}

/// Whether this program was started to outlive its terminal, as by `nohup`. Where the system does not tell, one whose
/// messages go elsewhere was.
pub(super) fn outlives_terminal() -> bool {
    #[cfg(target_os = "linux")]
    return proc::ignores_hangup();
    #[cfg(not(target_os = "linux"))]
    return !std::io::IsTerminal::is_terminal(&std::io::stderr());
}

/// Whether less than a third of the memory is free. Known on Linux only; elsewhere memory never looks scarce.
pub fn is_memory_scarce() -> bool {
    #[cfg(target_os = "linux")]
    return proc::memory().is_some_and(|(free, all)| 3 * free < all);
    #[cfg(not(target_os = "linux"))]
    return false;
}

/// Returns the time that the descendants of this process have used the processors, in ticks. Known on Linux only;
/// elsewhere it is 0.
pub fn used_by_descendants() -> u64 {
    #[cfg(target_os = "linux")]
    return proc::used_by_descendants();
    #[cfg(not(target_os = "linux"))]
    return 0;
}

/// Whether a process with this id exists and has not ended.
pub fn is_running(id: u32) -> bool {
    #[cfg(target_os = "linux")]
    return proc::state(id).is_some_and(|state| state.runs);
    // Elsewhere, a zombie cannot be distinguished from a running process.
    #[cfg(not(target_os = "linux"))]
    return pid(id).is_some_and(|target| rustix::process::test_kill_process(target).is_ok());
}

/// Kills every process whose environment carries this variable with this value, and returns how many there were. Works
/// on Linux only; elsewhere it finds nothing.
pub(super) fn kill_marked(variable: &str, value: &str) -> usize {
    #[cfg(target_os = "linux")]
    return proc::kill_marked(variable, value);
    #[cfg(not(target_os = "linux"))]
    return {
        let _ = (variable, value);
        0
    };
}

/// Returns the group and the command line of every running process whose environment carries this variable with this
/// value; `None` anywhere but on Linux.
pub(super) fn marked_commands(variable: &str, value: &str) -> Option<Vec<(u32, String)>> {
    #[cfg(target_os = "linux")]
    return Some(proc::marked_commands(variable, value));
    #[cfg(not(target_os = "linux"))]
    return {
        let _ = (variable, value);
        None
    };
}

/// Makes this process the parent of orphans of its descendants, or ends that; false if the system cannot, as anywhere
/// but on Linux.
pub(super) fn adopt_orphans(adopt: bool) -> bool {
    #[cfg(target_os = "linux")]
    return rustix::process::set_child_subreaper(adopt.then(rustix::process::getpid)).is_ok();
    #[cfg(not(target_os = "linux"))]
    return !adopt;
}

/// Returns every descendant of this process, whatever its parent is now. Works on Linux only; elsewhere it finds
/// nothing.
pub(super) fn descendants() -> Vec<u32> {
    #[cfg(target_os = "linux")]
    return proc::descendants();
    #[cfg(not(target_os = "linux"))]
    return Vec::new();
}

/// Returns a process and its descendants. On Linux only; elsewhere, the process alone.
pub(super) fn tree(id: u32) -> Vec<u32> {
    #[cfg(target_os = "linux")]
    return proc::tree(id);
    #[cfg(not(target_os = "linux"))]
    return vec![id];
}

/// What a process and its descendants use at one time. Known on Linux only; elsewhere it is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TreeUse {
    /// The bytes of memory that each process has for itself. Code and files that processes share do not count.
    pub memory: u64,
    /// The number of processes.
    pub processes: usize,
}

impl TreeUse {
    /// Reads the use of a process and its descendants.
    pub fn of(id: u32) -> Self {
        #[cfg(target_os = "linux")]
        return proc::tree(id).into_iter().fold(Self::default(), |all, pid| Self {
            memory: all.memory + proc::private_memory(pid).unwrap_or_default(),
            processes: all.processes + 1,
        });
        #[cfg(not(target_os = "linux"))]
        return {
            let _ = id;
            Self::default()
        };
    }
}

/// Returns the children of this process that are zombies. Works on Linux only; elsewhere it finds nothing.
pub(super) fn ended_children() -> Vec<u32> {
    #[cfg(target_os = "linux")]
    return proc::ended_children();
    #[cfg(not(target_os = "linux"))]
    return Vec::new();
}

/// Reaps a child of this process that has ended; does nothing for any other process.
pub(super) fn wait_for_ended(id: u32) {
    if let Some(child) = pid(id) {
        let _ = waitpid(Some(child), WaitOptions::NOHANG);
    }
}
