//! One recording as a stream of events.

use std::io::{BufRead, BufReader, Read};

use super::conductor::Conductor;
use super::devtools::Devtools;
use super::format::Format;
use super::ndjson::Ndjson;
use super::pair::Pair;
use super::problem::RecordingProblem;
use super::source::{Item, Source};
use super::tee::Tee;
use super::zed::Zed;
use crate::protocol::Edition;
use crate::requirement::Party;
use crate::trace::{Event, Header, Lack, ReadError, TraceReader};

/// The source of a recording's events.
pub enum Input {
    /// One stream with both parties; with its format, if that is not to be detected, and the requested party.
    Whole(Box<dyn Read>, Option<Format>, Option<Party>),
    /// A stream for each party, or for one of them, with exactly its lines.
    Sides(Vec<(Party, Box<dyn Read>)>),
}

/// A recording, with its events in an order in which they can be checked.
pub struct Recording {
    /// The facts about the recording, including its gaps.
    pub header: Header,
    /// Its format; `None` if the parties were recorded separately.
    pub format: Option<Format>,
    source: Box<dyn Source>,
    n: usize,
}

/// The number of bytes for detecting the format.
const BEGINNING: usize = 64 << 10;

impl Recording {
    /// Opens a recording.
    ///
    /// # Errors
    ///
    /// Its beginning shows that it cannot be read.
    pub fn open(input: Input, edition: &'static Edition) -> Result<Self, RecordingProblem> {
        match input {
            Input::Whole(from, format, party) => Self::whole(from, format, party, edition),
            Input::Sides(sides) => {
                let sides = sides.into_iter().map(|(party, from)| (party, BufReader::new(from))).collect();
                let lacks = vec![Lack::Times, Lack::Processes, Lack::Order];
                Ok(Self::of(Header::of_recording(&edition.name, lacks), None, Box::new(Pair::new(sides))))
            }
        }
    }

    fn whole(
        mut from: Box<dyn Read>,
        format: Option<Format>,
        party: Option<Party>,
        edition: &'static Edition,
    ) -> Result<Self, RecordingProblem> {
        let mut beginning = Vec::new();
        let read = from.by_ref().take(BEGINNING as u64).read_to_end(&mut beginning);
        read.map_err(|error| RecordingProblem::io(1, &error))?;
        // Some editors put a byte order mark before the text.
        let skipped = if beginning.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        beginning.drain(..skipped);
        let format = format.map_or_else(|| Format::detect(&beginning), Ok)?;
        let from = BufReader::with_capacity(BEGINNING, std::io::Cursor::new(beginning).chain(from));
        let header = Header::of_recording(&edition.name, format.lacks());
        let source: Box<dyn Source> = match format {
            Format::Trace => return Self::trace(from),
            Format::Ndjson => Box::new(Ndjson::new(from, edition)),
            Format::Tee => Box::new(Tee::new(from)),
            Format::Conductor => Box::new(Conductor::new(from, party)),
            Format::Zed => Box::new(Zed::new(from)),
            Format::Devtools => Box::new(Devtools::new(from)),
        };
        Ok(Self::of(header, Some(format), source))
    }

    fn trace(from: impl BufRead + 'static) -> Result<Self, RecordingProblem> {
        let reader = TraceReader::new(from).map_err(|error| of_trace(&error))?;
        Ok(Self::of(reader.header.clone(), Some(Format::Trace), Box::new(OwnTrace(reader))))
    }

    fn of(header: Header, format: Option<Format>, source: Box<dyn Source>) -> Self {
        Self { header, format, source, n: 0 }
    }
}

impl Iterator for Recording {
    type Item = Result<Event, RecordingProblem>;

    fn next(&mut self) -> Option<Self::Item> {
        let item = match self.source.next() {
            Ok(item) => item?,
            Err(problem) => return Some(Err(problem)),
        };
        let event = Event { n: self.n, us: item.us, connection: item.connection, what: item.what };
        self.n += 1;
        Some(Ok(event))
    }
}

/// A trace of this program.
struct OwnTrace<R>(TraceReader<R>);

impl<R: BufRead> Source for OwnTrace<R> {
    fn next(&mut self) -> Result<Option<Item>, RecordingProblem> {
        let event = self.0.next().transpose().map_err(|error| of_trace(&error))?;
        Ok(event.map(|Event { us, connection, what, .. }| Item { us, connection, what }))
    }
}

fn of_trace(error: &ReadError) -> RecordingProblem {
    let remedy =
        "Traces are written by `acp-conformance agent --trace-dir DIR` and the like, and are not edited by hand.";
    match error {
        ReadError::Event { line, message } => RecordingProblem::at(*line, message, remedy),
        ReadError::CutOff(line) => RecordingProblem::cut_off(*line),
        other => RecordingProblem::of_all(other.to_string(), remedy),
    }
}
