//! The list that Zed's log view copies ("Copy All Messages"): JSON messages that were split.

use std::io::{BufRead, Read};

use serde::Deserialize;
use serde_json::Value;

use super::problem::RecordingProblem;
use super::rebuilt;
use super::source::{Item, Source};
use crate::requirement::Party;
use crate::trace::What;
use crate::wire::{LineEnd, write_json};

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "_direction")]
    direction: Direction,
    #[serde(rename = "_type")]
    kind: Kind,
    id: Value,
    method: String,
    params: Value,
}

#[derive(Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Direction {
    Incoming,
    Outgoing,
    Stderr,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Request,
    Response,
    Notification,
    Stderr,
}

/// Reads such a list, one entry at a time.
pub(super) struct Zed<R> {
    from: Counted<R>,
    begun: bool,
}

impl<R: BufRead> Zed<R> {
    pub(super) const fn new(from: R) -> Self {
        Self { from: Counted { from, lines: 1 }, begun: false }
    }

    /// Returns the next character other than white space without consuming it.
    fn peek(&mut self) -> Result<Option<u8>, RecordingProblem> {
        loop {
            match self.from.from.fill_buf().map(|bytes| bytes.first().copied()) {
                Ok(Some(space)) if space.is_ascii_whitespace() => self.from.skip(space),
                Ok(found) => return Ok(found),
                Err(error) => return Err(RecordingProblem::io(self.from.lines, &error)),
            }
        }
    }

    fn entry(&mut self) -> Result<Entry, RecordingProblem> {
        let begins = self.from.lines;
        let mut parser = serde_json::Deserializer::from_reader(&mut self.from);
        Entry::deserialize(&mut parser).map_err(|error| match error.classify() {
            serde_json::error::Category::Eof => cut_off(begins),
            _ => {
                let remedy = "Copy the messages again with “Copy All Messages”, and only those.";
                RecordingProblem::at(
                    begins,
                    format!("the entry that begins here is not from Zed's log: {error}"),
                    remedy,
                )
            }
        })
    }
}

fn cut_off(line: usize) -> RecordingProblem {
    let remedy = "Copy the messages again; the list ends with `]`.";
    RecordingProblem::at(line, "the recording is cut off in the entry that begins here", remedy)
}

/// Whether an answer is an error. It looks like one with these members, since no result of a method of the protocol has both.
fn is_error(payload: &Value) -> bool {
    let has = |name: &str, good: fn(&Value) -> bool| payload.get(name).is_some_and(good);
    has("code", Value::is_i64) && has("message", Value::is_string)
}

fn what(entry: Entry) -> What {
    let Entry { direction, kind, id, method, params } = entry;
    let message = match kind {
        Kind::Stderr => return What::Stderr(params.as_str().unwrap_or_default().as_bytes().to_vec()),
        Kind::Request => rebuilt::call(Some(id), &method, params),
        Kind::Notification => rebuilt::call(None, &method, params),
        Kind::Response => {
            let is_error = is_error(&params);
            rebuilt::answer(id, params, is_error)
        }
    };
    let from = if direction == Direction::Outgoing { Party::Client } else { Party::Agent };
    What::Line { from, bytes: write_json(&message).into_bytes(), end: LineEnd::Lf, deliberate: false }
}

impl<R: BufRead> Source for Zed<R> {
    fn next(&mut self) -> Result<Option<Item>, RecordingProblem> {
        loop {
            match self.peek()? {
                Some(b'[') if !self.begun => {
                    self.begun = true;
                    self.from.skip(b'[');
                }
                Some(b',') => self.from.skip(b','),
                Some(b']') => return Ok(None),
                None => return Err(cut_off(self.from.lines)),
                Some(_) => return Ok(Some(Item { us: 0, connection: 0, what: what(self.entry()?) })),
            }
        }
    }
}

/// A reader that counts lines.
struct Counted<R> {
    from: R,
    lines: usize,
}

impl<R: BufRead> Counted<R> {
    /// Consumes one character that was peeked before.
    fn skip(&mut self, seen: u8) {
        self.from.consume(1);
        self.lines += usize::from(seen == b'\n');
    }
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let n = self.from.read(into)?;
        self.lines += into[..n].iter().filter(|byte| **byte == b'\n').count();
        Ok(n)
    }
}
