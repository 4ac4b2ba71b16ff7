//! Other errors where an error is required.

use serde_json::{Value, json};

use super::{How, Kind};
use crate::choices::Choices;
use crate::conversation::Message;

pub const KINDS: &[Kind] = &[
    Kind {
        name: "error-message",
        rule: "JSON-RPC 2.0, 5.1: \"message: A String providing a short description of the error. The message SHOULD be limited \
            to a concise single sentence\"",
        how: How::Edit(|message, choices| {
            const MESSAGES: [&str; 4] = ["Nope", "Ungültig: 😀", "request failed", "kaputt."];
            edit(message, choices, "message", |rng| Some(MESSAGES[rng.usize(..MESSAGES.len())].into()));
        }),
    },
    Kind {
        name: "error-data",
        rule: "JSON-RPC 2.0, 5.1: \"data: A Primitive or Structured value … This may be omitted. The value of this member is \
            defined by the Server\"; schema.json: Error.data is any value",
        how: How::Edit(|message, choices| {
            // Version 2 defines the data of two codes.
            let code = message.value.pointer("/error/code").and_then(Value::as_i64);
            if message.edition.major > 1 && matches!(code, Some(-32002 | -32022)) {
                return;
            }
            edit(message, choices, "data", |rng| match rng.u8(..6) {
                0 => None,
                1 => Some(Value::Null),
                2 => Some(json!({})),
                3 => Some(json!({ "details": "none", "code": -1, "_meta": { "x.example": [] } })),
                4 => Some(json!([1, "two", null])),
                _ => Some("text".into()),
            });
        }),
    },
    Kind {
        name: "error-code",
        rule: "JSON-RPC 2.0, 5.1: \"The remainder of the space is available for application defined errors\"; only where the \
            code is that of an internal error, which no text asks for",
        how: How::Edit(|message, choices| {
            if message.value.pointer("/error/code") == Some(&json!(-32603)) {
                const CODES: [i64; 5] = [-32603, -32050, -1, 1, 500];
                edit(message, choices, "code", |rng| Some(CODES[rng.usize(..CODES.len())].into()));
            }
        }),
    },
];

fn edit(message: &mut Message, choices: &mut Choices, member: &str, value: fn(&mut fastrand::Rng) -> Option<Value>) {
    let Some(error) = message.value.get_mut("error").and_then(Value::as_object_mut) else { return };
    let Some(mut rng) = choices.site() else { return };
    match value(&mut rng) {
        Some(value) => drop(error.insert(member.to_owned(), value)),
        None => drop(error.remove(member)),
    }
}
