//! One way of a byte pump between two processes: whatever comes goes on at once, and an end on one side is one on the other.

use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::FileExt;

use rustix::event::{PollFd, PollFlags, poll};

/// What comes next from one of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// So many bytes, at the beginning of the buffer.
    Bytes(usize),
    /// Nothing any more.
    Ended,
    /// Whatever it is, the other one takes nothing any more.
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
        // What came is read before a broken pipe is believed: it was said.
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

/// Writes all of it; false when nobody takes it.
pub fn pass_on(to: &File, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        match { to }.write(bytes) {
            Ok(n @ 1..) => bytes = &bytes[n..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Whoever shares the pipe may have set it so.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let _ = poll(&mut [PollFd::new(to, PollFlags::OUT)], None);
            }
            _ => return false,
        }
    }
    true
}

/// Reads from a place in a file to which somebody else is writing.
///
/// # Errors
///
/// Those of the system.
pub fn read_at(file: &File, buffer: &mut [u8], at: u64) -> std::io::Result<usize> {
    file.read_at(buffer, at)
}
