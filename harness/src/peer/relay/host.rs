//! The harness's side: the script that a client is given as its agent, and the socket behind it.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tokio::net::{UnixListener, UnixStream};

use super::program::WORD;
use crate::peer::process::exclusively;

/// Who started a relay, and how.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Caller {
    /// The process id of the relay.
    pub pid: u32,
    /// The process id of its parent.
    pub parent: u32,
    /// The arguments that the client gave.
    pub args: Vec<String>,
    /// The directory that it was started in.
    pub cwd: String,
    /// Its environment.
    pub environment: BTreeMap<String, String>,
}

/// The place where relays call.
#[derive(Debug)]
pub struct Relays {
    listener: UnixListener,
}

impl Relays {
    /// Writes the script at `agent`, which is to be an absolute path without blanks, and listens at a socket in `folder`; needs a
    /// Tokio runtime.
    ///
    /// # Errors
    ///
    /// Those of the file system, and that the path of the socket is too long for the system.
    pub fn open(folder: &Path, agent: &Path) -> io::Result<Self> {
        let socket = folder.join("s");
        let listener = UnixListener::bind(&socket)?;
        let program = std::env::current_exe()?;
        let quoted = |path: &Path| shell_words::quote(&path.display().to_string()).into_owned();
        let script = format!("#!/bin/sh\nexec {} {WORD} {} \"$@\"\n", quoted(&program), quoted(&socket));
        agent.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        // A process that is just being started would inherit the open file, and the system refuses to run a file that is open for
        // writing anywhere.
        exclusively(|| {
            std::fs::write(agent, script)?;
            std::fs::set_permissions(agent, PermissionsExt::from_mode(0o755))
        })?;
        Ok(Self { listener })
    }

    /// The stream to the next relay.
    ///
    /// # Errors
    ///
    /// Those of the system.
    pub(super) async fn accept(&self) -> io::Result<UnixStream> {
        Ok(self.listener.accept().await?.0)
    }
}

/// A folder for sockets and scripts whose path is short and has no blanks: sockets have room for about a hundred bytes, and
/// some clients split the path of their agent at blanks.
#[must_use]
pub fn short_temp_dir() -> PathBuf {
    const LONGEST: usize = 60;
    let usual = std::env::temp_dir();
    let text = usual.to_string_lossy();
    if text.len() <= LONGEST && !text.contains(char::is_whitespace) { usual } else { PathBuf::from("/tmp") }
}
