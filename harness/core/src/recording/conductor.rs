//! The trace of the conductor of the Rust SDK (`--trace FILE.jsons`): one object per line, which the recorder has split.

use std::collections::BTreeSet;
use std::io::BufRead;

use serde::Deserialize;
use serde_json::Value;

use super::lines::Lines;
use super::problem::RecordingProblem;
use super::rebuilt;
use super::source::{Item, Source};
use crate::requirement::Party;
use crate::trace::What;
use crate::wire::{LineEnd, read_line, write_json};

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Entry {
    Request {
        ts: f64,
        protocol: String,
        from: String,
        to: String,
        id: Value,
        method: String,
        #[serde(default)]
        params: Value,
    },
    Response {
        ts: f64,
        from: String,
        to: String,
        id: Value,
        is_error: bool,
        payload: Value,
    },
    Notification {
        ts: f64,
        protocol: String,
        from: String,
        to: String,
        method: String,
        #[serde(default)]
        params: Value,
    },
}

/// Reads such a trace. With proxies it contains several conversations, of which only the requested party's count.
pub(super) struct Conductor<R> {
    lines: Lines<R>,
    party: Option<Party>,
    /// Requests of other protocols that are carried over this one; their answers are not marked.
    carried: BTreeSet<String>,
}

/// The most such requests that are remembered.
const MOST_CARRIED: usize = 4096;

impl<R: BufRead> Conductor<R> {
    pub(super) const fn new(from: R, party: Option<Party>) -> Self {
        Self { lines: Lines::new(from), party, carried: BTreeSet::new() }
    }

    /// Returns the sender of a message between the two parties.
    fn sender(&self, from: &str, to: &str) -> Result<Option<Party>, RecordingProblem> {
        let (agent, client) = ([from, to].contains(&"Agent"), [from, to].contains(&"Client"));
        let left = match (self.party, agent, client) {
            (_, true, true) => from == "Client",
            (Some(Party::Agent), true, _) => from != "Agent",
            (Some(Party::Client), _, true) => from == "Client",
            (Some(_), _, _) => return Ok(None),
            (None, _, _) => {
                let what = format!("it is between {from} and {to}: with proxies there are several conversations");
                let remedy = "Say whose are meant: --subject agent or --subject client.";
                return Err(RecordingProblem::at(self.lines.number, what, remedy));
            }
        };
        Ok(Some(if left { Party::Client } else { Party::Agent }))
    }

    fn is_carried(&mut self, protocol: &str, id: &Value) -> bool {
        let carried = protocol != "acp";
        if carried && self.carried.len() < MOST_CARRIED {
            self.carried.insert(id.to_string());
        }
        carried
    }

    /// Returns the time, the sender and the message of an entry; `None` for an entry without a message of the parties.
    fn message(&mut self, entry: Entry) -> Result<Option<(f64, Party, Value)>, RecordingProblem> {
        let (ts, from, to, message) = match entry {
            Entry::Request { protocol, id, .. } if self.is_carried(&protocol, &id) => return Ok(None),
            Entry::Notification { protocol, .. } if protocol != "acp" => return Ok(None),
            Entry::Response { id, .. } if self.carried.remove(&id.to_string()) => return Ok(None),
            Entry::Request { ts, from, to, id, method, params, .. } => {
                (ts, from, to, rebuilt::call(Some(id), &method, params))
            }
            Entry::Notification { ts, from, to, method, params, .. } => {
                (ts, from, to, rebuilt::call(None, &method, params))
            }
            Entry::Response { ts, from, to, id, is_error, payload } => {
                (ts, from, to, rebuilt::answer(id, payload, is_error))
            }
        };
        Ok(self.sender(&from, &to)?.map(|sender| (ts, sender, message)))
    }
}

impl<R: BufRead> Source for Conductor<R> {
    fn next(&mut self) -> Result<Option<Item>, RecordingProblem> {
        loop {
            let Some(line) = self.lines.next_whole()? else { return Ok(None) };
            let entry = serde_json::from_slice(line)
                .or_else(|error| read_line(line).one().map_or(Err(error), serde_json::from_value));
            let entry = entry.map_err(|error| {
                let remedy = "Remove what the conductor did not write with --trace.";
                RecordingProblem::at(self.lines.number, format!("this is not an entry of its trace: {error}"), remedy)
            })?;
            if let Some((seconds, from, message)) = self.message(entry)? {
                let bytes = write_json(&message).into_bytes();
                #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
                let us = (seconds * 1e6) as u64;
                let what = What::Line { from, bytes, end: LineEnd::Lf, deliberate: false };
                return Ok(Some(Item { us, connection: 0, what }));
            }
        }
    }
}
