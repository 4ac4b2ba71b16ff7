//! Pipes to and from programs: the size of pieces, and the number of unread bytes.

use std::os::fd::AsFd;
use std::time::Duration;

/// The most bytes of one read.
pub(super) const PIECE: usize = 64 << 10;

/// The longest time a writer waits for its reader to take one piece of a message that is split on purpose.
pub(super) const PIECE_TAKEN: Duration = Duration::from_millis(100);

/// The interval between two checks whether the piece was taken.
pub(super) const PIECE_POLL: Duration = Duration::from_micros(200);

/// Returns the number of bytes in the pipe that its reader has not taken yet; 0 if the system cannot report it.
pub(super) fn unread_bytes(pipe: &impl AsFd) -> u64 {
    rustix::io::ioctl_fionread(pipe).unwrap_or(0)
}
