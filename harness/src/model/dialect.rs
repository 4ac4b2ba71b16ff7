//! The APIs of models: how each asks and answers.

pub mod chat;
pub mod gemini;
pub mod messages;
pub mod responses;

use serde_json::Value;

use super::answer::ModelAnswer;
use super::ask::Ask;

/// One API of models. It turns bodies into an [`Ask`] and an [`ModelAnswer`] into bodies, and makes no decisions.
pub trait Dialect: Sync {
    /// Returns the name of the API for people.
    fn name(&self) -> &'static str;

    /// Reads a request. Missing or malformed parts are left out, since the requests of an agent to its model are not
    /// tested.
    fn read(&self, body: &Value) -> Ask;

    /// Returns the body of a whole answer.
    fn whole(&self, ask: &Ask, answer: &ModelAnswer) -> Value;

    /// Returns the events of a streamed answer.
    fn stream(&self, ask: &Ask, answer: &ModelAnswer) -> Vec<StreamPiece>;

    /// Returns the body of an error.
    fn failure(&self, status: u16, message: &str) -> Value;
}

/// An event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamPiece {
    /// The name of the event, if the API has one.
    pub name: Option<&'static str>,
    /// Its data.
    pub data: Value,
    /// Whether a slow answer pauses before it.
    pub paced: bool,
}

impl StreamPiece {
    /// Creates an event without a name and a pause.
    pub const fn new(data: Value) -> Self {
        Self { name: None, data, paced: false }
    }

    /// Pauses before the event if the answer is slow.
    pub fn paced(self) -> Self {
        Self { paced: true, ..self }
    }
}

/// Builds an event; its data also contains its name.
pub(super) fn event(name: &'static str, mut data: Value) -> StreamPiece {
    data["type"] = name.into();
    StreamPiece { name: Some(name), ..StreamPiece::new(data) }
}

/// Returns the text of a content: a plain text, or the texts of a list of blocks with `text`.
pub(super) fn text_of(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => {
            let texts = blocks.iter().filter_map(|block| block.as_str().or_else(|| block.get("text")?.as_str()));
            texts.collect::<Vec<_>>().join("\n")
        }
        Some(Value::Object(block)) => block.get("text").and_then(Value::as_str).unwrap_or_default().to_owned(),
        _ => String::new(),
    }
}

/// Returns the items of a list; empty for any other value.
pub(super) fn items(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// Returns a member that is a text; empty if it is missing.
pub(super) fn text_at<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Parses the arguments of a call that come as text; text other than JSON stays text.
pub(super) fn arguments_in(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}
