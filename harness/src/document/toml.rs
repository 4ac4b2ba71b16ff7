//! Reads TOML, with the same places as YAML.

use std::sync::Arc;

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::Diagnostic;
use crate::document::{Document, SpanMap, Spans, child};
use crate::source::{SourceFile, Span};

/// Phrases in parser messages about a missing or invalid value.
const OF_A_VALUE: [&str; 5] = ["must be quoted", "missing value", "invalid value", "invalid boolean", "array"];

/// Reads a file. Without a document, the diagnostics contain the reason.
pub fn read(source: &Arc<SourceFile>) -> (Option<Document>, Vec<Diagnostic>) {
    let (table, errors) = DeTable::parse_recoverable(source.text());
    let line = |error: &&toml::de::Error| error.span().map_or(0, |range| source.place(range.start).line);
    // Later mistakes are mostly consequences of the first one.
    if let Some(first) = errors.iter().min_by_key(line) {
        return (None, vec![syntax(source, first)]);
    }
    let mut spans = SpanMap::new();
    spans.insert(String::new(), Spans { value: Span::new(0, source.text().len()), key: None });
    let value = convert_table(table.get_ref(), "", &mut spans);
    (Some(Document::new(Arc::clone(source), value, spans)), Vec::new())
}

fn syntax(source: &Arc<SourceFile>, error: &toml::de::Error) -> Diagnostic {
    let span = error.span().map_or_else(Span::default, |range| Span::new(range.start, range.end));
    let message = error.message();
    Diagnostic::error("toml::syntax", source, span, format!("this is not TOML: {message}")).maybe_help(help(message))
}

/// Returns the remedy for a message of the parser.
fn help(message: &str) -> Option<String> {
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    if says(&["duplicate"]) {
        return Some("keep one of the two".to_owned());
    }
    says(&OF_A_VALUE).then(|| "strings are quoted: `name = \"x\"`; lists are `[\"a\", \"b\"]`".to_owned())
}

fn convert_table(table: &DeTable<'_>, pointer: &str, spans: &mut SpanMap) -> Value {
    let members = table.iter().map(|(key, value)| {
        let name = key.get_ref().to_string();
        let pointer = child(pointer, &name);
        let value = convert(value, &pointer, Some(of(key.span())), spans);
        (name, value)
    });
    Value::Object(members.collect::<Map<_, _>>())
}

fn convert(value: &Spanned<DeValue<'_>>, pointer: &str, key: Option<Span>, spans: &mut SpanMap) -> Value {
    spans.insert(pointer.to_owned(), Spans { value: of(value.span()), key });
    match value.get_ref() {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map_or_else(|_| number.as_str().into(), Value::from)
        }
        DeValue::Float(number) => number.as_str().parse::<f64>().map_or(Value::Null, Value::from),
        DeValue::Boolean(truth) => Value::Bool(*truth),
        DeValue::Datetime(time) => Value::String(time.to_string()),
        DeValue::Array(items) => {
            let items = items.iter().enumerate();
            items.map(|(i, item)| convert(item, &child(pointer, i), None, spans)).collect()
        }
        DeValue::Table(table) => convert_table(table, pointer, spans),
    }
}

fn of(range: std::ops::Range<usize>) -> Span {
    Span::new(range.start, range.end)
}
