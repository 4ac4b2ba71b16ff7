//! What the system knows of a pipe.

use std::os::fd::AsFd;

/// How many bytes written to the pipe its reader has not taken yet; 0 where the system cannot tell.
pub(super) fn unread_bytes(pipe: &impl AsFd) -> u64 {
    rustix::io::ioctl_fionread(pipe).unwrap_or(0)
}
