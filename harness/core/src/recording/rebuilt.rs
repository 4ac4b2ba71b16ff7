//! Rebuilds messages that a recorder has split.

use serde_json::{Map, Value};

/// Builds a request, or without an id a notification. Absent and null params look alike in the recording; absent is the usual
/// form.
pub(super) fn call(id: Option<Value>, method: &str, params: Value) -> Value {
    let params = Some(params).filter(|params| !params.is_null());
    message([("id", id), ("method", Some(method.into())), ("params", params)])
}

/// Builds an answer.
pub(super) fn answer(id: Value, payload: Value, is_error: bool) -> Value {
    message([("id", Some(id)), (if is_error { "error" } else { "result" }, Some(payload))])
}

fn message(members: impl IntoIterator<Item = (&'static str, Option<Value>)>) -> Value {
    let mut message = Map::new();
    message.insert("jsonrpc".to_owned(), "2.0".into());
    message.extend(members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    message.into()
}
