//! The normalised text of one message.

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Value, json};

use super::renamer::Renamer;
use crate::requirement::Party;
use crate::wire::{Content, Envelope, escape_surrogates, read_line};

/// Writes a message by its parts, as JSON if it has unexpected ones, and a line that is not a message in quotes.
pub(super) fn content(from: Party, bytes: &[u8], renamer: &mut Renamer) -> String {
    let Content::One { value, .. } = read_line(bytes) else {
        return format!("{:?}", renamer.text(&String::from_utf8_lossy(bytes)));
    };
    let message = renamer.message(from, &value);
    parts(&message).unwrap_or_else(|| spaced(&message))
}

/// Returns a message by its parts, if it has no other members.
fn parts(message: &Value) -> Option<String> {
    let named = |id: &Value| id.as_str().map_or("null ".to_owned(), |id| format!("{id} "));
    let named = |id: Option<&Value>| id.map_or_else(String::new, named);
    let mut whole = json!({ "jsonrpc": "2.0" });
    let text = match Envelope::of(message) {
        Envelope::Call(call) => {
            let members = [("id", call.id), ("method", message.get("method")), ("params", call.params)];
            put(&mut whole, &members);
            let params = call.params.map_or_else(String::new, |params| format!(" {}", spaced(params)));
            format!("{}{}{params}", named(call.id), call.method)
        }
        Envelope::Response { id: of, result, error } => {
            put(&mut whole, &[("id", of), ("result", result), ("error", error)]);
            match (result, error) {
                (Some(result), None) => format!("{}result {}", named(of), spaced(result)),
                (None, Some(error)) => format!("{}error {}", named(of), spaced(error)),
                _ => return None,
            }
        }
        Envelope::Unclear => return None,
    };
    (whole == *message).then_some(text)
}

fn put(object: &mut Value, members: &[(&str, Option<&Value>)]) {
    for (name, value) in members {
        if let Some(value) = value {
            object[*name] = (*value).clone();
        }
    }
}

/// Writes JSON in one line, with a blank after each colon and comma.
pub(super) fn spaced(value: &Value) -> String {
    let mut bytes = Vec::new();
    let written = value.serialize(&mut Serializer::with_formatter(&mut bytes, Spaced));
    escape_surrogates(written.map_or_else(|_| value.to_string(), |()| String::from_utf8_lossy(&bytes).into_owned()))
}

struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + std::io::Write>(&mut self, to: &mut W, first: bool) -> std::io::Result<()> {
        if first { Ok(()) } else { to.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(&mut self, to: &mut W, first: bool) -> std::io::Result<()> {
        if first { Ok(()) } else { to.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(&mut self, to: &mut W) -> std::io::Result<()> {
        to.write_all(b": ")
    }
}
