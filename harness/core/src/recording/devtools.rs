//! The export of acp-devtools (`acp-devtools export`, and its recorded handshakes): one JSON document with the lines of both
//! parties. An export has secrets removed, so its lines may differ from those on the wire.

use std::io::BufRead;
use std::vec::IntoIter;

use serde::Deserialize;

use super::problem::RecordingProblem;
use super::source::{Item, Source};
use crate::requirement::Party;
use crate::trace::What;
use crate::wire::LineEnd;

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

/// Reads such an export as a whole.
pub(super) struct Devtools<R> {
    unread: Option<R>,
    left: IntoIter<Message>,
    /// The time of the first message.
    begun: u64,
}

impl<R: BufRead> Devtools<R> {
    pub(super) fn new(from: R) -> Self {
        Self { unread: Some(from), left: Vec::new().into_iter(), begun: 0 }
    }

    fn read(&mut self, from: R) -> Result<(), RecordingProblem> {
        let export: Export = serde_json::from_reader(from).map_err(|error| {
            let what = format!("this is not an export of acp-devtools: {error}");
            RecordingProblem::at(error.line(), what, "Export the session again with `acp-devtools export`.")
        })?;
        self.begun = export.messages.first().map_or(0, |message| message.timestamp);
        self.left = export.messages.into_iter();
        Ok(())
    }
}

impl<R: BufRead> Source for Devtools<R> {
    fn next(&mut self) -> Result<Option<Item>, RecordingProblem> {
        if let Some(from) = self.unread.take() {
            self.read(from)?;
        }
        let Some(Message { timestamp, direction, raw }) = self.left.next() else { return Ok(None) };
        let from = match direction {
            Direction::EditorToAgent => Party::Client,
            Direction::AgentToEditor => Party::Agent,
        };
        let what = What::Line { from, bytes: raw.into_bytes(), end: LineEnd::Lf, deliberate: false };
        Ok(Some(Item { us: timestamp.saturating_sub(self.begun).saturating_mul(1000), connection: 0, what }))
    }
}
