//! The APIs of models: how each asks, and how it is answered.

pub mod chat;
pub mod gemini;
pub mod messages;
pub mod responses;

use serde_json::Value;

use super::answer::ModelAnswer;
use super::ask::Ask;

/// One API of models. It turns bodies into an [`Ask`] and an [`ModelAnswer`] into bodies, and decides nothing.
pub trait Dialect: Sync {
    /// The name of the API for people.
    fn name(&self) -> &'static str;

    /// What a request asks. What is missing or of another form is left out: the agent is judged, not its requests to a model.
    fn read(&self, body: &Value) -> Ask;

    /// The body of an answer that comes at once.
    fn whole(&self, ask: &Ask, answer: &ModelAnswer) -> Value;

    /// The events of an answer that comes in pieces.
    fn stream(&self, ask: &Ask, answer: &ModelAnswer) -> Vec<StreamPiece>;

    /// The body that says that something failed.
    fn failure(&self, status: u16, message: &str) -> Value;
}

/// An event of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamPiece {
    /// The name of the event, where the API has one.
    pub name: Option<&'static str>,
    /// Its data.
    pub data: Value,
    /// Whether the pause of a slow answer is before it.
    pub paced: bool,
}

impl StreamPiece {
    /// An event that has no name and no pause.
    #[must_use]
    pub const fn new(data: Value) -> Self {
        Self { name: None, data, paced: false }
    }

    /// The same event with a name.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Self { name: Some(name), ..self }
    }

    /// The same event after a pause, if the answer is slow.
    #[must_use]
    pub fn paced(self) -> Self {
        Self { paced: true, ..self }
    }
}

/// A text that is one itself, or the texts of a list of blocks that have a `text`.
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

/// The items of a list, or none.
pub(super) fn items(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// A member that is a text; empty if there is none.
pub(super) fn text_at<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// The arguments of a call as they come in a text; a text that is no JSON stays one.
pub(super) fn arguments_in(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}
