//! Writes the trace while a conversation runs: events are only appended, never changed.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::requirement::Party;
use crate::trace::{Aside, Event, HttpEvent, ProcessEvent, What};
use crate::wire::read_line;

/// The most bytes that one trace holds, so that a flood ends in bounded time and memory; a line of 64 MiB still fits.
pub const MOST_BYTES: usize = 160 << 20;

/// The most bytes of each kind of event outside the protocol. Later ones are dropped without other consequences.
const fn most_aside(kind: Aside) -> usize {
    match kind {
        // Room for 8192 short lines; agents print 10,000 and more.
        Aside::Output => 32 << 20,
        Aside::Mcp | Aside::Visits | Aside::Model => 16 << 20,
    }
}

/// The cost of an event in bytes, in addition to its own size, since short lines take memory and judging time as well.
const EVENT_COST: usize = 4 << 10;

/// The cost of each value of a message in bytes, since the message is kept as long as the case runs.
const VALUE_COST: usize = 128;

/// The length in bytes of the shortest word that is taken for a secret; shorter ones may stand anywhere.
const LEAST_SECRET: usize = 8;

/// The growing list of events of one conversation.
pub struct Recorder {
    started: Instant,
    events: Vec<Event>,
    bytes: usize,
    /// The bytes recorded outside the protocol, by [`Aside`].
    aside: [usize; 4],
    /// The number of events up to the first answer of an agent, with which the trace of every case begins.
    opening: usize,
    /// The position of the first event of the current case.
    case_from: usize,
    /// The current connection; see [`Event::connection`].
    pub connection: usize,
    /// The texts that are replaced wherever the subject repeats them.
    secrets: Box<[Vec<u8>]>,
}

impl Recorder {
    /// Starts the clock of the trace.
    pub fn start() -> Self {
        Self {
            started: Instant::now(),
            events: Vec::new(),
            bytes: 0,
            aside: [0; 4],
            opening: 0,
            case_from: 0,
            connection: 0,
            secrets: Box::default(),
        }
    }

    /// Hides these values, and the longer words in them, from the trace: a subject may repeat a token that it got.
    pub fn hiding<'v>(mut self, values: impl Iterator<Item = &'v str>) -> Self {
        let words = values.flat_map(str::split_whitespace).filter(|word| word.len() >= LEAST_SECRET);
        self.secrets = words.map(|word| word.as_bytes().to_vec()).collect();
        self
    }

    /// Returns the events so far.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Begins another case of the conversation.
    pub fn begin_case(&mut self, mark: What) {
        if self.case_from == 0 {
            let is_answer = |event: &Event| match &event.what {
                What::Line { from: Party::Agent, bytes, .. } => {
                    read_line(bytes).one().is_some_and(|message| message.get("result").is_some())
                }
                _ => false,
            };
            self.opening = self.events.iter().position(is_answer).map_or(0, |at| at + 1);
        }
        self.case_from = self.events.len();
        self.record(mark);
    }

    /// Returns how long the subject took to answer the first message of the tester; `None` before that.
    pub fn first_answer(&self) -> Option<Duration> {
        let first = |party: Party| {
            let is_from = |event: &&Event| matches!(&event.what, What::Line { from, .. } if *from == party);
            self.events.iter().find(is_from).map(|event| event.us)
        };
        let (asked, answered) = (first(Party::Client)?, first(Party::Agent)?);
        Some(Duration::from_micros(answered.saturating_sub(asked)))
    }

    /// Returns the events of the current case: those up to the answer to `initialize`, and then its own. In the first
    /// case of a conversation, these are all events.
    pub fn of_case(&self) -> impl DoubleEndedIterator<Item = &Event> {
        let opening = &self.events[..self.opening.min(self.case_from)];
        opening.iter().chain(&self.events[self.case_from..])
    }

    /// Appends an event on a connection and returns its position.
    pub fn record_on(&mut self, connection: usize, what: What) -> usize {
        self.connection = connection;
        self.record(what)
    }

    /// Appends an event outside the conversation and returns its position. Later events without a connection of their
    /// own belong to the connection before it.
    pub fn record_at_login(&mut self, connection: usize, what: What) -> usize {
        let before = self.connection;
        let n = self.record_on(connection, what);
        self.connection = before;
        n
    }

    /// Appends an event and returns its position.
    pub fn record(&mut self, mut what: What) -> usize {
        if !self.secrets.is_empty() {
            self.hide(&mut what);
        }
        let n = self.events.len();
        if let What::Line { bytes, .. } = &what {
            self.bytes += bytes.len() + EVENT_COST;
        }
        let us = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.events.push(Event { n, us, connection: self.connection, what });
        n
    }

    fn hide(&self, what: &mut What) {
        let texts = |text: &mut String| {
            let mut bytes = std::mem::take(text).into_bytes();
            self.hide_in(&mut bytes);
            *text = String::from_utf8_lossy(&bytes).into_owned();
        };
        match what {
            What::Line { bytes, .. } | What::Stderr(bytes) | What::Stdout(bytes) => self.hide_in(bytes),
            What::Http(HttpEvent::Response { headers, body, .. }) => {
                headers.iter_mut().for_each(|(_, value)| texts(value));
                body.iter_mut().for_each(texts);
            }
            What::Http(HttpEvent::Failed { why, .. }) => texts(why),
            _ => {}
        }
    }

    fn hide_in(&self, bytes: &mut Vec<u8>) {
        for secret in &self.secrets {
            while let Some(at) = bytes.windows(secret.len()).position(|window| window == secret) {
                bytes.splice(at..at + secret.len(), *b"***");
            }
        }
    }

    /// Counts the memory for a message that is kept in addition to its line.
    pub fn keep(&mut self, message: &Value) {
        self.bytes += values(message) * VALUE_COST;
    }

    /// Appends an event of `size` bytes that the subject caused outside the protocol. If it exceeds the limit, records
    /// that once and returns `None`. Each kind has its own limit, so that it cannot use up that of another.
    pub fn record_aside(&mut self, kind: Aside, size: usize, what: What) -> Option<usize> {
        let most = most_aside(kind);
        let used = &mut self.aside[kind as usize];
        if *used > most {
            return None;
        }
        *used += size + EVENT_COST;
        if *used > most {
            self.record(What::Process(ProcessEvent::Unrecorded(kind)));
            return None;
        }
        Some(self.record(what))
    }

    /// Whether the trace holds as much as it may.
    pub fn is_full(&self) -> bool {
        self.bytes > MOST_BYTES
    }

    /// Returns the messages of a party in the current case, without those that cannot be parsed.
    pub fn messages_of(&self, from: Party) -> impl DoubleEndedIterator<Item = Value> {
        let lines = self.of_case().filter_map(move |event| match &event.what {
            What::Line { from: found, bytes, .. } if *found == from => Some(bytes),
            _ => None,
        });
        lines.filter_map(|bytes| read_line(bytes).one())
    }

    /// Ends the recording.
    pub fn finish(self) -> Vec<Event> {
        self.events
    }
}

/// Counts the values in a message, including the message itself.
fn values(message: &Value) -> usize {
    1 + match message {
        Value::Array(list) => list.iter().map(values).sum(),
        Value::Object(members) => members.values().map(values).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_secret_is_hidden() {
        let mut recorder = Recorder::start().hiding(["Bearer 12345678", "short"].into_iter());
        recorder.record(What::Stderr(b"Bearer 12345678, short, 12345678".to_vec()));
        assert_eq!(recorder.finish()[0].what, What::Stderr(b"Bearer ***, short, ***".to_vec()));
    }

    #[test]
    fn a_full_kind_leaves_room_for_the_others() {
        let mut recorder = Recorder::start();
        let printed = |recorder: &mut Recorder| recorder.record_aside(Aside::Output, 4, What::Stderr(b"line".to_vec()));
        let recorded = (0..20_000).filter(|_| printed(&mut recorder).is_some()).count();
        assert!((8_000..10_000).contains(&recorded), "{recorded}");
        let last = recorder.events().last().map(|event| &event.what);
        assert_eq!(last, Some(&What::Process(ProcessEvent::Unrecorded(Aside::Output))));
        assert_eq!(recorder.record_aside(Aside::Mcp, 4, What::Stderr(Vec::new())), Some(recorded + 1));
        assert!(!recorder.is_full());
    }
}
