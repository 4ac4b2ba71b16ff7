//! One message per line, of both parties and without the sender, as `acpx --format json` prints them.

use std::io::BufRead;

use super::lines::Lines;
use super::problem::RecordingProblem;
use super::sides::{Sides, is_opening};
use super::source::{Item, Source};
use crate::protocol::Edition;
use crate::trace::What;
use crate::wire::{Content, Envelope, LineEnd, read_line};

/// Reads such a stream. Tools append to it, so each `initialize` begins a connection.
pub(super) struct Ndjson<R> {
    lines: Lines<R>,
    sides: Sides,
    edition: &'static Edition,
    connection: usize,
}

impl<R: BufRead> Ndjson<R> {
    pub(super) fn new(from: R, edition: &'static Edition) -> Self {
        Self { lines: Lines::new(from), sides: Sides::new(edition), edition, connection: 0 }
    }
}

impl<R: BufRead> Source for Ndjson<R> {
    fn next(&mut self) -> Result<Option<Item>, RecordingProblem> {
        let first = self.lines.number == 0;
        let Some(line) = self.lines.next_whole()? else { return Ok(None) };
        let (bytes, content) = (line.to_vec(), read_line(line));
        let value = match content {
            Content::One { value, .. } if !matches!(Envelope::of(&value), Envelope::Unclear) => value,
            _ => {
                let remedy = "Remove lines that are not messages; `2>&1` often mixes logs in.";
                return Err(RecordingProblem::at(self.lines.number, "this line is not a JSON-RPC message", remedy));
            }
        };
        if !first && is_opening(&value) {
            self.connection += 1;
            self.sides = Sides::new(self.edition);
        }
        let what = match self.sides.sender(&value) {
            Some(from) => What::Line { from, bytes, end: LineEnd::Lf, deliberate: false },
            None => What::Unattributed(bytes),
        };
        Ok(Some(Item { us: 0, connection: self.connection, what }))
    }
}
