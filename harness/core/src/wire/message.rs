//! Reads one line as JSON-RPC, and describes exactly why it is not valid.

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::readable::{FEW_VALUES, MOST_VALUES, Readable, readable};

/// The content of a line.
///
/// All JSON of RFC 8259 is read, of any depth and size. JSON that `serde_json` cannot decode is read as described in
/// the module `readable`.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Only white space.
    Blank,
    /// Bytes that are not UTF-8; the offset of the first one.
    NotUtf8(usize),
    /// Text that is not JSON.
    NotJson {
        /// The reason, for people.
        why: String,
        /// Whether a JSON value begins in the line and does not end in it.
        unfinished: bool,
    },
    /// Several JSON values without a line feed between them.
    Several {
        /// The values, at most [`MOST_MESSAGES`] of them.
        values: Vec<Value>,
        /// The number of values.
        number: usize,
        /// Whether `values` lacks some of them, or parts of them.
        cut: bool,
    },
    /// One JSON value.
    One {
        /// The value; of a duplicate key the last one counts.
        value: Value,
        /// JSON pointers to duplicate keys.
        doubled: Vec<String>,
        /// Whether `serde_json` refuses the line. Other readers may refuse it too, and answer with a parse error.
        refused: bool,
        /// Whether the line has more values than this program reads, so that some are missing in `value`. Their
        /// absence proves nothing.
        cut: bool,
    },
}

impl Content {
    /// Whether parts of the line were not read, because it holds too many values.
    pub const fn is_cut(&self) -> bool {
        matches!(self, Self::One { cut: true, .. } | Self::Several { cut: true, .. })
    }

    /// Returns the single value; `None` if the line has other content.
    pub fn one(self) -> Option<Value> {
        match self {
            Self::One { value, .. } => Some(value),
            _ => None,
        }
    }
}

/// The most messages that are read from one line. A line with several violates the protocol in any case.
pub const MOST_MESSAGES: usize = 1 << 14;

/// A JSON-RPC id, compared by value and JSON type.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RpcId {
    /// An integer, in any spelling.
    Integer(i64),
    /// Any other number.
    Number(String),
    /// A string.
    Text(String),
    /// Null, which replaces an id that could not be read.
    Null,
    /// A value that cannot be an id, as JSON.
    Odd(String),
}

impl RpcId {
    /// Reads the id as it is in a message.
    pub fn new(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::String(text) => Self::Text(text.clone()),
            // `1`, `1.0` and `1e0` are the same number.
            Value::Number(number) => match number.as_i64().or_else(|| number.as_f64().and_then(integer)) {
                Some(whole) => Self::Integer(whole),
                None => Self::Number(number.to_string()),
            },
            other => Self::Odd(other.to_string()),
        }
    }

    /// Whether it is not a number with a fraction.
    pub fn is_integral(&self) -> bool {
        match self {
            Self::Number(number) => number.parse::<f64>().is_ok_and(|number| number.fract() == 0.0),
            _ => true,
        }
    }

    /// Whether every reader of JSON keeps it exactly: many read numbers as doubles, which are exact below 2^53.
    pub fn is_exact(&self) -> bool {
        const LIMIT: f64 = 9_007_199_254_740_992.0;
        match self {
            Self::Integer(number) => number.unsigned_abs() < 1 << 53,
            Self::Number(number) => number.parse::<f64>().is_ok_and(|number| number.abs() < LIMIT),
            _ => true,
        }
    }
}

impl std::fmt::Display for RpcId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Integer(number) => write!(f, "{number}"),
            Self::Number(text) | Self::Odd(text) => f.write_str(text),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Null => f.write_str("null"),
        }
    }
}

/// The integer that a number without a fractional part denotes, however it is spelled (JSON Schema 2020-12, section
/// 6.1.1). From 2^53 on, a double cannot distinguish neighbours, and is not converted.
fn integer(value: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "it has no fraction, and is small enough")]
    let whole = value as i64;
    (value.fract() == 0.0 && value.abs() < EXACT).then_some(whole)
}

/// The form of a message, by its members alone.
#[derive(Debug, Clone, Copy)]
pub enum Envelope<'v> {
    /// A call of a method; with an id it is a request.
    Call(Call<'v>),
    /// An answer: it has a result, an error or, wrongly, both.
    Response {
        /// The id, if the member is present.
        id: Option<&'v Value>,
        /// The result, if the member is present.
        result: Option<&'v Value>,
        /// The error, if the member is present.
        error: Option<&'v Value>,
    },
    /// A message without any of these.
    Unclear,
}

/// A request or a notification.
#[derive(Debug, Clone, Copy)]
pub struct Call<'v> {
    /// The id, if the member is present; a notification has none.
    pub id: Option<&'v Value>,
    /// The method.
    pub method: &'v str,
    /// The params, if the member is present.
    pub params: Option<&'v Value>,
}

impl<'v> Envelope<'v> {
    /// Classifies a message by its members.
    pub fn of(value: &'v Value) -> Self {
        let Some(object) = value.as_object() else { return Self::Unclear };
        let (mut id, mut method, mut params, mut result, mut error) = (None, None, None, None, None);
        // A message has few members, and comparing them costs less than hashing each name.
        for (name, value) in object {
            match name.as_str() {
                "id" => id = Some(value),
                "method" => method = Some(value),
                "params" => params = Some(value),
                "result" => result = Some(value),
                "error" => error = Some(value),
                _ => {}
            }
        }
        match (method, result, error) {
            (Some(Value::String(method)), ..) => Self::Call(Call { id, method, params }),
            (Some(_), ..) | (None, None, None) => Self::Unclear,
            (None, ..) => Self::Response { id, result, error },
        }
    }
}

/// Reads the bytes of one line, without its end.
pub fn read_line(bytes: &[u8]) -> Content {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Content::NotUtf8(error.valid_up_to()),
    };
    if text.trim().is_empty() {
        return Content::Blank;
    }
    match read_value(text, MOST_VALUES) {
        Some((value, doubled)) => Content::One { value, doubled, refused: false, cut: false },
        None => scan(text),
    }
}

/// Classifies a text that `serde_json` does not decode. It skips values without recursion or limit, and with one byte
/// of memory per level.
fn scan(text: &str) -> Content {
    match serde_json::from_str::<IgnoredAny>(text) {
        Ok(_) => {
            let mut room = MOST_VALUES;
            let (value, doubled, cut) = read_readable(text, &mut room);
            Content::One { value, doubled, refused: true, cut }
        }
        Err(error) => {
            several(text).unwrap_or_else(|| Content::NotJson { why: error.to_string(), unfinished: error.is_eof() })
        }
    }
}

/// Reads a text with several values; `None` for other texts.
fn several(text: &str) -> Option<Content> {
    let (mut values, mut number, mut cut, mut from) = (Vec::new(), 0, false, 0);
    let mut room = MOST_VALUES;
    let mut parts = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    while let Some(part) = parts.next() {
        part.ok()?;
        number += 1;
        let span = &text[std::mem::replace(&mut from, parts.byte_offset())..parts.byte_offset()];
        if values.len() < MOST_MESSAGES && room > 0 {
            let (value, _, is_cut) = read_readable(span, &mut room);
            cut |= is_cut;
            values.push(value);
        } else {
            cut = true;
        }
    }
    Some(Content::Several { values, number, cut })
}

/// Reads a text that is one JSON value, as far as there is room, and reduces the room accordingly.
fn read_readable(text: &str, room: &mut usize) -> (Value, Vec<String>, bool) {
    let mut rewritten = readable(text, *room);
    if rewritten.cut {
        rewritten = readable(text, FEW_VALUES.min(*room));
    }
    let Readable { text, values, cut } = rewritten;
    *room = room.saturating_sub(values);
    // The rewritten text is JSON that `serde_json` accepts.
    let (value, doubled) = read_value(&text, usize::MAX).unwrap_or_default();
    (value, doubled, cut)
}

/// Reads a text as one value, with the places of duplicate keys; `None` if `serde_json` refuses it, or if it has more
/// than `most_values` values.
fn read_value(text: &str, most_values: usize) -> Option<(Value, Vec<String>)> {
    let (value, doubled) = parse(text, None, most_values)?;
    // Duplicate keys are rare, so only lines that have some are parsed again for their places.
    if doubled.is_empty() { Some((value, doubled)) } else { parse(text, Some(String::new()), most_values) }
}

/// Parses a text; `at` is the pointer to its root, if places are needed.
fn parse(text: &str, at: Option<String>, most_values: usize) -> Option<(Value, Vec<String>)> {
    let mut notes = Notes { doubled: Vec::new(), room: most_values };
    let mut parser = serde_json::Deserializer::from_str(text);
    let value = Node { at, notes: &mut notes }.deserialize(&mut parser).ok()?;
    parser.end().ok()?;
    Some((value, notes.doubled))
}

/// Builds a value and records duplicate keys, which `serde_json` alone would drop.
struct Node<'d> {
    /// Its place, if places are needed.
    at: Option<String>,
    notes: &'d mut Notes,
}

/// The records while a line is read.
struct Notes {
    /// The duplicate keys.
    doubled: Vec<String>,
    /// The number of values that there is still room for.
    room: usize,
}

impl Node<'_> {
    fn below(&self, token: &dyn std::fmt::Display) -> Option<String> {
        self.at.as_ref().map(|at| format!("{at}/{token}"))
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let room = self.notes.room.checked_sub(1).ok_or_else(|| D::Error::custom("too many values"))?;
        self.notes.room = room;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(integer(value).map_or_else(|| value.into(), Value::from))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(Node { at: self.below(&values.len()), notes: self.notes })? {
            values.push(value);
        }
        Ok(values.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        /// The initial capacity, which is enough for most objects of a message.
        const USUAL: usize = 4;
        let mut members = Map::new();
        while let Some(key) = object.next_key::<String>()? {
            if members.is_empty() {
                members = Map::with_capacity(USUAL);
            }
            let at = self.below(&key);
            let value = object.next_value_seed(Node { at: at.clone(), notes: self.notes })?;
            if members.insert(key, value).is_some() {
                self.notes.doubled.push(at.unwrap_or_default());
            }
        }
        Ok(members.into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(value: Value, doubled: &[&str]) -> Content {
        let doubled = doubled.iter().map(|&at| at.to_owned()).collect();
        Content::One { value, doubled, refused: false, cut: false }
    }

    fn refused(value: Value, doubled: &[&str]) -> Content {
        match one(value, doubled) {
            Content::One { value, doubled, cut, .. } => Content::One { value, doubled, refused: true, cut },
            other => other,
        }
    }

    fn several(values: Vec<Value>) -> Content {
        Content::Several { number: values.len(), values, cut: false }
    }

    fn is_not_json(text: &str, is_unfinished: bool) -> bool {
        matches!(read_line(text.as_bytes()), Content::NotJson { unfinished, .. } if unfinished == is_unfinished)
    }

    #[test]
    fn every_kind_of_line_is_told_apart() {
        assert_eq!(read_line(b" \t\r"), Content::Blank);
        assert_eq!(read_line(b"{\"a\":\"\xff\"}"), Content::NotUtf8(6));
        assert!(is_not_json("Loading...", false));
        assert!(is_not_json("{\"a\":", true));
        assert!(is_not_json("{\"a\":1} trailing", false));
        assert!(is_not_json("{\"a\":1}{\"b\":", false));
        assert_eq!(read_line(b"{\"a\":1}{\"b\":2}"), several(vec![json!({"a": 1}), json!({"b": 2})]));
        assert_eq!(read_line(b"{\"a\":{\"b\":1,\"b\":2},\"a\":3}"), one(json!({ "a": 3 }), &["/a/b", "/a"]));
    }

    #[test]
    fn json_is_told_from_other_text_at_any_depth() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        for levels in [1, 127, 128, 200, 1_000_000] {
            assert!(matches!(read_line(deep(levels).as_bytes()), Content::One { cut: false, .. }), "{levels}");
            assert!(is_not_json(&"[".repeat(levels), true), "{levels}");
            assert!(is_not_json(&(deep(levels) + "]"), false), "{levels}");
            let two = deep(levels) + &deep(levels);
            assert!(matches!(read_line(two.as_bytes()), Content::Several { number: 2, cut: false, .. }), "{levels}");
        }
    }

    #[test]
    fn json_is_told_from_other_text_at_any_size() {
        let zeros = |number: usize| format!("[{}0]", "0,".repeat(number - 1));
        assert!(matches!(read_line(zeros(MOST_VALUES - 1).as_bytes()), Content::One { cut: false, .. }));
        assert!(matches!(read_line(zeros(3 * MOST_VALUES).as_bytes()), Content::One { cut: true, .. }));
        assert!(is_not_json(&zeros(3 * MOST_VALUES).replace(']', ""), true));
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(2 << 20));
        assert_eq!(read_line(long.repeat(2).as_bytes()), several(vec![json!({ "a": "x".repeat(2 << 20) }); 2]));
        let many = read_line("{} ".repeat(MOST_VALUES).as_bytes());
        assert!(
            matches!(many, Content::Several { number: MOST_VALUES, cut: true, values } if values.len() == MOST_MESSAGES)
        );
    }

    #[test]
    fn lone_surrogates_are_read_and_told_apart() {
        let request = br#"{"id":"\ud83d","method":"m\ude00","params":{"\ud83d":[1e999]}}"#;
        let (high, low) = ("\u{10D83D}", "\u{10DE00}");
        let params = json!({ high: [f64::MAX] });
        let call = json!({ "id": high, "method": format!("m{low}"), "params": params });
        assert_eq!(read_line(request), refused(call, &[]));
        assert_eq!(read_line(br#"{"\ud83d":1,"\ud83d":2}"#), refused(json!({ high: 2 }), &["/\u{10D83D}"]));
        assert_eq!(read_line(br#"{"a":"\ud83d"}{}"#), several(vec![json!({ "a": high }), json!({})]));
        assert!(is_not_json(r#"{"a":"\ud83g"}"#, false));
    }

    #[test]
    fn integers_do_not_depend_on_their_spelling() {
        for text in ["-2", "-2.0", "-2e0", "-20E-1", "-0.2e+1"] {
            assert!(matches!(read_line(text.as_bytes()), Content::One { value, .. } if value == json!(-2)), "{text}");
        }
        assert!(matches!(read_line(b"2.5"), Content::One { value, .. } if value == json!(2.5)));
        assert!(matches!(read_line(b"1e300"), Content::One { value, .. } if value.is_f64()));
    }

    #[test]
    fn ids_differ_by_type_and_not_by_spelling() {
        assert_eq!(RpcId::new(&json!(1)), RpcId::new(&json!(1.0)));
        assert_ne!(RpcId::new(&json!(1)), RpcId::new(&json!("1")));
        assert_ne!(RpcId::new(&json!(i64::MAX)), RpcId::new(&json!(i64::MAX - 1)));
        assert_ne!(RpcId::new(&json!(1.5)), RpcId::new(&json!(1)));
    }

    #[test]
    fn ids_below_2_to_the_53_are_exact() {
        let is_exact = |id: Value| RpcId::new(&id).is_exact();
        assert!(
            is_exact(json!("9".repeat(400))) && is_exact(json!(-9_007_199_254_740_991_i64)) && is_exact(json!(1.5))
        );
        assert!(!is_exact(json!(9_007_199_254_740_992_i64)) && !is_exact(json!(f64::MAX)));
    }
}
