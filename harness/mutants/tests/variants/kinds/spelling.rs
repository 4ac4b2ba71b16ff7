//! Other spellings of the same JSON value.

use acp_conformance::wire::LineEnd;
use fastrand::Rng;
use serde_json::{Number, Value};

use super::{How, Kind};

pub const KINDS: &[Kind] = &[
    Kind {
        name: "member-order",
        rule: "RFC 8259, 1: \"An object is an unordered collection of zero or more name/value pairs\"",
        how: How::Spelling(|value, rng| plain(value, Style { shuffled: true, ..Style::new(rng) })),
    },
    Kind {
        name: "white-space",
        rule: "RFC 8259, 2: \"Insignificant whitespace is allowed before or after any of the six structural characters\"; \
            transports: messages \"MUST NOT contain embedded newlines\"",
        how: How::Spelling(|value, rng| plain(value, Style { spaced: true, ..Style::new(rng) })),
    },
    Kind {
        name: "carriage-return",
        rule: "RFC 8259, 2: ws includes \"Carriage return\"; transports: \"Messages are delimited by newlines (\\n)\"",
        how: How::Spelling(|value, _| (value.to_string().into_bytes(), LineEnd::CrLf)),
    },
    Kind {
        name: "string-escapes",
        rule: "RFC 8259, 7: \"Any character may be escaped\"; \"To escape an extended character that is not in the Basic \
            Multilingual Plane, the character is represented as a 12-character sequence\"",
        how: How::Spelling(|value, rng| plain(value, Style { escaped: true, ..Style::new(rng) })),
    },
    Kind {
        name: "member-name-escapes",
        rule: "RFC 8259, 8.3: implementations compare names after \"transform[ing] the textual representation into \
            sequences of Unicode code units\"",
        how: How::Spelling(|value, rng| plain(value, Style { names_escaped: true, ..Style::new(rng) })),
    },
    Kind {
        name: "integer-spelling",
        rule: "JSON Schema 2020-12, 6.1.1: \"integer\" matches \"any number with a zero fractional part\"",
        how: How::Spelling(|value, rng| plain(value, Style { numbers: true, ..Style::new(rng) })),
    },
    Kind {
        name: "all-spellings",
        rule: "as the five others together",
        how: How::Spelling(|value, rng| {
            let style = Style {
                shuffled: true,
                spaced: true,
                escaped: true,
                names_escaped: true,
                numbers: true,
                ..Style::new(rng)
            };
            (plain(value, style).0, LineEnd::CrLf)
        }),
    },
];

/// The style in which a value is written.
#[expect(clippy::struct_excessive_bools, reason = "each is a liberty of its own")]
struct Style<'r> {
    rng: &'r mut Rng,
    shuffled: bool,
    spaced: bool,
    escaped: bool,
    names_escaped: bool,
    numbers: bool,
}

impl<'r> Style<'r> {
    const fn new(rng: &'r mut Rng) -> Self {
        Self { rng, shuffled: false, spaced: false, escaped: false, names_escaped: false, numbers: false }
    }
}

fn plain(value: &Value, mut style: Style<'_>) -> (Vec<u8>, LineEnd) {
    let mut text = String::new();
    style.value(value, None, &mut text);
    (text.into_bytes(), LineEnd::Lf)
}

impl Style<'_> {
    fn value(&mut self, value: &Value, member: Option<&str>, text: &mut String) {
        self.space(text);
        match value {
            Value::Object(members) => {
                let mut members: Vec<_> = members.iter().collect();
                if self.shuffled {
                    self.rng.shuffle(&mut members);
                }
                text.push('{');
                for (at, (name, value)) in members.into_iter().enumerate() {
                    text.push_str(if at == 0 { "" } else { "," });
                    self.space(text);
                    let escaped = self.names_escaped;
                    self.string(name, escaped, text);
                    self.space(text);
                    text.push(':');
                    self.value(value, Some(name), text);
                }
                self.space(text);
                text.push('}');
            }
            Value::Array(items) => {
                text.push('[');
                for (at, item) in items.iter().enumerate() {
                    text.push_str(if at == 0 { "" } else { "," });
                    self.value(item, member, text);
                }
                self.space(text);
                text.push(']');
            }
            Value::String(string) => {
                let escaped = self.escaped;
                self.string(string, escaped, text);
            }
            Value::Number(number) => self.number(number, member, text),
            other => text.push_str(&other.to_string()),
        }
        self.space(text);
    }

    fn space(&mut self, text: &mut String) {
        if self.spaced && self.rng.bool() {
            (0..self.rng.usize(..4)).for_each(|_| text.push([' ', '\t', '\r'][self.rng.usize(..3)]));
        }
    }

    fn string(&mut self, string: &str, escaped: bool, text: &mut String) {
        text.push('"');
        for letter in string.chars() {
            // Half of the characters stay unchanged, so that neighbours differ.
            if escaped && self.rng.bool() {
                self.escape(letter, text);
            } else {
                let quoted = Value::from(letter.to_string()).to_string();
                text.push_str(&quoted[1..quoted.len() - 1]);
            }
        }
        text.push('"');
    }

    fn escape(&mut self, letter: char, text: &mut String) {
        let short = match letter {
            '/' => Some("\\/"),
            '\u{8}' => Some("\\b"),
            '\u{c}' => Some("\\f"),
            '\n' => Some("\\n"),
            '\r' => Some("\\r"),
            '\t' => Some("\\t"),
            _ => None,
        };
        if let Some(short) = short.filter(|_| self.rng.bool()) {
            return text.push_str(short);
        }
        let mut units = [0; 2];
        let upper = self.rng.bool();
        for unit in letter.encode_utf16(&mut units) {
            text.push_str(&if upper { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") });
        }
    }

    /// Integers get a spelling with a point or an exponent; an id only one without a fractional part, for "Numbers
    /// SHOULD NOT contain fractional parts" (JSON-RPC 2.0, 4, of ids).
    fn number(&mut self, number: &Number, member: Option<&str>, text: &mut String) {
        let whole = number.as_i64().filter(|whole| self.numbers && whole.unsigned_abs() < 1 << 53);
        let is_id = member == Some("id") || member == Some("requestId");
        match whole.map(|whole| (whole, self.rng.u8(..4))) {
            Some((whole, 0)) => text.push_str(&format!("{whole}e0")),
            Some((whole, 1)) => text.push_str(&format!("{whole}E+0")),
            Some((whole, _)) if !is_id => text.push_str(&format!("{whole}.0")),
            Some((whole, _)) => text.push_str(&format!("{whole}e-0")),
            _ => text.push_str(&number.to_string()),
        }
    }
}
