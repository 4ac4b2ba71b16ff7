//! The harness's side: the script that a subject starts, and the socket that its relay connects to.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tokio::net::{UnixListener, UnixStream};

use super::frame::{LASTING_WORD, WORD};
use crate::transport::process::exclusively;

/// The socket to which relays connect.
#[derive(Debug)]
pub struct Relays {
    listener: UnixListener,
}

impl Relays {
    /// Writes the script at `program`, which must be an absolute path without blanks, and listens at a socket in
    /// `folder`; needs a Tokio runtime.
    ///
    /// # Errors
    ///
    /// File system errors, and a socket path that is too long for the system.
    pub fn open(folder: &Path, program: &Path) -> io::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let socket = folder.join("s");
        let listener = UnixListener::bind(&socket)?;
        write_script(program, WORD, &socket)?;
        Ok(Self { listener })
    }

    /// Waits for the next relay and returns the stream to it.
    pub(super) async fn accept(&self) -> io::Result<UnixStream> {
        Ok(self.listener.accept().await?.0)
    }
}

/// A socket to which relays connect for longer than one case. The script is not removed. If the harness is not running,
/// the script reports that to the client that starts it.
#[derive(Debug)]
pub struct LastingRelays {
    listener: std::os::unix::net::UnixListener,
    socket: PathBuf,
}

impl LastingRelays {
    /// Writes the script at `agent` and listens at `socket`, which may replace an old one; both must be absolute paths
    /// without blanks. The caller makes sure that no other process listens there.
    ///
    /// # Errors
    ///
    /// File system errors, and a socket path that is too long for the system.
    pub fn open(socket: &Path, agent: &Path) -> io::Result<Self> {
        if let Err(error) = std::fs::remove_file(socket)
            && error.kind() != io::ErrorKind::NotFound
        {
            return Err(error);
        }
        let listener = std::os::unix::net::UnixListener::bind(socket)?;
        listener.set_nonblocking(true)?;
        write_script(agent, LASTING_WORD, socket)?;
        Ok(Self { listener, socket: socket.to_owned() })
    }

    /// Returns the same socket for one case; a relay that connects between two cases waits for the next one. Needs a
    /// Tokio runtime.
    pub fn for_a_case(&self) -> io::Result<Relays> {
        Ok(Relays { listener: UnixListener::from_std(self.listener.try_clone()?)? })
    }
}

impl Drop for LastingRelays {
    fn drop(&mut self) {
        // A relay reports the same for a missing file as for a socket without a listener.
        let _ = std::fs::remove_file(&self.socket);
    }
}

/// Writes the script of an agent that exits at once instead of a relay.
pub fn write_idle_agent(agent: &Path) -> io::Result<()> {
    write_executable(agent, "#!/bin/sh\nexit 0\n")
}

/// Writes the script that starts this program again as a relay.
fn write_script(program: &Path, word: &str, socket: &Path) -> io::Result<()> {
    let quoted = |path: &Path| shell_words::quote(&path.display().to_string()).into_owned();
    write_executable(
        program,
        &format!("#!/bin/sh\nexec {} {word} {} \"$@\"\n", quoted(this_program()?), quoted(socket)),
    )
}

/// Returns the path of this program. It is read once, since the path of a file that is replaced during a run cannot be
/// started.
fn this_program() -> io::Result<&'static Path> {
    static THIS: OnceLock<PathBuf> = OnceLock::new();
    match THIS.get() {
        Some(path) => Ok(path),
        None => std::env::current_exe().map(|path| THIS.get_or_init(|| path).as_path()),
    }
}

fn write_executable(program: &Path, script: &str) -> io::Result<()> {
    program.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    // A client may be starting the script that is replaced.
    let fresh = program.with_extension("new");
    // A process that is just being started would inherit the open file, and the system refuses to run a file that is
    // open for writing.
    exclusively(|| {
        std::fs::write(&fresh, script)?;
        std::fs::set_permissions(&fresh, PermissionsExt::from_mode(0o755))
    })?;
    std::fs::rename(fresh, program)
}

/// Makes a folder for sockets and scripts. Its path is short and without blanks: sockets have room for about 100 bytes,
/// and some clients split the path of their agent at blanks.
pub fn short_temp_dir() -> PathBuf {
    const LONGEST: usize = 60;
    let usual = std::env::temp_dir();
    let text = usual.to_string_lossy();
    if text.len() <= LONGEST && !text.contains(char::is_whitespace) { usual } else { PathBuf::from("/tmp") }
}
