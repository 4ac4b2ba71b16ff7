//! Faults in reading and writing files.

use std::{collections::HashMap, fs, path::Path, thread, time::Duration};

use serde_json::{Value, json};

use crate::{
    layer::{Layer, Onward},
    message::{calls, result},
};

/// The delay of a write.
const LATE: Duration = Duration::from_millis(500);

/// Returns the path and the content of a write.
fn write(message: &mut Value) -> Option<(String, &mut String)> {
    let path = message["params"]["path"].as_str().filter(|_| calls(message, "fs/write_text_file"))?.to_owned();
    match &mut message["params"]["content"] {
        Value::String(content) => Some((path, content)),
        _ => None,
    }
}

/// Keeps the rest of a longer file.
pub(super) fn leave_rest(message: &mut Value) {
    if let Some((path, content)) = write(message)
        && let Some(rest) = fs::read_to_string(path).ok().and_then(|old| old.get(content.len()..).map(str::to_owned))
    {
        content.push_str(&rest);
    }
}

pub(super) fn creates_file(message: &Value) -> Option<&'static str> {
    let path = message["params"]["path"].as_str().filter(|_| calls(message, "fs/write_text_file"))?;
    (!Path::new(path).exists()).then_some("unknown file")
}

/// Answers a write before it is done.
pub(super) struct WriteLater;

impl Layer for WriteLater {
    fn inward(&mut self, mut message: Value, onward: &mut Onward) {
        let Some((path, content)) = write(&mut message) else { return onward.inward(message) };
        let content = std::mem::take(content);
        thread::spawn(move || {
            thread::sleep(LATE);
            // The agent already has the answer, which is the fault.
            let _ = fs::write(path, content);
        });
        onward.outward(result(&message, json!({})));
    }
}

/// Reads a file once, and returns the same content for every later read.
#[derive(Default)]
pub(super) struct ReadOnce {
    /// The answers, by the params of the read.
    read: HashMap<String, Value>,
}

impl Layer for ReadOnce {
    fn outward(&mut self, mut message: Value, onward: &mut Onward) {
        if let Some(request) = onward.answers("fs/read_text_file")
            && let Some(result) = message.get_mut("result")
        {
            *result = self.read.entry(request["params"].to_string()).or_insert_with(|| result.take()).clone();
        }
        onward.outward(message);
    }
}
