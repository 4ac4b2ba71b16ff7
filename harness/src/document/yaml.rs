//! Reads YAML as JSON, and refuses texts that YAML readers interpret differently.
//!
//! Built on the events of the parser below serde-saphyr, which contain the style of a scalar (to distinguish `"1"` from
//! `1`, and `yes` from `"yes"`) and the exact span of every node. No aliases, no tags, one document.

use std::sync::Arc;

use serde_json::{Map, Value};
use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle, ScanError, Span as YamlSpan, StrInput};

use crate::diagnostic::Diagnostic;
use crate::document::{Document, SpanMap, Spans, child};
use crate::source::{SourceFile, Span};

/// The deepest nesting. No case comes close; the parser's own limit is 255.
const DEEPEST: usize = 64;

/// Reads a file. Without a document, the diagnostics contain the reason; with one, they may still contain errors.
pub fn read(source: &Arc<SourceFile>) -> (Option<Document>, Vec<Diagnostic>) {
    let mut options = Options::default();
    options.emit_anchor_events = true;
    options.emit_unresolved_aliases = true;
    options.set_emit_comments(false);
    let mut reader = YamlReader {
        source,
        parser: Parser::new_from_str_with_options(source.text(), options),
        spans: SpanMap::new(),
        problems: Vec::new(),
        last: Span::default(),
    };
    let value = reader.stream();
    let YamlReader { spans, problems, .. } = reader;
    (value.map(|value| Document::new(Arc::clone(source), value, spans)), problems)
}

/// Marks that the reader stopped after it recorded a problem.
struct Broken;

struct YamlReader<'a> {
    source: &'a Arc<SourceFile>,
    parser: Parser<'a, StrInput<'a>>,
    spans: SpanMap,
    problems: Vec<Diagnostic>,
    /// The last node read, with which block collections end.
    last: Span,
}

impl<'a> YamlReader<'a> {
    fn problem(&mut self, code: &'static str, span: Span, message: impl Into<String>, help: &str) {
        self.problems.push(Diagnostic::error(code, self.source, span, message).help(help));
    }

    /// Reads the only document of the stream.
    fn stream(&mut self) -> Option<Value> {
        let mut value = None;
        loop {
            let (event, span) = self.next().ok()?;
            match event {
                Event::StreamStart | Event::DocumentEnd => {}
                Event::DocumentStart(..) if value.is_some() => {
                    let span = Span::new(span.start, span.end.max(span.start + 3));
                    let message = "the file holds more than one document";
                    self.problem("yaml::several-documents", span, message, "put each case into a file of its own");
                    return None;
                }
                Event::DocumentStart(..) => {
                    let (event, span) = self.next().ok()?;
                    value = Some(self.node(event, span, "", None).ok()?);
                }
                _ => break,
            }
        }
        if value.is_none() {
            let span = Span::new(0, 0);
            self.problem("yaml::empty", span, "the file is empty", "cases/README.md shows what belongs into a case");
        }
        value
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), Broken> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => Ok((event, bytes(&span))),
            Some(Err(error)) => {
                self.syntax(&error);
                Err(Broken)
            }
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn syntax(&mut self, error: &ScanError) {
        let at = error.marker().byte_offset().unwrap_or(self.last.end).min(self.source.text().len());
        // It is better to show an error at the very end, such as an unclosed bracket, on the last line with text.
        let text_end = self.source.text().trim_end().len();
        let at = if at >= text_end { text_end.saturating_sub(1) } else { at };
        let at = (0..=at).rev().find(|at| self.source.text().is_char_boundary(*at)).unwrap_or(0);
        let message = error.kind().to_string();
        let message =
            message.strip_prefix("while ").and_then(|rest| rest.split_once(", ")).map_or(&*message, |(_, m)| m);
        let message = format!("this is not YAML: {message}");
        self.problem("yaml::syntax", Span::new(at, at), message, syntax_help(&error.kind().to_string()));
    }

    fn node(&mut self, event: Event<'a>, span: Span, pointer: &str, key: Option<Span>) -> Result<Value, Broken> {
        let (anchor, tag) = match &event {
            Event::Scalar(_, _, anchor, tag) => (*anchor, tag.is_some()),
            Event::SequenceStart(_, anchor, tag) | Event::MappingStart(_, anchor, tag) => (*anchor, tag.is_some()),
            _ => (0, false),
        };
        if tag {
            self.problem("yaml::tag", span, "tags have no meaning here", "leave out the word that begins with `!`");
        }
        if anchor != 0 {
            let (_, span) = self.next()?;
            self.no_anchor(span);
        }
        if pointer.matches('/').count() > DEEPEST {
            let message = format!("nested more than {DEEPEST} deep");
            self.problem("yaml::too-deep", span, message, "deep payloads are written with a `raw:` step");
            return Err(Broken);
        }
        let (value, span) = match event {
            Event::Scalar(text, style, ..) => (self.scalar(&text, style, span), span),
            Event::SequenceStart(..) => self.sequence(span, pointer)?,
            Event::MappingStart(..) => self.mapping(span, pointer)?,
            _ => {
                self.no_anchor(span);
                (Value::Null, span)
            }
        };
        self.spans.insert(pointer.to_owned(), Spans { value: span, key });
        self.last = span;
        Ok(value)
    }

    fn no_anchor(&mut self, span: Span) {
        let help = "write the value out, so that a reader sees what is sent";
        self.problem("yaml::alias", span, "anchors and aliases are not allowed", help);
    }

    fn sequence(&mut self, start: Span, pointer: &str) -> Result<(Value, Span), Broken> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                return Ok((Value::Array(items), self.whole(start, span)));
            }
            let pointer = child(pointer, items.len());
            items.push(self.node(event, span, &pointer, None)?);
        }
    }

    fn mapping(&mut self, start: Span, pointer: &str) -> Result<(Value, Span), Broken> {
        let mut members = Map::new();
        loop {
            let (event, span) = self.next()?;
            let key = match event {
                Event::MappingEnd => return Ok((Value::Object(members), self.whole(start, span))),
                Event::Scalar(text, _, 0, None) => text.into_owned(),
                _ => {
                    let help = "a key is plain text; quote it if it has brackets or begins with `*`, `&` or `!`";
                    self.problem("yaml::key", span, "this cannot be the name of a member", help);
                    return Err(Broken);
                }
            };
            self.last = span;
            let pointer = child(pointer, &key);
            let doubled = members.contains_key(&key).then(|| self.spans.get(&pointer).copied()).flatten();
            let (event, value_span) = self.next()?;
            if let Some(first) = doubled {
                let message = format!("duplicate key `{key}`");
                let diagnostic = Diagnostic::error("yaml::duplicate-key", self.source, span, message)
                    .label("the second time")
                    .also(self.source, first.key.unwrap_or(first.value), "first here")
                    .help("keep one of the two");
                self.problems.push(diagnostic);
            }
            let value = self.node(event, value_span, &pointer, Some(span))?;
            members.insert(key, value);
        }
    }

    /// Returns the span of a collection: a block ends with its last node, since its end event comes at the next token.
    fn whole(&self, start: Span, end: Span) -> Span {
        let flow = matches!(self.source.text().as_bytes().get(start.start), Some(b'{' | b'['));
        Span::new(start.start, if flow { end.end } else { self.last.end.max(start.end) })
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, span: Span) -> Value {
        if span.start == span.end && style == ScalarStyle::Plain {
            return Value::Null;
        }
        if style != ScalarStyle::Plain {
            return Value::String(text.to_owned());
        }
        match text {
            "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => self.plain(text, span),
        }
    }

    /// Reads a plain scalar other than JSON's words: a number or text.
    fn plain(&mut self, text: &str, span: Span) -> Value {
        let lower = text.to_lowercase();
        let word = match &*lower {
            "true" | "yes" | "on" => "true",
            "false" | "no" | "off" => "false",
            "null" | "~" => "null",
            _ => return self.number(text, span),
        };
        let help = format!("write `{word}`, or \"{text}\" in quotes for the text");
        let message = format!("`{text}` is a {} for some readers and a text for others", kind(word));
        self.problem("yaml::ambiguous", span, message, &help);
        Value::String(text.to_owned())
    }

    fn number(&mut self, text: &str, span: Span) -> Value {
        if let Ok(number @ Value::Number(_)) = serde_json::from_str(text) {
            let integer = text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
            if integer && number.is_f64() {
                let message = format!("the number `{text}` would be rounded");
                self.problem("yaml::number", span, message, "write the whole message with a `raw:` step");
            }
            return number;
        }
        if looks_like_number(text) {
            let message = format!("`{text}` is not a JSON number");
            let help = format!("write a JSON number, or \"{text}\" in quotes for the text");
            self.problem("yaml::number", span, message, &help);
        }
        Value::String(text.to_owned())
    }
}

fn kind(word: &str) -> &'static str {
    if word == "null" { "null" } else { "boolean" }
}

/// Whether a reader of YAML may take the text for a number although JSON has no such spelling.
fn looks_like_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text).to_ascii_lowercase();
    if matches!(&*unsigned, ".inf" | ".nan") {
        return true;
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = unsigned.strip_prefix(prefix) {
            return !digits.is_empty() && digits.chars().all(|c| c == '_' || c.is_digit(radix));
        }
    }
    let (mantissa, exponent) = unsigned.split_once('e').map_or((&*unsigned, None), |(m, e)| (m, Some(e)));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |part: &str| part.chars().all(|c| c == '_' || c.is_ascii_digit());
    let exponent_fits = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    });
    let some_digit = mantissa.contains(|c: char| c.is_ascii_digit()) && !mantissa.starts_with('_');
    some_digit && digits(whole) && digits(fraction) && exponent_fits
}

/// Returns the remedy for common mistakes by the parser's message.
fn syntax_help(message: &str) -> &'static str {
    if message.contains("tab") {
        "indent with blanks"
    } else if message.contains("bracket") || message.contains("flow") {
        "look for a bracket, a brace or a comma that is missing; text with any of `{}[],:#` is quoted"
    } else if message.contains("quote") {
        "look for a quotation mark that is missing"
    } else if message.contains("mapping values are not allowed") {
        "text with `: ` in it is quoted"
    } else {
        "look at the indentation, and quote text with any of `{}[],:#*&!|>%@` in it"
    }
}

fn bytes(span: &YamlSpan) -> Span {
    let start = span.start.byte_offset().unwrap_or(0);
    Span::new(start, span.end.byte_offset().unwrap_or(start).max(start))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_text(text: &str) -> (Option<Document>, Vec<Diagnostic>) {
        read(&Arc::new(SourceFile::new("t.yaml", text)))
    }

    #[test]
    fn values_are_json_and_have_places() {
        let text = "# c\na: [1, 2.50, \"1\", x y]\nb:\n  c: {d: null}\n  e: |\n    t\n\n# end\nf:\n";
        let (document, problems) = read_text(text);
        assert_eq!(problems, []);
        let document = document.expect("a document");
        assert_eq!(document.value, json!({"a": [1, 2.5, "1", "x y"], "b": {"c": {"d": null}, "e": "t\n"}, "f": null}));
        let slice = |pointer: &str| document.source.slice(document.span(pointer));
        assert_eq!(slice("/a"), "[1, 2.50, \"1\", x y]");
        assert_eq!(slice("/a/3"), "x y");
        assert_eq!(slice("/b/c"), "{d: null}");
        assert_eq!(slice("/f"), "f");
        assert_eq!(document.source.slice(document.key_span("/b/c/d")), "d");
        assert!(slice("/b").starts_with("c: {d: null}") && slice("/b").trim_end().ends_with('t'), "{:?}", slice("/b"));
    }

    #[test]
    fn rejects_spellings_unknown_to_json() {
        let bad =
            ["0x1F", "1_000", "017", "+1", ".5", "5.", ".inf", "-.NaN", "0o7", "yes", "Off", "TRUE", "~", "1e999"];
        for text in bad {
            assert_eq!(read_text(&format!("a: {text}")).1.len(), 1, "{text}");
        }
        let good = ["1e3", "-0.5", "20s", "1.2.3", "0", "x1", "2026-11-01", "12:30", "y", "e5", "0xyz", "_1"];
        for text in good {
            assert_eq!(read_text(&format!("a: {text}")).1, [], "{text}");
        }
    }

    #[test]
    fn nothing_makes_it_panic() {
        let deep = "[".repeat(100_000);
        let nested: String = (0..300).map(|i| format!("{}a:\n", " ".repeat(i))).collect();
        let texts = [
            "",
            "# c",
            "---\n---\n",
            "&a [*a]",
            "a: *b",
            "? [x]\n: y",
            "{a: b}: c",
            "\"",
            "a: 'x",
            "\t- x",
            "- !!str 1",
            "%",
            "a: |\n\tx",
            "ä: [",
            "}",
            "<<: {a: 1}",
        ];
        for text in texts.into_iter().chain([&*deep, &*nested]) {
            let (document, problems) = read_text(text);
            assert!(document.is_some() || !problems.is_empty(), "{text}");
            for problem in problems {
                assert!(!problem.to_string().is_empty());
            }
        }
    }
}
