//! One direction between client and agent.

use std::fs::File;
use std::sync::Mutex;
use std::sync::mpsc::Sender;

use super::tap::{Sight, Tap};
use crate::fault::Injector;
use crate::requirement::Party;
use crate::sync::lock;
use crate::transport::pump::{Next, next, pass_on};
use crate::wire::{Frame, Framer};

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

/// A fault to plant in the messages of one of the parties.
pub(super) struct Broken {
    pub(super) party: Party,
    pub(super) injector: Mutex<Injector>,
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

    /// Like [`Self::pump`], but line by line and with a fault.
    pub(super) fn pump_broken(self, broken: &Broken) {
        let mut buffer = vec![0; PIECE];
        let mut framer = Framer::default();
        loop {
            let came = next(&self.from, &self.to, &mut buffer);
            let mut frames = Vec::new();
            match came {
                Next::Bytes(n) => framer.feed(&buffer[..n], |frame| frames.push(frame)),
                Next::Ended => frames.extend(framer.finish()),
                Next::Unwanted => return self.unwanted(),
            }
            let mut taken = frames.into_iter().all(|frame| self.line(frame, broken));
            if came == Next::Ended {
                taken = taken && self.held_back(broken);
                self.note(Sight::Ended(self.party));
            }
            self.tap.wake();
            if !taken {
                return self.unwanted();
            }
            if came == Next::Ended {
                return;
            }
        }
    }

    /// Forwards a line, or its replacement by the fault; false if the other side has closed.
    fn line(&self, frame: Frame, broken: &Broken) -> bool {
        let mut injector = lock(&broken.injector);
        if broken.party != self.party {
            // An answer to a request that the fault invented is not forwarded.
            let reaches = injector.sent(&frame.bytes);
            drop(injector);
            let end = frame.end.bytes();
            self.note(Sight::Line { from: self.party, frame, deliberate: false });
            return reaches.is_none_or(|bytes| pass_on(&self.to, &[&bytes, end].concat()));
        }
        let lines = injector.received(frame.clone());
        drop(injector);
        // An unchanged line is not marked as deliberate, at any position in the output.
        let itself = lines.iter().position(|line| *line == frame);
        lines.into_iter().enumerate().all(|(at, line)| self.put(line, Some(at) != itself))
    }

    /// Forwards the messages that the fault holds back until the end.
    fn held_back(&self, broken: &Broken) -> bool {
        let held = match broken.party == self.party {
            true => lock(&broken.injector).finish(),
            false => Vec::new(),
        };
        held.into_iter().all(|line| self.put(line, true))
    }

    fn put(&self, line: Frame, deliberate: bool) -> bool {
        let bytes = [&line.bytes[..], line.end.bytes()].concat();
        self.note(Sight::Line { from: self.party, frame: line, deliberate });
        pass_on(&self.to, &bytes)
    }

    fn unwanted(&self) {
        // A client that closed its input has ended or soon will; an agent may have only closed its input.
        if self.party == Party::Client {
            self.note(Sight::AgentDeaf);
        }
    }

    fn note(&self, sight: Sight) {
        self.tap.note(sight, &self.trouble);
    }
}

impl Drop for Way<'_> {
    fn drop(&mut self) {
        self.tap.wake();
    }
}
