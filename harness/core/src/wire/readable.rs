//! Rewrites valid JSON that `serde_json` cannot decode into JSON that it can.
//!
//! RFC 8259 allows more than `serde_json` decodes: escapes of lone surrogates, numbers of any size, any depth and any
//! number of values. A program that sends these violates no requirement, so the message must stay readable.
//!
//! - A lone surrogate U+D800..=U+DFFF becomes the private-use character U+10D800..=U+10DFFF. This loses nothing: two
//!   strings stay equal or different, the halves of one character can be joined again ([`push_text`]), and an id, a
//!   path or a text returns to its sender unchanged ([`write_json`]). U+FFFD would make different ids equal.
//! - A number that overflows a double becomes the largest double, as other numbers are rounded.
//! - A list or object below [`MOST_LEVELS`] levels becomes null. No definition of the schema is nested that deep, so
//!   only free-form data is shortened.
//! - Of a line with more than [`MOST_VALUES`] values only some are read, the members of the outer levels first. Only
//!   this is reported as `cut`.

use serde_json::Value;

/// The number of levels of lists and objects that `serde_json` reads.
pub(super) const MOST_LEVELS: usize = 127;

/// The most values that are read from one line. Each needs about a hundred bytes of memory, and no real message comes
/// close.
pub(super) const MOST_VALUES: usize = 1 << 20;

/// The number of values that are read from a line with more of them.
pub(super) const FEW_VALUES: usize = 1 << 12;

/// The additional values for the outer levels, so that the id, the method and the session are read at any position.
const MORE_OUTSIDE: usize = 1 << 10;

/// The number of levels with that room: the message, its params or result, and their members, such as an update.
const OUTER_LEVELS: usize = 3;

/// The distance between a surrogate and the private-use character that replaces it.
const STAND_IN: u32 = 0x10_0000;

/// The replacement for an infinite number, without its sign.
const LARGEST: &str = "1.7976931348623157e308";

/// JSON that `serde_json` reads.
pub(super) struct Readable {
    /// The text.
    pub text: String,
    /// The number of values in it.
    pub values: usize,
    /// Whether values of the original are missing.
    pub cut: bool,
}

/// Rewrites a text that is one valid JSON value.
pub(super) fn readable(text: &str, most_values: usize) -> Readable {
    let mut rewriter =
        Rewriter { text, at: 0, out: String::new(), open: Vec::new(), values: 0, most_values, cut: false };
    while rewriter.step() {}
    Readable { text: rewriter.out, values: rewriter.values, cut: rewriter.cut }
}

/// Returns the character that replaces a lone surrogate; `None` for other UTF-16 units.
pub fn stand_in(unit: u16) -> Option<char> {
    char::from_u32(STAND_IN + u32::from(unit)).filter(|_| is_surrogate(unit))
}

/// Returns the lone surrogate that a character replaces.
fn surrogate(stand_in: char) -> Option<u16> {
    let unit = u16::try_from(u32::from(stand_in).checked_sub(STAND_IN)?).ok()?;
    is_surrogate(unit).then_some(unit)
}

const fn is_surrogate(unit: u16) -> bool {
    matches!(unit, 0xD800..=0xDFFF)
}

/// Writes a value as JSON, with the escape of each lone surrogate that was read as a private-use character.
pub fn write_json(value: &Value) -> String {
    escape_surrogates(value.to_string())
}

/// Replaces the characters for lone surrogates in JSON by their original escapes.
pub fn escape_surrogates(json: String) -> String {
    if !json.contains(|c| surrogate(c).is_some()) {
        return json;
    }
    // Such a character can only be inside a string.
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match surrogate(c) {
            Some(unit) => out.push_str(&format!("\\u{unit:04x}")),
            None => out.push(c),
        }
    }
    out
}

/// Appends the next piece of a text, and joins the halves of a character that was split between the pieces.
pub fn push_text(text: &mut String, piece: &str) {
    let halves = text.chars().next_back().and_then(surrogate).zip(piece.chars().next().and_then(surrogate));
    match halves.and_then(|(high, low)| char::decode_utf16([high, low]).next()) {
        Some(Ok(joined)) => {
            text.pop();
            text.push(joined);
            text.extend(piece.chars().skip(1));
        }
        _ => text.push_str(piece),
    }
}

/// Copies JSON value by value, without recursion.
struct Rewriter<'t> {
    text: &'t str,
    at: usize,
    out: String,
    /// The lists and objects around the current place.
    open: Vec<Open>,
    /// The number of copied values.
    values: usize,
    most_values: usize,
    cut: bool,
}

/// A list or an object that has begun.
struct Open {
    is_object: bool,
    /// Whether an item in it was copied.
    has_items: bool,
}

impl Rewriter<'_> {
    /// Copies the next value, or the beginning or end of the next list or object; false at the end of the text.
    fn step(&mut self) -> bool {
        self.skip_blanks();
        match self.next() {
            Some(b',') => self.at += 1,
            Some(end @ (b']' | b'}')) => {
                self.out.push(char::from(end));
                self.at += 1;
                self.open.pop();
            }
            Some(_) => self.item(),
            None => return false,
        }
        !self.open.is_empty()
    }

    fn item(&mut self) {
        let text = self.text;
        let mut key = None;
        if self.open.last().is_some_and(|open| open.is_object) {
            let from = self.at;
            self.skip_string();
            key = Some(&text[from..self.at]);
            self.skip_blanks();
            self.at += 1; // the colon
            self.skip_blanks();
        }
        // Each outer level has room of its own in addition to that of the next inner one.
        let outer = (OUTER_LEVELS + 1).saturating_sub(self.open.len());
        if self.values >= self.most_values + outer * MORE_OUTSIDE {
            // The next item does not fit either.
            self.cut = true;
            return self.skip_items();
        }
        self.values += 1;
        if let Some(open) = self.open.last_mut()
            && std::mem::replace(&mut open.has_items, true)
        {
            self.out.push(',');
        }
        if let Some(key) = key {
            push_string(key, &mut self.out);
            self.out.push(':');
        }
        self.value();
    }

    fn value(&mut self) {
        let (text, from) = (self.text, self.at);
        match self.next() {
            Some(begin @ (b'[' | b'{')) if self.open.len() < MOST_LEVELS => {
                self.out.push(char::from(begin));
                self.at += 1;
                self.open.push(Open { is_object: begin == b'{', has_items: false });
            }
            Some(b'[' | b'{') => {
                self.out.push_str("null");
                self.skip_nested();
            }
            Some(b'"') => {
                self.skip_string();
                push_string(&text[from..self.at], &mut self.out);
            }
            _ => {
                self.skip_word();
                push_word(&text[from..self.at], &mut self.out);
            }
        }
    }

    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while self.next().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    /// Skips a string, from its first quote to the byte after its last one.
    fn skip_string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.next() {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'"' {
                break;
            }
        }
    }

    /// Skips a number, `true`, `false` or `null`.
    fn skip_word(&mut self) {
        while self.next().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte)) {
            self.at += 1;
        }
    }

    /// Skips a list or an object, from its first bracket to the byte after its last one.
    fn skip_nested(&mut self) {
        self.at += 1;
        self.skip_items();
        self.at += 1;
    }

    /// Skips the remaining items of the current list or object, up to its last bracket.
    fn skip_items(&mut self) {
        let mut levels = 0_usize;
        while let Some(byte) = self.next() {
            match byte {
                b'"' => {
                    self.skip_string();
                    continue;
                }
                b'[' | b'{' => levels += 1,
                b']' | b'}' if levels == 0 => return,
                b']' | b'}' => levels -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }
}

/// Copies a string with its quotes, and replaces the escapes of lone surrogates.
fn push_string(literal: &str, out: &mut String) {
    let mut rest = literal;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let first = unit(escape).filter(|unit| is_surrogate(*unit));
        let pair = first.zip(escape.get(6..).and_then(unit));
        let length = match (first, pair) {
            (_, Some((first, second))) if char::decode_utf16([first, second]).next().is_some_and(|c| c.is_ok()) => 12,
            (Some(lone), _) => {
                out.extend(stand_in(lone));
                rest = &escape[6..];
                continue;
            }
            (None, _) => 2,
        };
        let (kept, after) = escape.split_at(length);
        out.push_str(kept);
        rest = after;
    }
    out.push_str(rest);
}

/// Returns the UTF-16 unit of the escape at the beginning of a text.
fn unit(text: &str) -> Option<u16> {
    u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok()
}

fn push_word(word: &str, out: &mut String) {
    match word.parse::<f64>() {
        Ok(number) if number.is_infinite() => {
            out.push_str(if number > 0.0 { "" } else { "-" });
            out.push_str(LARGEST);
        }
        _ => out.push_str(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(text: &str) -> String {
        readable(text, MOST_VALUES).text
    }

    #[test]
    fn only_escapes_of_lone_surrogates_are_replaced() {
        for (text, wanted) in [
            (r#""half \ud83d""#, "\"half \u{10D83D}\""),
            (r#""\uDE00\ud83d""#, "\"\u{10DE00}\u{10D83D}\""),
            (r#""\ud83d\ud83d\ude00\n""#, "\"\u{10D83D}\\ud83d\\ude00\\n\""),
            (r#""\\ud83d \"\u00e9\" é""#, r#""\\ud83d \"\u00e9\" é""#),
            (r#"{ "\udfff" : [ 1 , true ] }"#, "{\"\u{10DFFF}\":[1,true]}"),
        ] {
            assert_eq!(rewritten(text), wanted);
        }
    }

    #[test]
    fn numbers_beyond_a_double_become_the_largest_one() {
        assert_eq!(rewritten("[1e999,-1E+999,1e-999,0.1]"), format!("[{LARGEST},-{LARGEST},1e-999,0.1]"));
        assert_eq!(rewritten(&"9".repeat(400)), LARGEST);
    }

    #[test]
    fn deep_lists_and_objects_become_null() {
        let nested = |levels: usize, inside: &str| format!("{}{inside}{}", "[".repeat(levels), "]".repeat(levels));
        let deepest = nested(MOST_LEVELS, "");
        assert_eq!(rewritten(&deepest), deepest);
        assert!(serde_json::from_str::<Value>(&deepest).is_ok());
        let inside = format!(r#"{{"a":"]}}\"",{}}},2"#, r#""b":[]"#);
        assert_eq!(rewritten(&nested(MOST_LEVELS, &inside)), nested(MOST_LEVELS, "null,2"));
        assert!(!readable(&nested(100_000, ""), MOST_VALUES).cut);
    }

    #[test]
    fn the_outer_members_are_read_after_too_many_values() {
        let many = vec!["0"; 10_000].join(",");
        let text = format!(r#"{{"params":{{"list":[{many}],"deep":{{"a":{{"b":1}}}},"sessionId":"s"}},"id":7}}"#);
        let Readable { text, cut, .. } = readable(&text, 1000);
        let value: Value = serde_json::from_str(&text).expect("JSON");
        assert!(cut);
        assert_eq!(value["id"], 7);
        assert_eq!(value["params"]["sessionId"], "s");
        assert_eq!(value["params"]["deep"], serde_json::json!({}));
        let members = (0..10_000).map(|n| format!("\"{n}\":0,")).collect::<String>();
        let wide = readable(&format!(r#"{{"params":{{{members}"z":0}},"id":7}}"#), 1000);
        let value: Value = serde_json::from_str(&wide.text).expect("JSON");
        assert_eq!(value["id"], 7);
    }

    #[test]
    fn surrogates_are_written_as_they_came_and_joined() {
        let value = Value::from("a\u{10D83D}");
        assert_eq!(write_json(&value), r#""a\ud83d""#);
        assert_eq!(write_json(&Value::from("a\u{1F600}")), "\"a\u{1F600}\"");
        for (text, piece, wanted) in [
            ("a\u{10D83D}", "\u{10DE00}b", "a\u{1F600}b"),
            ("a\u{10DE00}", "\u{10D83D}b", "a\u{10DE00}\u{10D83D}b"),
            ("", "\u{10DE00}", "\u{10DE00}"),
        ] {
            let mut text = text.to_owned();
            push_text(&mut text, piece);
            assert_eq!(text, wanted);
        }
    }

    /// Pseudorandom numbers, the same in each run.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, sides: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            usize::try_from(self.0 % sides as u64).unwrap_or_default()
        }

        fn one_of<'w>(&mut self, words: &[&'w str]) -> &'w str {
            words[self.roll(words.len())]
        }
    }

    fn push_any_string(dice: &mut Dice, out: &mut String) {
        const PIECES: [&str; 14] =
            [r"\ud83d", r"\uDE00", r"\u00e9", r"\\", r#"\""#, r"\n", r"\/", "{", "]", ",", ":", "u", "é", "\u{1F600}"];
        out.push('"');
        (0..dice.roll(6)).for_each(|_| out.push_str(dice.one_of(&PIECES)));
        out.push('"');
    }

    fn push_any_value(dice: &mut Dice, levels: usize, out: &mut String) {
        const WORDS: [&str; 9] = ["0", "-0.5", "1e3", "1e999", "-2E+999", "1e-999", "true", "false", "null"];
        let is_object = dice.roll(2) == 0;
        match dice.roll(if levels == 0 { 2 } else { 4 }) {
            0 => out.push_str(dice.one_of(&WORDS)),
            1 => push_any_string(dice, out),
            _ => {
                out.push(if is_object { '{' } else { '[' });
                for n in 0..dice.roll(4) {
                    out.push_str(if n > 0 { "," } else { "" });
                    out.push_str(dice.one_of(&["", " ", "\t"]));
                    if is_object {
                        push_any_string(dice, out);
                        out.push_str(dice.one_of(&[":", " : "]));
                    }
                    push_any_value(dice, levels - 1, out);
                }
                out.push_str(if is_object { " }" } else { "]" });
            }
        }
    }

    #[test]
    fn any_json_becomes_readable_and_keeps_what_was_readable() {
        let mut dice = Dice(0x2545_F491_4F6C_DD1D);
        let mut refused = 0;
        for n in 0..20_000 {
            let mut text = String::new();
            // Some of them are deeper than the limit.
            let around = if n % 10 == 0 { 120 + dice.roll(20) } else { 0 };
            text.push_str(&"[".repeat(around));
            push_any_value(&mut dice, 6, &mut text);
            text.push_str(&"]".repeat(around));
            assert!(serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok(), "{text}");
            let Readable { text: rewritten, cut, .. } = readable(&text, MOST_VALUES);
            let read = serde_json::from_str::<Value>(&rewritten);
            assert!(read.is_ok() && !cut, "{text} became {rewritten}");
            match serde_json::from_str::<Value>(&text) {
                Ok(value) => assert_eq!(read.ok(), Some(value), "{text}"),
                Err(_) => refused += 1,
            }
            // The result is JSON with any limit.
            let little = readable(&text, dice.roll(4)).text;
            assert!(serde_json::from_str::<Value>(&little).is_ok(), "{text} became {little}");
        }
        assert!(refused > 1000, "{refused}");
    }
}
