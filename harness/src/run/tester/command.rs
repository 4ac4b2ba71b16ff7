//! One command of a terminal: its process group, the kept output, and its exit.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::ChildStdout;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::output::Tail;
use crate::sync::lock;
use crate::trace::Exit;
use crate::transport::process::{Leader, MergedProcess, ProcessGroup, drain, read_all, read_available};

/// More than any pipe holds for an ordinary user (1 MiB on Linux), so reading this much empties it.
const MAX_PIPE: usize = 2 * 1024 * 1024;

/// The time after the command's exit in which its children may add output before the exit is reported; enough for a
/// helper that also exits soon.
pub(super) const STRAGGLERS: Duration = Duration::from_millis(100);

/// The time a killed command may take to exit; only one stuck in the kernel takes longer than an instant.
pub(super) const KILLED: Duration = Duration::from_secs(2);

/// The exit of a command, as far as the system reports it.
#[derive(Debug, Clone)]
pub(super) struct End(Option<Exit>);

impl End {
    /// Returns the members of `TerminalExitStatus`.
    pub(super) fn to_json(&self) -> Value {
        match &self.0 {
            Some(Exit::Code(code)) => json!({ "exitCode": code, "signal": null }),
            Some(Exit::Signal(name)) => json!({ "exitCode": null, "signal": name }),
            None => json!({ "exitCode": null, "signal": null }),
        }
    }
}

/// A started command; dropping it kills the group and stops the reading.
#[derive(Debug)]
pub(super) struct Command {
    group: ProcessGroup,
    tail: Arc<Mutex<Tail>>,
    end: watch::Receiver<Option<End>>,
    pump: JoinHandle<()>,
}

impl Command {
    /// Takes over a process and keeps the last `limit` bytes of its output, also what its children add within
    /// `stragglers` of its exit.
    pub(super) fn start(process: MergedProcess, limit: usize, stragglers: Duration) -> Self {
        let tail = Arc::new(Mutex::new(Tail::new(limit)));
        let (report, end) = watch::channel(None);
        let pump = Pump { output: process.output, tail: Arc::clone(&tail), stragglers };
        let pump = tokio::spawn(pump.run(process.leader, report));
        Self { group: process.group, tail, end, pump }
    }

    /// Returns the kept output, and whether any was dropped.
    pub(super) fn output(&self) -> (String, bool) {
        let tail = lock(&self.tail);
        (tail.text(), tail.truncated())
    }

    /// Returns the exit of the command, if it has exited.
    pub(super) fn end(&self) -> Option<End> {
        self.end.borrow().clone()
    }

    /// Waits for the exit; `None` if the command was dropped before.
    pub(super) fn ended(&self) -> impl Future<Output = Option<End>> + use<> {
        let mut end = self.end.clone();
        async move { end.wait_for(Option::is_some).await.ok()?.clone() }
    }

    /// Kills the group and does not wait.
    pub(super) fn signal(&self) {
        self.group.kill();
    }

    /// Kills the group and waits for the exit, up to a limit.
    pub(super) async fn kill(&self) {
        self.signal();
        // A timeout and the end of the pump both end the wait.
        let _ = timeout(KILLED, self.ended()).await;
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        self.pump.abort();
    }
}

/// Moves output from the pipe to the tail as long as a process can write.
struct Pump {
    output: ChildStdout,
    tail: Arc<Mutex<Tail>>,
    stragglers: Duration,
}

impl Pump {
    /// Reports the exit of the command when all its output is in the tail, then keeps reading for its children.
    ///
    /// This task ends with the pipe, or when the drop of the [`Command`] aborts it.
    async fn run(mut self, mut leader: Leader, report: watch::Sender<Option<End>>) {
        let exit = tokio::select! {
            exit = leader.wait() => exit,
            () = self.read_to_end() => leader.wait().await,
        };
        self.catch_up().await;
        lock(&self.tail).finish();
        report.send_replace(Some(End(exit.ok())));
        self.read_to_end().await;
        lock(&self.tail).finish();
    }

    async fn read_to_end(&mut self) {
        let tail = &self.tail;
        // A pipe that cannot be read is treated as ended.
        let _ = read_all(&mut self.output, |bytes| lock(tail).push(bytes)).await;
    }

    /// Reads the output that the exited command left in the pipe, which its children may keep open.
    ///
    /// It reads the pipe directly first, since the runtime may learn of the exit before it learns of the output.
    async fn catch_up(&mut self) {
        let tail = &self.tail;
        let mut keep = |bytes: &[u8]| lock(tail).push(bytes);
        if let Ok(false) = read_available(&self.output, MAX_PIPE, &mut keep) {
            // As in `read_to_end`.
            let _ = drain(&mut self.output, Instant::now() + self.stragglers, keep).await;
        }
    }
}
