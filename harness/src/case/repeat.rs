//! Long texts: `<repeat 65536 x>` means 65536 times `x`, anywhere in a text.

use serde_json::Value;

use crate::diagnostic::Diagnostic;
use crate::document::{Document, child};

const BEGIN: &str = "<repeat ";

/// The longest text that a case can request, in bytes.
const LONGEST: usize = 4 << 20;

/// Expands every repetition in a document.
pub(crate) fn expand(document: &mut Document) -> Vec<Diagnostic> {
    let mut wrong = Vec::new();
    expand_value(&mut document.value, "", &mut wrong);
    let complain = |(pointer, message): (String, String)| {
        document.error("case::repeat", &pointer, message).help("write `<repeat 65536 x>` for 65536 times `x`")
    };
    wrong.into_iter().map(complain).collect()
}

fn expand_value(value: &mut Value, pointer: &str, wrong: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) if text.contains(BEGIN) => match expand_text(text) {
            Ok(long) => *text = long,
            Err(message) => wrong.push((pointer.to_owned(), message)),
        },
        Value::Array(items) => {
            items.iter_mut().enumerate().for_each(|(i, item)| expand_value(item, &child(pointer, i), wrong));
        }
        Value::Object(members) => {
            members.iter_mut().for_each(|(key, member)| expand_value(member, &child(pointer, key), wrong));
        }
        _ => {}
    }
}

fn expand_text(text: &str) -> Result<String, String> {
    let mut long = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(BEGIN) {
        long.push_str(&rest[..start]);
        let inside = &rest[start + BEGIN.len()..];
        let end = inside.find('>').ok_or("the repetition has no closing `>`")?;
        let (times, piece) = inside[..end].split_once(' ').ok_or("the repetition has no text")?;
        let count: usize = times.parse().map_err(|_| format!("`{times}` is not a number"))?;
        if count.saturating_mul(piece.len()) > LONGEST {
            return Err(format!("the text would be longer than {} MiB", LONGEST >> 20));
        }
        long.push_str(&piece.repeat(count));
        rest = &inside[end + 1..];
    }
    long.push_str(rest);
    Ok(long)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_repeated_where_it_stands() {
        let text = |text: &str| expand_text(text).expect("a sound text");
        assert_eq!(text("a<repeat 3 xy>b<repeat 2 \n>"), "axyxyxyb\n\n");
        assert_eq!(text("<repeat 0 x>"), "");
        assert_eq!(text("<repeat 2  >"), "  ");
        for bad in ["<repeat 3 x", "<repeat 3>", "<repeat many x>", "<repeat -1 x>", "<repeat 5000000 x>"] {
            assert!(expand_text(bad).is_err(), "{bad}");
        }
    }
}
