//! Streamed text: the pieces of one message are one text, wherever they were cut.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::Value;

use crate::trace::Event;

/// The members in which a piece of streamed text stands.
pub(super) const PIECE: [&str; 4] = ["params", "update", "content", "text"];

/// The streams of a trace, each as one text.
#[derive(Debug, Default)]
pub(super) struct Speech {
    /// The streams, in the order of their beginning.
    pub(super) texts: Vec<String>,
    /// Which part of which stream an event brings.
    pieces: HashMap<usize, (usize, Range<usize>)>,
    /// The stream that goes on in each session, with the kind of its pieces.
    open: HashMap<(usize, String), (String, usize)>,
}

impl Speech {
    /// Takes in a message; whether it brings a piece of a stream.
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

    /// The stream to which an event brings this piece, and which part of it that is.
    pub(super) fn piece(&self, n: usize, text: &str) -> Option<(usize, Range<usize>)> {
        let (stream, part) = self.pieces.get(&n)?;
        (self.texts[*stream].get(part.clone()) == Some(text)).then(|| (*stream, part.clone()))
    }
}
