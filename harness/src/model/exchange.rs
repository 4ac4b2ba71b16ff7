//! The record of each request to the model and of its answer.

use std::io::{self, Write};

use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::trace::ModelEvent;

/// A request to the model and its answer, one line of a `.model.ndjson` file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelExchange {
    /// Its position, from 0, in the order of the requests.
    pub n: usize,
    /// Microseconds from the opening of the model to the request.
    pub us: u64,
    /// The HTTP method.
    pub method: String,
    /// The path, with the query.
    pub path: String,
    /// The part for the trace; the record holds the rest in full.
    #[serde(flatten, serialize_with = "without_content")]
    pub event: ModelEvent,
    /// The body of the request: JSON, or text.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub request: Value,
    /// The status of the answer.
    pub status: u16,
    /// The answer: JSON, or the events of a stream as a list.
    pub answer: Value,
}

impl ModelExchange {
    /// Writes it as a line.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        to.write_all(&line)
    }
}

/// Writes an event without the content, which the bodies show.
fn without_content<S: Serializer>(event: &ModelEvent, serializer: S) -> Result<S::Ok, S::Error> {
    let ModelEvent { api, did, marked, .. } = event;
    let event = ModelEvent { api: api.clone(), did: did.clone(), marked: *marked, ..ModelEvent::default() };
    event.serialize(serializer)
}
