//! A line to a message: it is told truly what the line holds.

use acp_conformance::wire::{Content, Envelope, RpcId, read_line};
use serde_json::Value;

/// The bytes are a line.
pub fn holds(data: &[u8]) {
    let content = read_line(data);
    assert_eq!(read_line(data), content);
    let json = serde_json::from_slice::<Value>(data);
    match content {
        Content::Blank => assert!(std::str::from_utf8(data).is_ok_and(|text| text.trim().is_empty())),
        Content::NotUtf8(at) => {
            assert!(std::str::from_utf8(&data[..at]).is_ok() && std::str::from_utf8(&data[..=at]).is_err());
        }
        Content::NotJson(_) => assert!(json.is_err()),
        // Another reader may go deeper.
        Content::TooComplex => {}
        Content::Several(values) => assert!(values.len() > 1 && json.is_err()),
        Content::One { value, doubled } => one(data, &value, &doubled, json.ok()),
    }
}

fn one(data: &[u8], value: &Value, doubled: &[String], json: Option<Value>) {
    assert_eq!(Some(value), json.as_ref(), "another reader reads something else");
    assert!(doubled.iter().all(|at| at.starts_with('/')), "{doubled:?}");
    if doubled.is_empty() {
        // Nothing got lost, so what is written again is read as the same.
        let again = read_line(value.to_string().as_bytes());
        assert_eq!(again, Content::One { value: value.clone(), doubled: Vec::new() }, "{}", data.escape_ascii());
    }
    if let Envelope::Call(call) = Envelope::of(value) {
        let id = call.id.map(RpcId::new);
        assert_eq!(id, call.id.map(RpcId::new));
    }
}
