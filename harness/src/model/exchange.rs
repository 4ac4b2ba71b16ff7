//! The record of each request to the model and of its answer.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use crate::trace::Precedence;

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
    /// The API that it belongs to, such as `chat completions`; absent for an unknown route.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api: Option<&'static str>,
    /// The action of the model in a few words, without content of the case.
    pub did: String,
    /// The place of the mark of a case in the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marked: Option<Precedence>,
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
    ///
    /// # Errors
    ///
    /// Errors of the writer.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        to.write_all(&line)
    }
}
