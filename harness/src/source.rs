//! Text files that people write, and places in them.
//!
//! A [`Span`] is a range of bytes, which programs compute with; a [`Place`] is a line and a column, which people read.
//! A [`SourceFile`] converts one to the other. This module does not interpret the text.

use std::fmt;
use std::ops::Range;

/// A range of bytes in a source file, end exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte after the last one.
    pub end: usize,
}

impl Span {
    /// Creates the range from `start` up to `end`.
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// Returns the same as a range of the standard library.
    pub const fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

/// A line and a column, both 1-based; columns count characters, not bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The line, 1-based.
    pub line: usize,
    /// The column in characters, 1-based.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A text file with its display name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    path: String,
    text: String,
    line_starts: Vec<usize>,
}

impl SourceFile {
    /// Creates a file with this name and text.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let line_starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        Self { path: path.into(), text, line_starts }
    }

    /// Returns the display name.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text of a span; empty if the span does not fit the file.
    pub fn slice(&self, span: Span) -> &str {
        self.text.get(span.range()).unwrap_or_default()
    }

    /// Returns the line and column of a byte; a byte after the end counts as the end.
    pub fn place(&self, offset: usize) -> Place {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.line_starts.partition_point(|&start| start <= offset);
        let start = self.line_starts[line - 1];
        Place { line, column: self.text[start..offset].chars().count() + 1 }
    }

    /// Returns the part of a span on its first line, without blanks at its end and at least one character wide.
    pub fn first_line(&self, span: Span) -> Span {
        let start = span.start.min(self.text.len());
        let end = span.end.clamp(start, self.text.len());
        let (Some(tail), Some(inside)) = (self.text.get(start..), self.text.get(start..end)) else {
            return Span::new(self.text.len(), self.text.len());
        };
        let inside = inside.split(['\n', '\r']).next().unwrap_or_default().trim_end();
        let least = tail.chars().next().filter(|c| *c != '\n' && *c != '\r').map_or(0, char::len_utf8);
        Span::new(start, start + inside.len().max(least))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_one_based_and_count_characters() {
        let file = SourceFile::new("a", "ä: b\nc\n");
        assert_eq!(file.place(0), Place { line: 1, column: 1 });
        assert_eq!(file.place(4), Place { line: 1, column: 4 });
        assert_eq!(file.place(6), Place { line: 2, column: 1 });
        assert_eq!(file.place(1), Place { line: 1, column: 1 }, "inside a character");
        assert_eq!(file.place(99), Place { line: 3, column: 1 }, "after the end");
    }

    #[test]
    fn a_long_span_is_shown_by_its_first_line() {
        let file = SourceFile::new("a", "one: \n  two\n");
        assert_eq!(file.first_line(Span::new(0, 11)), Span::new(0, 4));
        assert_eq!(file.first_line(Span::new(0, 0)), Span::new(0, 1));
        assert_eq!(file.first_line(Span::new(50, 60)), Span::new(12, 12));
    }
}
