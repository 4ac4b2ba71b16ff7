//! A line to a message: the result describes the line correctly.

use acp_conformance::wire::{Content, Envelope, RpcId, read_line, write_json};
use serde::de::IgnoredAny;
use serde_json::Value;

/// Treats the bytes as a line.
pub fn holds(data: &[u8]) {
    let content = read_line(data);
    assert_eq!(read_line(data), content);
    let json = serde_json::from_slice::<Value>(data);
    // This skips the values, so no nesting is too deep for it.
    let is_json = serde_json::from_slice::<IgnoredAny>(data);
    match content {
        Content::Blank => assert!(std::str::from_utf8(data).is_ok_and(|text| text.trim().is_empty())),
        Content::NotUtf8(at) => {
            assert!(std::str::from_utf8(&data[..at]).is_ok() && std::str::from_utf8(&data[..=at]).is_err());
        }
        Content::NotJson { .. } => assert!(is_json.is_err()),
        Content::Several { number, .. } => assert!(number > 1 && is_json.is_err()),
        Content::One { value, doubled, .. } => {
            assert!(is_json.is_ok());
            one(data, &value, &doubled, json.ok());
        }
    }
}

fn one(data: &[u8], value: &Value, doubled: &[String], json: Option<Value>) {
    assert!(json.is_none_or(|json| is_same(&json, value)), "another reader reads something else");
    assert!(doubled.iter().all(|at| at.starts_with('/')), "{doubled:?}");
    if doubled.is_empty() {
        // The value is complete, so writing and reading it again gives the same value.
        let again = read_line(write_json(value).as_bytes());
        assert_eq!(again.one().as_ref(), Some(value), "{}", data.escape_ascii());
    }
    if let Envelope::Call(call) = Envelope::of(value) {
        let id = call.id.map(RpcId::new);
        assert_eq!(id, call.id.map(RpcId::new));
    }
}

/// Whether two values are equal with any spelling of their numbers: `1.0` is read as 1.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let same = |(name, value)| other.get(name).is_some_and(|other| is_same(value, other));
            one.len() == other.len() && one.iter().all(same)
        }
        _ => one == other,
    }
}
