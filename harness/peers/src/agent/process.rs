//! Commands that the agent runs itself.

use std::{
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{ExitStatus, Stdio},
    sync::Mutex,
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::Command,
    time::timeout,
};

use super::intent::RunCommand;
use crate::group::Group;
use crate::sync::lock;

/// Time for reading the last output of a killed command; a process that left its group may hold its pipes open.
const LAST_OUTPUT: Duration = Duration::from_millis(500);

/// The result of a command.
pub(super) struct Ran {
    pub output: String,
    pub code: Option<i64>,
    pub signal: Option<String>,
}

impl Ran {
    /// Returns whether the command ended by a signal or with an exit code other than 0.
    pub(super) fn has_failed(&self) -> bool {
        self.signal.is_some() || self.code.is_some_and(|code| code != 0)
    }
}

/// Runs a command to its end, or kills it: at once if the intent requires that, else on a stop. `output` collects what
/// the command printed, and `show` gets each part of it.
pub(super) async fn run(
    intent: &RunCommand,
    cwd: &Path,
    stop: impl Future<Output = ()>,
    output: &Mutex<Vec<u8>>,
    show: impl Fn(&[u8]),
) -> Result<Ran, String> {
    let mut command = Command::new(&intent.command);
    command.args(&intent.args).envs(&intent.env).current_dir(cwd);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut group = Group::start(&mut command).map_err(|error| error.to_string())?;
    if intent.kill {
        group.kill();
    }
    let (stdout, stderr) = (group.child.stdout.take(), group.child.stderr.take());
    let keep = |bytes: &[u8]| {
        lock(output).extend_from_slice(bytes);
        show(bytes);
    };
    let mut read = std::pin::pin!(async { tokio::join!(read(stdout, &keep), read(stderr, &keep)) });
    tokio::select! {
        _ = &mut read => {}
        () = stop => {
            group.kill();
            // More output than that is lost.
            let _ = timeout(LAST_OUTPUT, read).await;
        }
    }
    let status = group.child.wait().await.map_err(|error| error.to_string())?;
    let limit = intent.byte_limit.map_or(usize::MAX, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let output = tail(&String::from_utf8_lossy(&lock(output)), limit).to_owned();
    Ok(Ran { output, code: status.code().map(i64::from), signal: signal(status) })
}

/// Reads a pipe to its end; the bytes before an error are output too.
async fn read(pipe: Option<impl AsyncRead + Unpin>, keep: impl Fn(&[u8])) {
    let Some(mut pipe) = pipe else { return };
    let mut buffer = [0; 4096];
    while let Ok(n_bytes @ 1..) = pipe.read(&mut buffer).await {
        keep(&buffer[..n_bytes]);
    }
}

/// Returns the conventional name of the signal that ended a command, or its number if it is a rare one.
fn signal(status: ExitStatus) -> Option<String> {
    status.signal().map(|signal| match signal {
        2 => "SIGINT".to_owned(),
        9 => "SIGKILL".to_owned(),
        15 => "SIGTERM".to_owned(),
        other => other.to_string(),
    })
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
