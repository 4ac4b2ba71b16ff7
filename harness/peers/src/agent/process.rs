//! Commands that the agent runs itself, for clients without terminals.

use std::{os::unix::process::ExitStatusExt as _, path::Path, process::Stdio};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _},
    process::Command,
};

use super::intent::RunCommand;
use crate::group::Group;

/// The result of a command.
pub(super) struct Ran {
    pub output: String,
    pub code: Option<u32>,
    pub signal: Option<String>,
}

impl Ran {
    /// Returns whether the command ended by a signal or with an exit code other than 0.
    pub(super) fn has_failed(&self) -> bool {
        self.signal.is_some() || self.code.is_some_and(|code| code != 0)
    }
}

/// Runs a command to its end, or kills it at once if the intent requires that.
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
        // The bytes before an error are output too.
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
