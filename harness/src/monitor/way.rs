//! One direction between client and agent.

use std::fs::File;
use std::sync::mpsc::Sender;

use super::tap::{Sight, Tap};
use crate::requirement::Party;
use crate::transport::pump::{Next, next, pass_on};

/// The most bytes of one read.
const PIECE: usize = 64 << 10;

/// The direction from one party to the other; dropping it closes both ends.
pub(super) struct Way<'s> {
    /// The party that sends.
    pub(super) party: Party,
    pub(super) from: File,
    pub(super) to: File,
    pub(super) tap: &'s Tap,
    /// Receives error messages.
    pub(super) trouble: Sender<String>,
}

impl Way<'_> {
    /// Forwards bytes unchanged until one of the two has ended.
    pub(super) fn pump(self) {
        let mut buffer = vec![0; PIECE];
        loop {
            match next(&self.from, &self.to, &mut buffer) {
                Next::Bytes(n) => {
                    self.note(Sight::Bytes(self.party, buffer[..n].to_vec()));
                    let taken = pass_on(&self.to, &buffer[..n]);
                    self.tap.wake();
                    if !taken {
                        return self.unwanted();
                    }
                }
                Next::Ended => return self.note(Sight::Ended(self.party)),
                Next::Unwanted => return self.unwanted(),
            }
        }
    }

    fn unwanted(&self) {
        // A client that closed its input has ended or soon will; an agent may have only closed its input.
        if self.party == Party::Client {
            self.note(Sight::AgentDeaf);
        }
    }

    fn note(&self, sight: Sight) {
        self.tap.note(0, sight, &self.trouble);
    }
}

impl Drop for Way<'_> {
    fn drop(&mut self) {
        self.tap.wake();
    }
}
