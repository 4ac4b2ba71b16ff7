//! Reading what a process writes, without waiting for ever on whoever holds the other end.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::{Instant, timeout_at};

/// Size of the buffer, a quarter of what a pipe usually holds.
const BUFFER: usize = 16 * 1024;

/// Why [`drain`] stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drained {
    /// Everybody who could write has closed the stream.
    End,
    /// Somebody, perhaps a process outside the group, still holds the stream open.
    Deadline,
}

/// Reads until the end of the stream and hands each piece to `sink`; loses nothing if dropped before.
///
/// Killing the writers does not bound this, since one of them may have left the group: see [`drain`].
///
/// # Errors
/// Only if reading fails.
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

/// Reads as [`read_all`] does, but for no longer than until `deadline`.
///
/// # Errors
/// Only if reading fails.
pub async fn drain<R>(reader: &mut R, deadline: Instant, sink: impl FnMut(&[u8])) -> io::Result<Drained>
where
    R: AsyncRead + Unpin,
{
    match timeout_at(deadline, read_all(reader, sink)).await {
        Ok(end) => end.map(|()| Drained::End),
        Err(_) => Ok(Drained::Deadline),
    }
}
