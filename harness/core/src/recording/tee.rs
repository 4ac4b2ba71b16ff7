//! Lines after an arrow, as `sacp-tee` writes them: `→` to the agent, `←` to the client.

use std::io::BufRead;

use super::lines::Lines;
use super::problem::RecordingProblem;
use super::sides::opens;
use super::source::{Item, Source};
use crate::requirement::Party;
use crate::trace::What;
use crate::wire::LineEnd;

pub(super) const TO_AGENT: &str = "→ ";
pub(super) const TO_CLIENT: &str = "← ";

/// Reads such a log. The tool appends to its log, so each `initialize` begins a connection.
pub(super) struct Tee<R> {
    lines: Lines<R>,
    connection: usize,
}

impl<R: BufRead> Tee<R> {
    pub(super) const fn new(from: R) -> Self {
        Self { lines: Lines::new(from), connection: 0 }
    }
}

impl<R: BufRead> Source for Tee<R> {
    fn next(&mut self) -> Result<Option<Item>, RecordingProblem> {
        let number = self.lines.number + 1;
        let Some((line, end)) = self.lines.next()? else { return Ok(None) };
        let strip = |arrow: &str| line.strip_prefix(arrow.as_bytes());
        let (from, bytes) = match (strip(TO_AGENT), strip(TO_CLIENT)) {
            (Some(bytes), _) => (Party::Client, bytes),
            (_, Some(bytes)) => (Party::Agent, bytes),
            _ if end == LineEnd::Eof => return Err(RecordingProblem::cut_off(number)),
            _ => {
                let what = "no arrow (→ or ←) stands before this line, as before the others";
                return Err(RecordingProblem::at(number, what, "Remove what does not belong to the recording."));
            }
        };
        if end == LineEnd::Eof {
            return Err(RecordingProblem::cut_off(number));
        }
        if number > 1 && from == Party::Client && opens(bytes) {
            self.connection += 1;
        }
        let what = What::Line { from, bytes: bytes.to_vec(), end: LineEnd::Lf, deliberate: false };
        Ok(Some(Item { us: 0, connection: self.connection, what }))
    }
}
