//! Builds the document of one shape.

use serde_json::{Map, Value};

use super::reference::{Piece, pieces, split, whole};
use super::{ABSENT, Choice, Filled, KEY};
use crate::document::{Document, SpanMap, Spans, child};
use crate::requirement::Party;
use crate::source::Span;

/// Returns the document with the chosen values.
pub(super) fn fill(document: &Document, choices: &[Choice<'_>]) -> Filled {
    let subject = document.value.get("subject").and_then(Value::as_str);
    let subject = [Party::Agent, Party::Client].into_iter().find(|party| subject == Some(party.name()));
    let mut filling = Filling { document, choices, subject, spans: SpanMap::new(), grafts: Vec::new() };
    let value = filling.value(&document.value, "", "").unwrap_or_default();
    let Filling { spans, grafts, .. } = filling;
    let names: Vec<&str> = choices.iter().map(|(_, name, _)| *name).collect();
    Filled {
        shape: names.join(","),
        context: None,
        document: Document::new(document.source.clone(), value, spans),
        grafts,
    }
}

struct Filling<'d> {
    document: &'d Document,
    choices: &'d [Choice<'d>],
    subject: Option<Party>,
    spans: SpanMap,
    grafts: Vec<(Span, Span)>,
}

impl<'d> Filling<'d> {
    /// Returns the value at `from` in the file for the place `to`; `None` if the member must be absent.
    fn value(&mut self, value: &'d Value, from: &str, to: &str) -> Option<Value> {
        if let Some(spans) = self.document.spans_at(from) {
            self.spans.insert(to.to_owned(), spans);
        }
        Some(match value {
            Value::String(text) => return self.text(text, from, to),
            Value::Array(items) => {
                let mut filled = Vec::new();
                for (i, item) in items.iter().enumerate() {
                    filled.extend(self.value(item, &child(from, i), &child(to, filled.len())));
                }
                Value::Array(filled)
            }
            Value::Object(members) => {
                let mut filled = Map::new();
                for (key, member) in members.iter().filter(|(key, _)| !(from.is_empty() && *key == KEY)) {
                    let value = self.value(member, &child(from, key), &child(to, key));
                    filled.extend(value.map(|value| (key.clone(), value)));
                }
                Value::Object(filled)
            }
            scalar => scalar.clone(),
        })
    }

    fn text(&mut self, text: &str, from: &str, to: &str) -> Option<Value> {
        let Some(path) = whole(text) else {
            let filled = pieces(text).into_iter().map(|piece| match piece {
                Piece::Plain(plain) => plain.to_owned(),
                Piece::Reference(path) => match self.chosen(path) {
                    Some((Value::String(text), _)) => text.clone(),
                    Some((scalar, _)) => scalar.to_string(),
                    None => String::new(),
                },
            });
            return Some(Value::String(filled.collect()));
        };
        let (value, pointer) = self.chosen(path)?;
        if value == ABSENT && !self.is_pattern(from) {
            return None;
        }
        self.grafts.push((self.document.span(from), self.document.span(&pointer)));
        self.graft(value, &pointer, to);
        Some(value.clone())
    }

    /// Returns the value of a reference in this shape, and its place in the file.
    fn chosen(&self, path: &str) -> Option<(&'d Value, String)> {
        let (dimension, part) = split(path);
        let (_, name, value) = self.choices.iter().find(|(known, ..)| *known == dimension)?;
        let value = value.pointer(&part)?;
        Some((value, format!("{}{part}", child(&child(&child("", KEY), dimension), name))))
    }

    /// The parts of an inserted value have their place in the matrix; the value itself, where it is used.
    fn graft(&mut self, value: &Value, from: &str, to: &str) {
        let parts: Vec<(String, &Value)> = match value {
            Value::Array(items) => items.iter().enumerate().map(|(i, item)| (i.to_string(), item)).collect(),
            Value::Object(members) => members.iter().map(|(key, member)| (key.clone(), member)).collect(),
            _ => Vec::new(),
        };
        for (token, part) in parts {
            let (from, to) = (child(from, &token), child(to, &token));
            self.spans.extend(self.document.spans_at(&from).map(|spans: Spans| (to.clone(), spans)));
            self.graft(part, &from, &to);
        }
    }

    /// Whether the place belongs to a pattern, where `<absent>` has its own meaning.
    fn is_pattern(&self, pointer: &str) -> bool {
        let words: Vec<&str> = pointer.split('/').collect();
        let ["", "transcript", _, key, rest @ ..] = words.as_slice() else { return false };
        let of_the_subject = self.subject.is_some_and(|subject| key.trim_end_matches(['?', '*']) == subject.name());
        let said = rest.iter().take(2).any(|word| ["params", "result", "error"].contains(word));
        said && (of_the_subject || matches!(*key, "never" | "no-longer" | "any-order"))
    }
}
