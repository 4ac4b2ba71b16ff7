//! Walks over the bytes of a line, and tells which of them are the inside of a string and in which members it stands.
//!
//! It has no opinion about whether the line is JSON: what is broken is walked over as far as it goes.

use std::ops::Range;

use super::literal::Literal;

/// A part of a line; the parts in their order are the whole line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'p> {
    /// What stands outside of strings, with the quotes.
    Outside,
    /// The inside of a string: the names of the members in which it stands, the outermost first.
    Value(&'p [String]),
    /// The inside of a string that is the name of a member, and the names of those around it.
    Key(&'p [String]),
}

/// An object or a list that is open.
struct Level {
    is_object: bool,
    /// Whether the next string is the name of a member.
    at_key: bool,
    /// Whether a name stands in the list of names for it.
    is_named: bool,
}

/// Shows each part of a line with the bytes that it has.
pub(super) fn walk(line: &[u8], mut show: impl FnMut(Range<usize>, Part<'_>)) {
    let mut names: Vec<String> = Vec::new();
    let mut levels: Vec<Level> = Vec::new();
    let (mut at, mut outside) = (0, 0);
    while at < line.len() {
        match line[at] {
            b'{' | b'[' => {
                let is_object = line[at] == b'{';
                levels.push(Level { is_object, at_key: is_object, is_named: false });
            }
            b'}' | b']' => {
                if levels.pop().is_some_and(|level| level.is_named) {
                    names.pop();
                }
            }
            b',' => {
                if let Some(level) = levels.last_mut().filter(|level| level.is_object) {
                    level.at_key = true;
                    if std::mem::take(&mut level.is_named) {
                        names.pop();
                    }
                }
            }
            b'"' => {
                let inside = at + 1..end_of_string(line, at + 1);
                show(outside..inside.start, Part::Outside);
                let is_key = levels.last().is_some_and(|level| level.at_key);
                show(inside.clone(), if is_key { Part::Key(&names) } else { Part::Value(&names) });
                if let Some(level) = levels.last_mut().filter(|_| is_key) {
                    names.push(Literal::read(&line[inside.clone()], true).text());
                    (level.at_key, level.is_named) = (false, true);
                }
                (at, outside) = (inside.end, inside.end);
            }
            _ => {}
        }
        at += 1;
    }
    show(outside.min(line.len())..line.len(), Part::Outside);
}

/// Where the string that begins here ends: at its closing quote, or with the line.
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
