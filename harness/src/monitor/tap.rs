//! Where the pumps leave what they saw, for the scribe.

use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::requirement::Party;
use crate::wire::Frame;

/// How many bytes wait for the scribe at most. It only writes them into a file, so they seldom wait at all.
const MOST: usize = 16 << 20;

/// What a piece counts for beside its bytes.
const COST: usize = 64;

/// How long a pump waits for the scribe when there is no more room. A file that takes nothing for so long takes no more.
const PATIENCE: Duration = Duration::from_secs(5);

/// Something that was seen.
#[derive(Debug)]
pub(super) enum Sight {
    /// Bytes of a party.
    Bytes(Party, Vec<u8>),
    /// A whole line of a party, or one that was put in its place on purpose.
    Line { from: Party, frame: Frame, deliberate: bool },
    /// A party says nothing more.
    Ended(Party),
    /// The agent takes nothing more.
    AgentDeaf,
}

/// A queue between the pumps and the scribe.
pub(super) struct Tap {
    waiting: Mutex<Waiting>,
    news: Condvar,
    room: Condvar,
    begun: Instant,
    patience: Duration,
}

#[derive(Default)]
struct Waiting {
    /// What was seen, with its microseconds since the beginning.
    sights: Vec<(u64, Sight)>,
    bytes: usize,
    /// Nothing more will come.
    closed: bool,
    /// Nobody listens any more.
    cut_off: bool,
}

impl Tap {
    pub(super) fn new() -> Self {
        Self::with_patience(PATIENCE)
    }

    pub(super) fn with_patience(patience: Duration) -> Self {
        let (waiting, news, room) = (Mutex::default(), Condvar::new(), Condvar::new());
        Self { waiting, news, room, begun: Instant::now(), patience }
    }

    /// Takes in what was seen; the scribe hears of it with [`Self::wake`], when it was passed on.
    pub(super) fn note(&self, sight: Sight, trouble: &Sender<String>) {
        let cost = COST + sight.len();
        let full = |waiting: &mut Waiting| waiting.bytes > MOST && !waiting.cut_off;
        let (mut waiting, late) =
            self.room.wait_timeout_while(self.waiting(), self.patience, full).unwrap_or_else(PoisonError::into_inner);
        if late.timed_out() {
            waiting.cut_off();
            let _ = trouble.send("the trace cannot be written fast enough".to_owned());
        }
        if !waiting.cut_off {
            waiting.bytes += cost;
            waiting.sights.push((self.us(), sight));
        }
    }

    /// Has the scribe look.
    pub(super) fn wake(&self) {
        self.news.notify_one();
    }

    /// Says that nothing more will come.
    pub(super) fn close(&self) {
        self.waiting().closed = true;
        self.wake();
    }

    /// Says that nobody listens any more.
    pub(super) fn cut_off(&self) {
        self.waiting().cut_off();
        self.room.notify_all();
    }

    /// Waits for what was seen since the last time; empty when that is all.
    pub(super) fn take(&self) -> Vec<(u64, Sight)> {
        let nothing = |waiting: &mut Waiting| waiting.sights.is_empty() && !waiting.closed;
        let mut waiting = self.news.wait_while(self.waiting(), nothing).unwrap_or_else(PoisonError::into_inner);
        waiting.bytes = 0;
        let sights = std::mem::take(&mut waiting.sights);
        drop(waiting);
        self.room.notify_all();
        sights
    }

    /// Microseconds since the beginning.
    pub(super) fn us(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn cut_off(&mut self) {
        self.cut_off = true;
        self.sights = Vec::new();
    }
}

impl Sight {
    fn len(&self) -> usize {
        match self {
            Self::Bytes(_, bytes) => bytes.len(),
            Self::Line { frame, .. } => frame.bytes.len(),
            Self::Ended(_) | Self::AgentDeaf => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_scribe_that_is_stuck_keeps_nobody_waiting_for_ever() {
        let tap = Tap::with_patience(Duration::from_millis(1));
        let (trouble, told) = channel();
        for _ in 0..100 {
            tap.note(Sight::Bytes(Party::Agent, vec![0; 1 << 20]), &trouble);
        }
        drop(trouble);
        assert_eq!(told.iter().count(), 1);
        tap.close();
        assert!(tap.take().is_empty());
    }
}
