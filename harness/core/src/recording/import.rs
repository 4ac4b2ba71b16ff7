//! The importers, one for each format: what an entry of a recording says, as an event.

use std::collections::BTreeSet;
use std::io::BufRead;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::item::Item;
use super::lines::Lines;
use super::problem::RecordingProblem;
use super::sides::{Sides, is_opening, opens};
use crate::protocol::Edition;
use crate::requirement::Party;
use crate::trace::What;
use crate::wire::{Content, Envelope, LineEnd, read_line, write_json};

/// The arrows of `sacp-tee`.
pub(super) const TO_AGENT: &str = "→ ";
pub(super) const TO_CLIENT: &str = "← ";

fn line(from: Party, bytes: Vec<u8>) -> What {
    What::Line { from, bytes, end: LineEnd::Lf, deliberate: false }
}

/// Reads one entry for each line; the importer knows the entries before it.
pub(super) trait Importer {
    /// Returns the event of the next line with an entry; `None` at the end.
    fn next(&mut self, lines: &mut Lines) -> Result<Option<Item>, RecordingProblem>;
}

/// One message per line, of both parties and without the sender, as `acpx --format json` prints them. Tools append to
/// it, so each `initialize` begins a connection.
pub(super) struct Ndjson {
    sides: Sides,
    edition: &'static Edition,
    connection: usize,
}

impl Ndjson {
    pub(super) fn new(edition: &'static Edition) -> Self {
        Self { sides: Sides::new(edition), edition, connection: 0 }
    }
}

impl Importer for Ndjson {
    fn next(&mut self, lines: &mut Lines) -> Result<Option<Item>, RecordingProblem> {
        let is_first = lines.number == 0;
        let Some(bytes) = lines.next_whole()? else { return Ok(None) };
        let (bytes, content) = (bytes.to_vec(), read_line(bytes));
        let value = match content {
            Content::One { value, .. } if !matches!(Envelope::of(&value), Envelope::Unclear) => value,
            _ => {
                let remedy = "Remove lines that are not messages; `2>&1` often mixes logs in.";
                return Err(RecordingProblem::at(lines.number, "this line is not a JSON-RPC message", remedy));
            }
        };
        if !is_first && is_opening(&value) {
            self.connection += 1;
            self.sides = Sides::new(self.edition);
        }
        let what = match self.sides.sender(&value) {
            Some(from) => line(from, bytes),
            None => What::Unattributed(bytes),
        };
        Ok(Some(Item { us: 0, connection: self.connection, what }))
    }
}

/// Lines after an arrow, as `sacp-tee` writes them. The tool appends to its log, so each `initialize` begins a
/// connection.
#[derive(Default)]
pub(super) struct Tee {
    connection: usize,
}

impl Importer for Tee {
    fn next(&mut self, lines: &mut Lines) -> Result<Option<Item>, RecordingProblem> {
        let number = lines.number + 1;
        let Some((bytes, end)) = lines.next()? else { return Ok(None) };
        let strip = |arrow: &str| bytes.strip_prefix(arrow.as_bytes());
        let (from, bytes) = match (strip(TO_AGENT), strip(TO_CLIENT)) {
            _ if end == LineEnd::Eof => return Err(RecordingProblem::cut_off(number)),
            (Some(bytes), _) => (Party::Client, bytes),
            (_, Some(bytes)) => (Party::Agent, bytes),
            _ => {
                let what = "no arrow (→ or ←) stands before this line, as before the others";
                return Err(RecordingProblem::at(number, what, "Remove what does not belong to the recording."));
            }
        };
        if number > 1 && from == Party::Client && opens(bytes) {
            self.connection += 1;
        }
        Ok(Some(Item { us: 0, connection: self.connection, what: line(from, bytes.to_vec()) }))
    }
}

/// A message that a recorder has split.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Split {
    Request {
        id: Value,
        method: String,
        #[serde(default)]
        params: Value,
    },
    Response {
        id: Value,
        is_error: bool,
        payload: Value,
    },
    Notification {
        method: String,
        #[serde(default)]
        params: Value,
    },
}

impl Split {
    /// Builds the message. Absent and null params look alike in a recording; absent is the usual form.
    fn whole(self) -> Vec<u8> {
        let given = |params: Value| Some(params).filter(|params| !params.is_null());
        let members = match self {
            Self::Request { id, method, params } => {
                [("id", Some(id)), ("method", Some(method.into())), ("params", given(params))]
            }
            Self::Notification { method, params } => {
                [("id", None), ("method", Some(method.into())), ("params", given(params))]
            }
            Self::Response { id, is_error, payload } => {
                [("id", Some(id)), (if is_error { "error" } else { "result" }, Some(payload)), ("", None)]
            }
        };
        let mut message = Map::from_iter([("jsonrpc".to_owned(), "2.0".into())]);
        message.extend(members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        write_json(&message.into()).into_bytes()
    }
}

/// The trace of the conductor of the Rust SDK (`--trace FILE.jsons`): one entry per line. With proxies it contains
/// several conversations, of which only the requested party's count.
pub(super) struct Conductor {
    party: Option<Party>,
    /// Requests of other protocols that are carried over this one; their answers are not marked.
    carried: BTreeSet<String>,
}

/// An entry of the conductor.
#[derive(Deserialize)]
struct Entry {
    ts: f64,
    from: String,
    to: String,
    /// Absent in answers.
    protocol: Option<String>,
    #[serde(flatten)]
    message: Split,
}

/// The most such requests that are remembered.
const MOST_CARRIED: usize = 4096;

impl Conductor {
    pub(super) const fn new(party: Option<Party>) -> Self {
        Self { party, carried: BTreeSet::new() }
    }

    /// Returns the sender of a message between the two parties.
    fn sender(&self, from: &str, to: &str, number: usize) -> Result<Option<Party>, RecordingProblem> {
        let (agent, client) = ([from, to].contains(&"Agent"), [from, to].contains(&"Client"));
        let is_client = match (self.party, agent, client) {
            (_, true, true) => from == "Client",
            (Some(Party::Agent), true, _) => from != "Agent",
            (Some(Party::Client), _, true) => from == "Client",
            (Some(_), _, _) => return Ok(None),
            (None, _, _) => {
                let what = format!("it is between {from} and {to}: with proxies there are several conversations");
                let remedy = "Say whose are meant: --subject agent or --subject client.";
                return Err(RecordingProblem::at(number, what, remedy));
            }
        };
        Ok(Some(if is_client { Party::Client } else { Party::Agent }))
    }

    /// Whether an entry belongs to a protocol that is carried over this one.
    fn is_carried(&mut self, entry: &Entry) -> bool {
        let is_other = entry.protocol.as_deref().is_some_and(|protocol| protocol != "acp");
        match &entry.message {
            Split::Request { id, .. } if is_other && self.carried.len() < MOST_CARRIED => {
                self.carried.insert(id.to_string());
                true
            }
            Split::Response { id, .. } => self.carried.remove(&id.to_string()),
            _ => is_other,
        }
    }
}

impl Importer for Conductor {
    fn next(&mut self, lines: &mut Lines) -> Result<Option<Item>, RecordingProblem> {
        while let Some(bytes) = lines.next_whole()? {
            let entry = serde_json::from_slice(bytes)
                .or_else(|error| read_line(bytes).one().map_or(Err(error), serde_json::from_value));
            let entry: Entry = entry.map_err(|error| {
                let remedy = "Remove what the conductor did not write with --trace.";
                RecordingProblem::at(lines.number, format!("this is not an entry of its trace: {error}"), remedy)
            })?;
            if self.is_carried(&entry) {
                continue;
            }
            if let Some(from) = self.sender(&entry.from, &entry.to, lines.number)? {
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
                let us = (entry.ts * 1e6) as u64;
                return Ok(Some(Item { us, connection: 0, what: line(from, entry.message.whole()) }));
            }
        }
        Ok(None)
    }
}

/// Reads a JSON document as a whole.
fn document<T: for<'d> Deserialize<'d>>(from: impl BufRead, name: &str, remedy: &str) -> Result<T, RecordingProblem> {
    serde_json::from_reader(from).map_err(|error| {
        let what = if error.is_eof() {
            "the recording is cut off in the entry that ends here".to_owned()
        } else {
            format!("this is not {name}: {error}")
        };
        RecordingProblem::at(error.line(), what, remedy)
    })
}

/// Reads the list that Zed's log view copies ("Copy All Messages"), which has at most 2,000 messages.
pub(super) fn zed(from: impl BufRead) -> Result<Vec<Item>, RecordingProblem> {
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
    // An answer is an error if it looks like one, since no result of a method of the protocol has both members.
    let is_error = |payload: &Value| {
        let has = |name: &str, good: fn(&Value) -> bool| payload.get(name).is_some_and(good);
        has("code", Value::is_i64) && has("message", Value::is_string)
    };
    let remedy = "Copy the messages again with “Copy All Messages”, and only those; the list ends with `]`.";
    let entries: Vec<Entry> = document(from, "a list of Zed's log", remedy)?;
    let items = entries.into_iter().map(|Entry { direction, kind, id, method, params }| {
        let message = match kind {
            Kind::Stderr => {
                let what = What::Stderr(params.as_str().unwrap_or_default().as_bytes().to_vec());
                return Item { us: 0, connection: 0, what };
            }
            Kind::Request => Split::Request { id, method, params },
            Kind::Notification => Split::Notification { method, params },
            Kind::Response => Split::Response { id, is_error: is_error(&params), payload: params },
        };
        let from = if direction == Direction::Outgoing { Party::Client } else { Party::Agent };
        Item { us: 0, connection: 0, what: line(from, message.whole()) }
    });
    Ok(items.collect())
}

/// Reads the export of acp-devtools (`acp-devtools export`, and its recorded handshakes). An export has secrets
/// removed, so its lines may differ from those on the wire.
pub(super) fn devtools(from: impl BufRead) -> Result<Vec<Item>, RecordingProblem> {
    #[derive(Deserialize)]
    struct Export {
        messages: Vec<Message>,
    }
    #[derive(Deserialize)]
    struct Message {
        /// In milliseconds since 1970.
        timestamp: u64,
        direction: Direction,
        raw: String,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Direction {
        EditorToAgent,
        AgentToEditor,
    }
    let remedy = "Export the session again with `acp-devtools export`.";
    let Export { messages } = document(from, "an export of acp-devtools", remedy)?;
    let begun = messages.first().map_or(0, |message| message.timestamp);
    let items = messages.into_iter().map(|Message { timestamp, direction, raw }| {
        let from = match direction {
            Direction::EditorToAgent => Party::Client,
            Direction::AgentToEditor => Party::Agent,
        };
        let us = timestamp.saturating_sub(begun).saturating_mul(1000);
        Item { us, connection: 0, what: line(from, raw.into_bytes()) }
    });
    Ok(items.collect())
}
