//! One direction of a byte pump between two processes: it forwards bytes at once, and an end on one side ends the
//! other.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::FileExt;

use rustix::event::{PollFd, PollFlags, poll};

/// The next event of one of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The number of bytes at the beginning of the buffer.
    Bytes(usize),
    /// The source has ended.
    Ended,
    /// The target has closed.
    Unwanted,
}

/// Waits for bytes of `from`, or for the end of either side.
pub fn next(from: &File, to: &File, buffer: &mut [u8]) -> Next {
    loop {
        let mut sides = [PollFd::new(from, PollFlags::IN), PollFd::new(to, PollFlags::empty())];
        if let Err(error) = poll(&mut sides, None)
            && error != rustix::io::Errno::INTR
        {
            return Next::Ended;
        }
        let [there, gone] = [&sides[0], &sides[1]].map(PollFd::revents);
        // Bytes that arrived are read before a broken pipe counts, since they were sent before it.
        if !there.is_empty() {
            match { from }.read(buffer) {
                Ok(0) => return Next::Ended,
                Ok(n) => return Next::Bytes(n),
                Err(error) if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
                Err(_) => return Next::Ended,
            }
        } else if gone.intersects(PollFlags::ERR | PollFlags::HUP) {
            return Next::Unwanted;
        }
    }
}

/// Writes all bytes; false if the target has closed.
pub fn pass_on(to: &File, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        match { to }.write(bytes) {
            Ok(n @ 1..) => bytes = &bytes[n..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Another user of the pipe may have made it non-blocking.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let _ = poll(&mut [PollFd::new(to, PollFlags::OUT)], None);
            }
            _ => return false,
        }
    }
    true
}

/// Reads from a position in a file to which another process is writing.
pub fn read_at(file: &File, buffer: &mut [u8], at: u64) -> std::io::Result<usize> {
    file.read_at(buffer, at)
}
