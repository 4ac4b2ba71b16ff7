//! Streamed text: the pieces of one message form one text, however it was split.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::Value;

use crate::trace::Event;

/// The members that contain a piece of streamed text.
pub(super) const PIECE: [&str; 4] = ["params", "update", "content", "text"];

/// The streams of a trace, each joined to one text.
#[derive(Debug, Default)]
pub(super) struct Speech {
    /// The streams, in the order of their beginning.
    pub(super) texts: Vec<String>,
    /// The part of a stream in each event.
    pieces: HashMap<usize, (usize, Range<usize>)>,
    /// The current stream of each session, with the kind of its pieces.
    open: HashMap<(usize, String), (String, usize)>,
}

impl Speech {
    /// Processes a message, and returns whether it contains a piece of a stream.
    pub(super) fn hear(&mut self, event: &Event, message: &Value) -> bool {
        let Some(session) = message.pointer("/params/sessionId").and_then(Value::as_str) else { return false };
        let session = (event.connection, session.to_owned());
        let text = |pointer: &str| message.pointer(pointer).and_then(Value::as_str);
        let variant = text("/params/update/sessionUpdate").filter(|variant| variant.ends_with("_chunk"));
        let (Some(variant), Some(piece)) = (variant, text("/params/update/content/text")) else {
            self.open.remove(&session);
            return false;
        };
        let stream = match self.open.get(&session) {
            Some((known, stream)) if known == variant => *stream,
            _ => {
                self.texts.push(String::new());
                self.texts.len() - 1
            }
        };
        self.open.insert(session, (variant.to_owned(), stream));
        let start = self.texts[stream].len();
        self.texts[stream].push_str(piece);
        self.pieces.insert(event.n, (stream, start..start + piece.len()));
        true
    }

    /// Returns the stream of an event's piece, and the part of it.
    pub(super) fn piece(&self, n: usize, text: &str) -> Option<(usize, Range<usize>)> {
        let (stream, part) = self.pieces.get(&n)?;
        (self.texts[*stream].get(part.clone()) == Some(text)).then(|| (*stream, part.clone()))
    }
}
