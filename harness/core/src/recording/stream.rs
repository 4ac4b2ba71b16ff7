//! One recording as a stream of events.

use std::io::{BufRead, BufReader, Cursor, Read};
use std::vec::IntoIter;

use super::format::Format;
use super::har::har;
use super::import::{Conductor, Importer, Ndjson, Tee, devtools, zed};
use super::item::Item;
use super::lines::Lines;
use super::pair::Pair;
use super::problem::RecordingProblem;
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
    source: Source,
    n: usize,
}

type Reader = Box<dyn BufRead>;

/// A document with its importer.
type Document = (Reader, fn(Reader) -> Result<Vec<Item>, RecordingProblem>);

/// The importer, with what it reads.
enum Source {
    /// A trace of this program.
    Trace(Box<TraceReader<Reader>>),
    /// Entries in lines.
    Lines(Lines, Box<dyn Importer>),
    /// A document that is read as a whole when the first event is asked for, and its events.
    Document(Option<Document>, IntoIter<Item>),
    /// A stream for each party.
    Sides(Pair),
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
                let lines = |from| Lines::new(Box::new(BufReader::new(from)));
                let sides = sides.into_iter().map(|(party, from)| (party, lines(from))).collect();
                let header = Header::of_recording(&edition.name, vec![Lack::Times, Lack::Processes, Lack::Order]);
                Ok(Self { header, format: None, source: Source::Sides(Pair::new(sides)), n: 0 })
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
        let from: Reader = Box::new(BufReader::with_capacity(BEGINNING, Cursor::new(beginning).chain(from)));
        let mut header = Header::of_recording(&edition.name, format.lacks());
        let source = match format {
            Format::Trace => {
                let reader = TraceReader::new(from).map_err(|error| of_trace(&error))?;
                header = reader.header.clone();
                Source::Trace(Box::new(reader))
            }
            Format::Ndjson => Source::Lines(Lines::new(from), Box::new(Ndjson::new(edition))),
            Format::Tee => Source::Lines(Lines::new(from), Box::new(Tee::default())),
            Format::Conductor => Source::Lines(Lines::new(from), Box::new(Conductor::new(party))),
            Format::Zed => Source::Document(Some((from, zed)), Vec::new().into_iter()),
            Format::Devtools => Source::Document(Some((from, devtools)), Vec::new().into_iter()),
            Format::Har => {
                let har = har(from)?;
                (header.transport, header.lacks, header.remarks) = (har.transport, har.lacks, har.remarks);
                Source::Document(None, har.items)
            }
        };
        Ok(Self { header, format: Some(format), source, n: 0 })
    }

    fn item(&mut self) -> Result<Option<Item>, RecordingProblem> {
        match &mut self.source {
            Source::Trace(reader) => {
                let event = reader.next().transpose().map_err(|error| of_trace(&error))?;
                Ok(event.map(|Event { us, connection, what, .. }| Item { us, connection, what }))
            }
            Source::Lines(lines, importer) => importer.next(lines),
            Source::Document(unread, items) => {
                if let Some((from, read)) = unread.take() {
                    *items = read(from)?.into_iter();
                }
                Ok(items.next())
            }
            Source::Sides(pair) => pair.next(),
        }
    }
}

impl Iterator for Recording {
    type Item = Result<Event, RecordingProblem>;

    fn next(&mut self) -> Option<Self::Item> {
        let Item { us, connection, what } = match self.item() {
            Ok(item) => item?,
            Err(problem) => return Some(Err(problem)),
        };
        let n = self.n;
        self.n += 1;
        Some(Ok(Event { n, us, connection, what }))
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
