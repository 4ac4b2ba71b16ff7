//! Writes the trace while a case runs: everything is appended, nothing is changed.

use std::time::Instant;

use serde_json::Value;

use crate::requirement::Party;
use crate::trace::{Event, What};
use crate::wire::read_line;

/// The most that one trace holds, so that a flood ends in bounded time and memory; a line of 64 MiB still fits.
pub const MOST_BYTES: usize = 160 << 20;

/// The most of it that stands beside the protocol, such as what is printed; what comes later is left out, and ends nobody.
const MOST_ASIDE: usize = 32 << 20;

/// What an event counts for beside its bytes: short lines cost memory and judging as well.
const EVENT_COST: usize = 4 << 10;

/// What each value of a message counts for, which is kept as long as the case is played.
const VALUE_COST: usize = 128;

/// The growing list of events of one case.
pub struct Recorder {
    started: Instant,
    events: Vec<Event>,
    bytes: usize,
    aside: usize,
    /// The connection that is spoken of; see [`Event::connection`].
    pub connection: usize,
}

impl Recorder {
    /// Starts the clock of the trace.
    #[must_use]
    pub fn start() -> Self {
        Self { started: Instant::now(), events: Vec::new(), bytes: 0, aside: 0, connection: 0 }
    }

    /// Starts the clock of a trace whose beginning was observed before, in no time.
    #[must_use]
    pub fn resume(beginning: &[Event]) -> Self {
        let events = beginning.iter().map(|event| Event { us: 0, ..event.clone() }).collect();
        Self { events, ..Self::start() }
    }

    /// What was observed so far.
    #[must_use]
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Appends what has just been observed on a connection, and says at which position.
    pub fn record_on(&mut self, connection: usize, what: What) -> usize {
        self.connection = connection;
        self.record(what)
    }

    /// Appends what has just been observed beside the conversation, and says at which position; what follows without a
    /// connection of its own is about the one before.
    pub fn record_at_login(&mut self, connection: usize, what: What) -> usize {
        let before = self.connection;
        let n = self.record_on(connection, what);
        self.connection = before;
        n
    }

    /// Appends what has just been observed, and says at which position.
    pub fn record(&mut self, what: What) -> usize {
        let n = self.events.len();
        if let What::Line { bytes, .. } = &what {
            self.bytes += bytes.len() + EVENT_COST;
        }
        let us = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.events.push(Event { n, us, connection: self.connection, what });
        n
    }

    /// Counts a message that is kept beside its line.
    pub fn keep(&mut self, message: &Value) {
        self.bytes += values(message) * VALUE_COST;
    }

    /// Appends something of `size` bytes that the subject did beside the protocol, as long as there is room for it.
    pub fn record_aside(&mut self, size: usize, what: What) -> Option<usize> {
        let room = self.aside <= MOST_ASIDE;
        self.aside += size + EVENT_COST;
        room.then(|| self.record(what))
    }

    /// Whether the trace holds as much as it may.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.bytes > MOST_BYTES
    }

    /// The messages of a party so far, without those that cannot be read.
    pub fn told(&self, from: Party) -> impl DoubleEndedIterator<Item = Value> {
        let lines = self.events.iter().filter_map(move |event| match &event.what {
            What::Line { from: found, bytes, .. } if *found == from => Some(bytes),
            _ => None,
        });
        lines.filter_map(|bytes| read_line(bytes).one())
    }

    /// Ends the recording.
    #[must_use]
    pub fn finish(self) -> Vec<Event> {
        self.events
    }
}

/// How many values a message holds, with itself.
fn values(message: &Value) -> usize {
    1 + match message {
        Value::Array(list) => list.iter().map(values).sum(),
        Value::Object(members) => members.values().map(values).sum(),
        _ => 0,
    }
}
