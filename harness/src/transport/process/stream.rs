//! Reads the output of a process with a time limit, since another process may hold the stream open.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::{Instant, timeout_at};

/// Size of the buffer, a quarter of what a pipe usually holds.
const BUFFER: usize = 16 * 1024;

/// The reason why [`drain`] stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// Every writer has closed the stream.
    End,
    /// A process, perhaps outside the group, still holds the stream open.
    Deadline,
}

/// Reads until the end of the stream and hands each piece to `sink`; loses nothing if dropped before.
///
/// Killing the writers does not limit this, since one of them may have left the group: see [`drain`].
///
/// # Errors
/// If reading fails.
pub async fn read_all<R>(reader: &mut R, mut sink: impl FnMut(&[u8])) -> io::Result<()>
where
    R: AsyncRead + Unpin,
{
    let mut buffer = vec![0; BUFFER];
    loop {
        match reader.read(&mut buffer).await? {
            0 => return Ok(()),
            n => sink(&buffer[..n]),
        }
    }
}

/// Like [`read_all`], but only until `deadline`.
///
/// # Errors
/// If reading fails.
pub async fn drain<R>(reader: &mut R, deadline: Instant, sink: impl FnMut(&[u8])) -> io::Result<Drained>
where
    R: AsyncRead + Unpin,
{
    match timeout_at(deadline, read_all(reader, sink)).await {
        Ok(end) => end.map(|()| Drained::End),
        Err(_) => Ok(Drained::Deadline),
    }
}
