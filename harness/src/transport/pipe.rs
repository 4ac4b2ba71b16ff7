//! Pipes to and from programs: in which pieces they are read and written, and what the system knows of them.

use std::os::fd::AsFd;
use std::time::Duration;

/// How much is read at once.
pub(super) const PIECE: usize = 64 << 10;

/// How long a writer waits at most for its reader to take one piece of a message that is cut up on purpose.
pub(super) const PIECE_TAKEN: Duration = Duration::from_millis(100);

/// How often it looks whether the piece was taken.
pub(super) const PIECE_POLL: Duration = Duration::from_micros(200);

/// How many bytes written to the pipe its reader has not taken yet; 0 where the system cannot tell.
pub(super) fn unread_bytes(pipe: &impl AsFd) -> u64 {
    rustix::io::ioctl_fionread(pipe).unwrap_or(0)
}
