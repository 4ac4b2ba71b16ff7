//! One program of an entry, with limits for its time, memory, processes and disk. All of its processes end with it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::run::stopped;
use crate::trace::Exit;
use crate::transport::process::{Launch, MergedProcess, TreeUse, drain, end_entry};

/// The limits of an entry.
///
/// Memory, processes and disk are sampled, since a limit of the system on the address space stops programs that only
/// reserve it, as Node.js does. A short peak between two samples is not seen. Memory and processes are known on Linux
/// only; elsewhere, their limits have no effect.
#[derive(Debug, Clone, Copy)]
pub struct RegistryLimits {
    /// The time of its cases.
    pub time: Duration,
    /// The time of its installation.
    pub install: Duration,
    /// The bytes of memory of all of its processes.
    pub memory: u64,
    /// The bytes of its installation, and those of its files while it is tested.
    pub disk: u64,
    /// The number of its processes.
    pub processes: usize,
}

/// How often memory, processes and requests to stop are sampled.
const SAMPLE: Duration = Duration::from_millis(200);

/// The number of samples between two looks at the disk, which takes longer.
const DISK_EVERY: u32 = 10;

/// How long to read on after the program ended, since what it wrote may still be in the pipe.
const REST: Duration = Duration::from_millis(500);

/// How long a killed program may take to end.
const END: Duration = Duration::from_secs(5);

/// How many bytes of the output are kept: the last ones.
const KEPT: usize = 32 * 1024;

/// The number of last lines that are reported, and the length to which each is cut.
const LAST_LINES: usize = 12;
const LONGEST_LINE: usize = 400;

/// A program to run, and what bounds it.
pub(super) struct Bounded<'b> {
    pub(super) launch: Launch,
    /// The mark of its processes.
    pub(super) marker: String,
    pub(super) time: Duration,
    pub(super) limits: &'b RegistryLimits,
    /// The folder that it fills.
    pub(super) filled: PathBuf,
    /// How long it may take to write what it has after SIGINT, once a limit is reached. Without it, it is killed. So is
    /// a program that comes to four times a limit meanwhile.
    pub(super) farewell: Option<Duration>,
}

/// How a program ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// Its exit, if it ended on its own.
    pub(super) exit: Option<Exit>,
    /// Why it was stopped, if it was.
    pub(super) stopped: Option<Stopped>,
    /// The last lines of its output.
    pub(super) last_lines: Vec<String>,
}

/// Why a program was stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stopped {
    /// The user stopped the whole run.
    Interrupted,
    /// A limit was reached.
    Limit(String),
}

impl Ended {
    /// Whether the program ended on its own and with success.
    pub(super) fn is_good(&self) -> bool {
        self.exit == Some(Exit::Code(0))
    }

    /// Returns the limit that the agent reached, in a sentence.
    pub(super) fn limit(&self) -> Option<String> {
        match &self.stopped {
            Some(Stopped::Limit(reason)) => Some(format!("the agent {reason}")),
            _ => None,
        }
    }

    /// Returns how the program ended, in words after its name.
    pub(super) fn how(&self) -> String {
        match (&self.stopped, &self.exit) {
            (Some(Stopped::Limit(reason)), _) => format!("was stopped: it {reason}"),
            (Some(Stopped::Interrupted), _) => "was interrupted".to_owned(),
            (None, Some(Exit::Code(code))) => format!("exited with code {code}"),
            (None, Some(Exit::Signal(name))) => format!("ended by {name}"),
            (None, None) => "did not end".to_owned(),
        }
    }
}

impl Bounded<'_> {
    /// Runs the program to its end or to a limit.
    ///
    /// # Errors
    ///
    /// The program cannot be started.
    pub(super) async fn run(self) -> Result<Ended, String> {
        let mut process = self.launch.spawn_merged().map_err(|error| error.to_string())?;
        let (mut kept, mut has_output) = (Vec::new(), true);
        let (mut deadline, mut times, mut reached) = (Instant::now() + self.time, 1, None);
        let last_read = deadline + self.farewell.unwrap_or_default();
        let mut ticks = interval(SAMPLE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut number: u32 = 0;
        let (exit, stopped) = loop {
            tokio::select! {
                exit = process.leader.wait() => break (exit.ok(), reached),
                read = drain(&mut process.output, last_read, |bytes| keep(&mut kept, bytes)), if has_output => {
                    // The output ends before the program does, or cannot be read.
                    let _ = read;
                    has_output = false;
                }
                _ = ticks.tick() => {
                    number = number.wrapping_add(1);
                    let excess = self.excess(&process, deadline, times, number.is_multiple_of(DISK_EVERY));
                    match (excess, self.farewell) {
                        (None, _) => {}
                        (Some(Stopped::Limit(limit)), Some(farewell))
                            if reached.is_none() && process.group.signal_leader("SIGINT") =>
                        {
                            (deadline, times) = (Instant::now() + farewell, 4);
                            reached = Some(Stopped::Limit(limit));
                        }
                        (Some(Stopped::Limit(limit)), _) => break (None, reached.or(Some(Stopped::Limit(limit)))),
                        (interrupted, _) => break (None, interrupted),
                    }
                }
            }
        };
        // Also after an exit: another process may have stayed.
        process.group.kill();
        end_entry(exit.is_none().then(|| process.leader.id()), &self.marker);
        // Nothing can be done about a process that stays after a kill.
        let _ = process.leader.wait_until(Instant::now() + END).await;
        if has_output {
            let _ = drain(&mut process.output, Instant::now() + REST, |bytes| keep(&mut kept, bytes)).await;
        }
        Ok(Ended { exit, stopped, last_lines: last_lines(String::from_utf8_lossy(&kept).lines()) })
    }

    /// Returns the limit of which the program uses more than so many `times`.
    fn excess(&self, process: &MergedProcess, deadline: Instant, times: u32, with_disk: bool) -> Option<Stopped> {
        if stopped().is_some() {
            return Some(Stopped::Interrupted);
        }
        let TreeUse { memory, processes } = TreeUse::of(process.leader.id());
        let disk = if with_disk { size_of(&self.filled) } else { 0 };
        let limits = self.limits;
        let reason = if Instant::now() >= deadline {
            format!("took more than {} s", self.time.as_secs())
        } else if memory / u64::from(times) > limits.memory {
            format!("used more than {} of memory", bytes(limits.memory))
        } else if processes / times as usize > limits.processes {
            format!("ran more than {} processes", limits.processes)
        } else if disk / u64::from(times) > limits.disk {
            format!("wrote more than {}", bytes(limits.disk))
        } else {
            return None;
        };
        Some(Stopped::Limit(reason))
    }
}

/// Keeps the end of an output.
fn keep(kept: &mut Vec<u8>, bytes: &[u8]) {
    kept.extend_from_slice(bytes);
    if kept.len() > 2 * KEPT {
        kept.drain(..kept.len() - KEPT);
    }
}

/// Returns the last lines with a text, each cut.
pub(super) fn last_lines(lines: impl Iterator<Item: AsRef<str>>) -> Vec<String> {
    let lines: Vec<_> = lines.filter(|line| !line.as_ref().trim_end().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
    last.iter().map(|line| line.as_ref().trim_end().chars().take(LONGEST_LINE).collect()).collect()
}

/// Returns the bytes on the disk below a folder. Links are not followed.
fn size_of(folder: &Path) -> u64 {
    const BLOCK: u64 = 512;
    let (mut size, mut folders) = (0, vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(metadata) = entry.metadata() else { continue };
            size += metadata.blocks() * BLOCK;
            if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    size
}

/// Writes a number of bytes in the largest unit that keeps it whole or has one decimal.
fn bytes(number: u64) -> String {
    const GIB: u64 = 1 << 30;
    const MIB: u64 = 1 << 20;
    match number {
        GIB.. => format!("{}.{} GiB", number / GIB, number % GIB * 10 / GIB),
        MIB.. => format!("{} MiB", number / MIB),
        _ => format!("{number} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::sandbox::EntryFolders;

    const LIMITS: RegistryLimits = RegistryLimits {
        time: Duration::from_secs(60),
        install: Duration::from_secs(60),
        memory: 4 << 30,
        disk: 1 << 30,
        processes: 100,
    };

    fn run(script: &str, time: Duration, limits: RegistryLimits) -> Ended {
        run_with_farewell(script, time, limits, None)
    }

    fn run_with_farewell(script: &str, time: Duration, limits: RegistryLimits, farewell: Option<Duration>) -> Ended {
        let folders = EntryFolders::make().expect("folders");
        let launch = Launch {
            program: "sh".into(),
            args: ["-c", script].map(Into::into).to_vec(),
            cwd: folders.work(),
            environment: folders.environment(),
        };
        let (marker, filled) = (folders.marker(), folders.root().to_owned());
        let bounded = Bounded { launch, marker, time, limits: &limits, filled, farewell };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(bounded.run()).expect("it starts")
    }

    #[test]
    fn output_and_exit_are_reported() {
        let ended = run("echo one; echo two >&2; exit 3", Duration::from_secs(60), LIMITS);
        assert_eq!(
            (ended.exit, ended.last_lines.as_slice()),
            (Some(Exit::Code(3)), ["one", "two"].map(str::to_owned).as_slice())
        );
    }

    #[test]
    fn time_limit_ends_processes_that_ignore_signals() {
        let ended = run("trap '' TERM INT; setsid sleep 1000 & echo $!; sleep 1000", Duration::from_secs(1), LIMITS);
        assert_eq!(ended.stopped, Some(Stopped::Limit("took more than 1 s".to_owned())));
        if cfg!(target_os = "linux") {
            let escaped: u32 = ended.last_lines[0].parse().expect("a process id");
            assert!(!crate::transport::process::is_running(escaped));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn limits_of_processes_and_disk_stop_the_program() {
        let many = "for i in 1 2 3 4 5 6; do sleep 1000 & done; wait";
        let ended = run(many, Duration::from_secs(60), RegistryLimits { processes: 5, ..LIMITS });
        assert_eq!(ended.stopped, Some(Stopped::Limit("ran more than 5 processes".to_owned())));
        let big = "head -c 9000000 /dev/zero > big; exec sleep 1000";
        let ended = run(big, Duration::from_secs(60), RegistryLimits { disk: 8 << 20, ..LIMITS });
        assert_eq!(ended.stopped, Some(Stopped::Limit("wrote more than 8 MiB".to_owned())));
    }

    #[test]
    fn a_program_may_write_what_it_has_when_a_limit_is_reached() {
        let reached = Some(Stopped::Limit("took more than 1 s".to_owned()));
        let (limit, long, short) = (Duration::from_secs(1), Duration::from_secs(60), Duration::from_millis(500));
        let writes = "trap 'echo written; exit 5' INT; while :; do sleep 0.1; done";
        let ended = run_with_farewell(writes, limit, LIMITS, Some(long));
        assert_eq!((ended.exit, &ended.stopped), (Some(Exit::Code(5)), &reached));
        assert_eq!(ended.last_lines, ["written"]);
        let stays = "trap '' INT; while :; do sleep 0.1; done";
        assert_eq!(run_with_farewell(stays, limit, LIMITS, Some(short)).stopped, reached);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn limit_of_memory_stops_the_program() {
        // `tail` keeps the line until it ends, which it never does.
        let line = "{ head -c 100000000 /dev/zero; exec sleep 1000; } | tail -n 1";
        let ended = run(line, Duration::from_secs(60), RegistryLimits { memory: 50 << 20, ..LIMITS });
        assert_eq!(ended.stopped, Some(Stopped::Limit("used more than 50 MiB of memory".to_owned())));
    }

    #[test]
    fn sizes_have_a_unit() {
        assert_eq!([4 << 30, 3 << 29, 8 << 20, 12].map(bytes), ["4.0 GiB", "1.5 GiB", "8 MiB", "12 bytes"]);
    }
}
