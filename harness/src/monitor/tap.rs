//! The queue in which the pumps leave their observations for the scribe.

use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::requirement::Party;
use crate::sync::lock;
use crate::trace::{HttpEvent, ProcessEvent};

/// The most bytes that wait for the scribe. It only writes them to a file, so they seldom wait.
const MOST: usize = 16 << 20;

/// The cost of a piece in bytes, in addition to its content.
const COST: usize = 64;

/// The time a pump waits for the scribe when the queue is full. After that, the file counts as stuck.
const PATIENCE: Duration = Duration::from_secs(5);

/// One observation.
#[derive(Debug)]
pub(super) enum Sight {
    Bytes(Party, Vec<u8>),
    /// A party closed its output.
    Ended(Party),
    /// The agent closed its input.
    AgentDeaf,
    /// A message in an exchange of HTTP or of a WebSocket, with its line end.
    Message(Party, usize, Vec<u8>),
    /// An event of HTTP or of a WebSocket.
    Http(HttpEvent),
    /// An event of the agent's process.
    Process(ProcessEvent),
}

/// An observation with its place.
#[derive(Debug)]
pub(super) struct Seen {
    /// The microseconds since the beginning.
    pub(super) us: u64,
    /// The number of the connection.
    pub(super) connection: usize,
    pub(super) sight: Sight,
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
    /// The observations.
    sights: Vec<Seen>,
    bytes: usize,
    /// No more will come.
    closed: bool,
    /// The scribe has stopped reading.
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

    /// Adds an observation on a connection. The scribe is woken by [`Self::wake`] after the piece was forwarded.
    pub(super) fn note(&self, connection: usize, sight: Sight, trouble: &Sender<String>) {
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
            waiting.sights.push(Seen { us: self.us(), connection, sight });
        }
    }

    /// Wakes the scribe.
    pub(super) fn wake(&self) {
        self.news.notify_one();
    }

    /// Reports that no more will come.
    pub(super) fn close(&self) {
        self.waiting().closed = true;
        self.wake();
    }

    /// Reports that the scribe has stopped reading.
    pub(super) fn cut_off(&self) {
        self.waiting().cut_off();
        self.room.notify_all();
    }

    /// Waits for the observations since the last call; empty at the end.
    pub(super) fn take(&self) -> Vec<Seen> {
        let nothing = |waiting: &mut Waiting| waiting.sights.is_empty() && !waiting.closed;
        let mut waiting = self.news.wait_while(self.waiting(), nothing).unwrap_or_else(PoisonError::into_inner);
        waiting.bytes = 0;
        let sights = std::mem::take(&mut waiting.sights);
        drop(waiting);
        self.room.notify_all();
        sights
    }

    /// Returns the microseconds since the beginning.
    pub(super) fn us(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        lock(&self.waiting)
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
            Self::Bytes(_, bytes) | Self::Message(_, _, bytes) => bytes.len(),
            Self::Ended(_) | Self::AgentDeaf | Self::Http(_) | Self::Process(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn stuck_scribe_delays_the_session_only_briefly() {
        let tap = Tap::with_patience(Duration::from_millis(1));
        let (trouble, troubles) = channel();
        for _ in 0..100 {
            tap.note(0, Sight::Bytes(Party::Agent, vec![0; 1 << 20]), &trouble);
        }
        drop(trouble);
        assert_eq!(troubles.iter().count(), 1);
        tap.close();
        assert!(tap.take().is_empty());
    }
}
