//! An MCP server that is a child process, with one message per line.

use std::{path::Path, process, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{ChildStdin, ChildStdout, Command},
    time::timeout,
};

use super::Variable;
use crate::group::Group;

/// Time for a server to exit by itself once its stdin is closed.
const STOP_LIMIT: Duration = Duration::from_millis(200);

pub(super) struct Stdio {
    group: Group,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Stdio {
    /// Starts a server in the session's cwd.
    pub(super) fn start(program: &Path, args: &[String], env: &[Variable], cwd: &Path) -> Result<Self, String> {
        let mut command = Command::new(program);
        command.args(args).envs(env.iter().map(|variable| (&variable.name, &variable.value)));
        if cwd.is_dir() {
            command.current_dir(cwd);
        }
        command.stdin(process::Stdio::piped()).stdout(process::Stdio::piped()).stderr(process::Stdio::null());
        let mut group = Group::start(&mut command).map_err(|error| error.to_string())?;
        let (Some(stdin), Some(stdout)) = (group.child.stdin.take(), group.child.stdout.take()) else {
            return Err("no pipes".to_owned());
        };
        Ok(Self { group, stdin, lines: BufReader::new(stdout).lines() })
    }

    /// Waits for the next message; lines that are not JSON are ignored.
    pub(super) async fn receive(&mut self) -> Result<Value, String> {
        loop {
            let line = self.lines.next_line().await.map_err(|error| error.to_string())?;
            if let Ok(message) = serde_json::from_str(&line.ok_or("the server ended")?) {
                return Ok(message);
            }
        }
    }

    pub(super) async fn send(&mut self, message: &Value) -> Result<(), String> {
        let line = format!("{message}\n");
        self.stdin.write_all(line.as_bytes()).await.map_err(|error| error.to_string())?;
        self.stdin.flush().await.map_err(|error| error.to_string())
    }

    /// Closes the server's stdin and kills its process if it does not exit by itself.
    pub(super) async fn stop(self) {
        let Self { mut group, stdin, .. } = self;
        drop(stdin);
        // The group is killed in either case; the wait lets the server exit in order.
        let _ = timeout(STOP_LIMIT, group.child.wait()).await;
        group.kill();
        let _ = timeout(STOP_LIMIT, group.child.wait()).await;
    }
}
