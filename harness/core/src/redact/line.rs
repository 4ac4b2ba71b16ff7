//! Splits the bytes of a line into the inside of strings, with their members, and the rest.
//!
//! The line need not be valid JSON: the walk covers all of its bytes.

use std::ops::Range;

use super::literal::Literal;

/// A part of a line; all parts in order form the line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'p> {
    /// The bytes outside strings, and the quotes.
    Outside,
    /// The inside of a string, with the names of the members around it, the outermost first.
    Value(&'p [String]),
    /// The inside of a string that is the name of a member, and the names of those around it.
    Key(&'p [String]),
}

/// An open object or list.
struct Nesting {
    is_object: bool,
    /// Whether the next string is the name of a member.
    at_key: bool,
    /// Whether the list of names contains a name for it.
    is_named: bool,
}

/// The position of the walk in a value.
#[derive(Default)]
struct Path {
    names: Vec<String>,
    levels: Vec<Nesting>,
}

impl Path {
    fn mark(&mut self, mark: u8) {
        match mark {
            b'{' => self.levels.push(Nesting { is_object: true, at_key: true, is_named: false }),
            b'[' => self.levels.push(Nesting { is_object: false, at_key: false, is_named: false }),
            b'}' | b']' => {
                let closed = self.levels.pop();
                self.forget(closed.is_some_and(|level| level.is_named));
            }
            b',' => {
                let object = self.levels.last_mut().filter(|level| level.is_object);
                let named = object.is_some_and(|level| {
                    level.at_key = true;
                    std::mem::take(&mut level.is_named)
                });
                self.forget(named);
            }
            _ => {}
        }
    }

    fn at_key(&self) -> bool {
        self.levels.last().is_some_and(|level| level.at_key)
    }

    fn name(&mut self, name: String) {
        if let Some(level) = self.levels.last_mut() {
            (level.at_key, level.is_named) = (false, true);
            self.names.push(name);
        }
    }

    fn forget(&mut self, named: bool) {
        if named {
            self.names.pop();
        }
    }
}

/// Passes each part of a line with its bytes to `show`.
pub(super) fn walk(line: &[u8], mut show: impl FnMut(Range<usize>, Part<'_>)) {
    let mut path = Path::default();
    let (mut at, mut outside) = (0, 0);
    while at < line.len() {
        if line[at] == b'"' {
            let inside = at + 1..end_of_string(line, at + 1);
            show(outside..inside.start, Part::Outside);
            if path.at_key() {
                show(inside.clone(), Part::Key(&path.names));
                path.name(Literal::read(&line[inside.clone()], true).text());
            } else {
                show(inside.clone(), Part::Value(&path.names));
            }
            (at, outside) = (inside.end, inside.end);
        } else {
            path.mark(line[at]);
        }
        at += 1;
    }
    show(outside.min(line.len())..line.len(), Part::Outside);
}

/// Returns the end of the string that begins here: its closing quote, or the end of the line.
fn end_of_string(line: &[u8], start: usize) -> usize {
    let mut at = start;
    while at < line.len() && line[at] != b'"' {
        at += if line[at] == b'\\' { 2 } else { 1 };
    }
    at.min(line.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(line: &str) -> Vec<String> {
        let mut parts = Vec::new();
        walk(line.as_bytes(), |range, part| {
            let text = &line[range];
            parts.push(match part {
                Part::Outside => text.to_owned(),
                Part::Value(names) => format!("{}={text}", names.join("/")),
                Part::Key(names) => format!("{}:{text}", names.join("/")),
            });
        });
        parts
    }

    #[test]
    fn strings_are_told_by_where_they_stand() {
        let line = r#"{"a":[{"b":"x\"y"},"z"],"c":1} "#;
        assert_eq!(
            parts(line),
            ["{\"", ":a", "\":[{\"", "a:b", "\":\"", "a/b=x\\\"y", "\"},\"", "a=z", "\"],\"", ":c", "\":1} "]
        );
    }

    #[test]
    fn broken_lines_are_walked_over_as_far_as_they_go() {
        assert_eq!(parts(r#"{"a":"x"#), ["{\"", ":a", "\":\"", "a=x", ""]);
        assert_eq!(parts(r#"}]"x"{"#), ["}]\"", "=x", "\"{"]);
        assert_eq!(parts("\"\\"), ["\"", "=\\", ""]);
    }
}
