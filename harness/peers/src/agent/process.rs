//! Child processes of the agent itself: commands without a client terminal, and MCP servers.
//!
//! Each child leads a process group, and the whole group ends with it.

use std::{os::unix::process::ExitStatusExt as _, path::Path, process::Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::{Child, Command},
};

use super::{intent::RunCommand, terminal::Ran};

/// A child that takes its process group along when it is dropped.
pub(super) struct Group {
    pub child: Child,
    id: Option<Pid>,
}

impl Group {
    /// Starts a command as the leader of a new group.
    pub(super) fn start(command: &mut Command) -> std::io::Result<Self> {
        let child = command.process_group(0).kill_on_drop(true).spawn()?;
        let id = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        Ok(Self { child, id })
    }

    /// Kills what is left of the group.
    pub(super) fn kill(&self) {
        if let Some(id) = self.id {
            // An error means that the group is gone already.
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Runs a command to its end, or kills it at once if the intent says so.
pub(super) async fn run(intent: &RunCommand, cwd: &Path) -> Result<Ran, String> {
    let mut command = Command::new(&intent.command);
    command.args(&intent.args).envs(&intent.env).current_dir(cwd);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut group = Group::start(&mut command).map_err(|error| error.to_string())?;
    if intent.kill {
        group.kill();
    }
    let (stdout, stderr) = (group.child.stdout.take(), group.child.stderr.take());
    let (stdout, stderr) = tokio::join!(read(stdout), read(stderr));
    let status = group.child.wait().await.map_err(|error| error.to_string())?;
    let output = format!("{stdout}{stderr}");
    let limit = intent.byte_limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(Ran {
        output: tail(&output, limit).to_owned(),
        code: status.code().map(i32::cast_unsigned),
        signal: status.signal().map(|signal| signal.to_string()),
    })
}

async fn read(pipe: Option<impl AsyncRead + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // What was read before an error is still output.
        let _ = pipe.read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the last `limit` bytes, less if that would cut a character.
fn tail(text: &str, limit: usize) -> &str {
    let earliest = text.len().saturating_sub(limit);
    let start = (earliest..=text.len()).find(|index| text.is_char_boundary(*index));
    &text[start.unwrap_or(text.len())..]
}

#[cfg(test)]
mod tests {
    use super::tail;

    #[test]
    fn keeps_the_end_and_whole_characters() {
        assert_eq!(tail("abc", 2), "bc");
        assert_eq!(tail("aéb", 2), "b");
        assert_eq!(tail("abc", 9), "abc");
    }
}
