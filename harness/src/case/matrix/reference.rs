//! References to the values of a matrix in texts: `<matrix.id>`, `<matrix.declared.fs>`.

use serde_json::Value;

use crate::document::child;

/// The regular expression for a text that is one reference, for editors.
pub(crate) const PATTERN: &str = r"^<matrix\.[a-z0-9.A-Z_-]+>$";

const BEGIN: &str = "<matrix.";

/// A piece of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    /// Text that stays unchanged.
    Plain(&'t str),
    /// The part between `<matrix.` and `>`: the dimension, and the members to follow.
    Reference(&'t str),
}

pub(super) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some((start, end)) = next(rest) {
        if start > 0 {
            pieces.push(Piece::Plain(&rest[..start]));
        }
        pieces.push(Piece::Reference(&rest[start + BEGIN.len()..end]));
        rest = &rest[end + 1..];
    }
    if !rest.is_empty() {
        pieces.push(Piece::Plain(rest));
    }
    pieces
}

/// Returns the start of the next reference, and the place of its closing bracket.
fn next(text: &str) -> Option<(usize, usize)> {
    let start = text.find(BEGIN)?;
    Some((start, start + text[start..].find('>')?))
}

/// Returns the reference, if it is the whole text.
pub(super) fn whole(text: &str) -> Option<&str> {
    match pieces(text).as_slice() {
        [Piece::Reference(path)] => Some(path),
        _ => None,
    }
}

pub(super) fn references(text: &str) -> impl Iterator<Item = &str> {
    pieces(text).into_iter().filter_map(|piece| match piece {
        Piece::Reference(path) => Some(path),
        Piece::Plain(_) => None,
    })
}

/// Returns the dimension at the start of a path, and the JSON pointer of the part that it names.
pub(super) fn split(path: &str) -> (&str, String) {
    let mut words = path.split('.');
    let dimension = words.next().unwrap_or_default();
    (dimension, words.map(|word| format!("/{word}")).collect())
}

/// Calls `each` for every text of a value with its JSON pointer, except for names of members.
pub(super) fn texts<'v>(value: &'v Value, pointer: &str, each: &mut impl FnMut(&str, &'v str)) {
    match value {
        Value::String(text) => each(pointer, text),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| texts(item, &child(pointer, i), each));
        }
        Value::Object(members) => {
            members.iter().for_each(|(key, member)| texts(member, &child(pointer, key), each));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_taken_apart() {
        use Piece::{Plain, Reference};
        assert_eq!(pieces("<matrix.a>"), [Reference("a")]);
        assert_eq!(pieces("x<matrix.a.b>y<matrix.c>"), [Plain("x"), Reference("a.b"), Plain("y"), Reference("c")]);
        for plain in ["<matrix>", "<cwd>/x", "<matrix.a", "<lt>matrix.a>"] {
            assert_eq!(pieces(plain), [Plain(plain)]);
        }
        assert_eq!(pieces(""), []);
        assert_eq!(split("a.b.c"), ("a", "/b/c".to_owned()));
    }
}
