//! Reads one line as JSON-RPC, and says exactly in which way it is none.

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// What a line holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Nothing but white space.
    Blank,
    /// Bytes that are no UTF-8; the offset of the first one.
    NotUtf8(usize),
    /// Text that is no JSON value; the parser's words.
    NotJson(String),
    /// JSON that nests deeper or holds more values than this program reads. The line may well be legal, so nobody is accused
    /// of it.
    TooComplex,
    /// Several JSON values without a line feed between them.
    Several(Vec<Value>),
    /// One JSON value.
    One {
        /// The value; of a doubled key the last one counts.
        value: Value,
        /// JSON pointers to keys that stand twice in their object.
        doubled: Vec<String>,
    },
}

/// How many values one line may hold. Each takes some hundred bytes of memory, and no message comes near.
const MOST_VALUES: usize = 1 << 20;

/// The words for more of them.
const TOO_MANY: &str = "too many values";

/// An id of JSON-RPC, compared by value and JSON type.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RpcId {
    /// A number, in one spelling for each value.
    Number(String),
    /// A string.
    Text(String),
    /// The null that stands for an id that could not be read.
    Null,
    /// Something that is no id at all, as JSON.
    Odd(String),
}

impl RpcId {
    /// Takes the id as it stands in a message.
    #[must_use]
    pub fn new(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::String(text) => Self::Text(text.clone()),
            Value::Number(number) => Self::Number(canonical(number)),
            other => Self::Odd(other.to_string()),
        }
    }

    /// Whether every reader of JSON keeps it as it is: many take numbers for doubles, which are exact below 2^53.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        const LIMIT: u128 = 1 << 53;
        match self {
            Self::Number(number) => !number.parse::<i128>().is_ok_and(|number| number.unsigned_abs() >= LIMIT),
            _ => true,
        }
    }
}

impl std::fmt::Display for RpcId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(text) | Self::Odd(text) => f.write_str(text),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::Null => f.write_str("null"),
        }
    }
}

/// `1`, `1.0` and `1e0` are one number.
fn canonical(number: &Number) -> String {
    let float = number.as_f64().filter(|_| number.is_f64());
    float.and_then(integer).map_or_else(|| number.to_string(), |whole| whole.to_string())
}

/// The integer that a number without a fractional part denotes, however it is spelled (JSON Schema 2020-12, section 6.1.1).
/// From 2^53 on a double no longer tells neighbours apart, and is left as it is.
fn integer(value: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "it has no fraction, and is small enough")]
    let whole = value as i64;
    (value.fract() == 0.0 && value.abs() < EXACT).then_some(whole)
}

/// The form that a message takes, judged by its members alone.
#[derive(Debug, Clone, Copy)]
pub enum Envelope<'v> {
    /// A method to call; with an id it is a request.
    Call(Call<'v>),
    /// An answer: it has a result, an error or, wrongly, both.
    Response {
        /// The id, if the member is there.
        id: Option<&'v Value>,
        /// The result, if the member is there.
        result: Option<&'v Value>,
        /// The error, if the member is there.
        error: Option<&'v Value>,
    },
    /// None of the three.
    Unclear,
}

/// A request or a notification.
#[derive(Debug, Clone, Copy)]
pub struct Call<'v> {
    /// The id, if the member is there; a notification has none.
    pub id: Option<&'v Value>,
    /// The method.
    pub method: &'v str,
    /// The params, if the member is there.
    pub params: Option<&'v Value>,
}

impl<'v> Envelope<'v> {
    /// Looks at the members of a message.
    #[must_use]
    pub fn of(value: &'v Value) -> Self {
        let Some(object) = value.as_object() else { return Self::Unclear };
        if let Some(method) = object.get("method") {
            return method.as_str().map_or(Self::Unclear, |method| {
                Self::Call(Call { id: object.get("id"), method, params: object.get("params") })
            });
        }
        let (result, error) = (object.get("result"), object.get("error"));
        if result.is_none() && error.is_none() {
            return Self::Unclear;
        }
        Self::Response { id: object.get("id"), result, error }
    }
}

/// Reads the bytes of one line, without its end.
#[must_use]
pub fn read_line(bytes: &[u8]) -> Content {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Content::NotUtf8(error.valid_up_to()),
    };
    if text.trim().is_empty() {
        return Content::Blank;
    }
    match parse(text, None) {
        // Doubled keys are rare, so only a line that has some pays for knowing where they stand.
        Content::One { doubled, .. } if !doubled.is_empty() => parse(text, Some(String::new())),
        content => content,
    }
}

/// Reads a text; `at` is the pointer to its root, if places matter.
fn parse(text: &str, at: Option<String>) -> Content {
    let mut notes = Notes { doubled: Vec::new(), room: MOST_VALUES };
    let mut parser = serde_json::Deserializer::from_str(text);
    let value = match (Node { at, notes: &mut notes }).deserialize(&mut parser) {
        Ok(value) => value,
        Err(error) => return unread(&error.to_string()),
    };
    match parser.end() {
        Ok(()) => Content::One { value, doubled: notes.doubled },
        Err(error) => several(text).unwrap_or_else(|| Content::NotJson(error.to_string())),
    }
}

/// What a line is that the parser gave up on, with these words.
fn unread(error: &str) -> Content {
    let too_complex = ["recursion limit", TOO_MANY].iter().any(|words| error.starts_with(words));
    if too_complex { Content::TooComplex } else { Content::NotJson(error.to_owned()) }
}

fn several(text: &str) -> Option<Content> {
    if text.len() > MOST_VALUES {
        return Some(Content::TooComplex);
    }
    let values: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(text).into_iter().collect();
    values.ok().map(Content::Several)
}

/// Builds a value and notes doubled keys on the way, which `serde_json` alone would swallow.
struct Node<'d> {
    /// Where it stands, if that matters.
    at: Option<String>,
    notes: &'d mut Notes,
}

/// What is noted while a line is read.
struct Notes {
    /// The keys that stand twice in their object.
    doubled: Vec<String>,
    /// How many more values may come.
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
        let room = self.notes.room.checked_sub(1).ok_or_else(|| D::Error::custom(TOO_MANY))?;
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
        let mut members = Map::new();
        while let Some(key) = object.next_key::<String>()? {
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

    #[test]
    fn every_kind_of_line_is_told_apart() {
        let one = |value: Value, doubled: &[&str]| Content::One {
            value,
            doubled: doubled.iter().map(|&at| at.to_owned()).collect(),
        };
        assert_eq!(read_line(b" \t\r"), Content::Blank);
        assert_eq!(read_line(b"{\"a\":\"\xff\"}"), Content::NotUtf8(6));
        assert!(matches!(read_line(b"Loading..."), Content::NotJson(_)));
        assert!(matches!(read_line(b"{\"a\":"), Content::NotJson(_)));
        assert_eq!(read_line(b"{\"a\":1}{\"b\":2}"), Content::Several(vec![json!({"a": 1}), json!({"b": 2})]));
        assert!(matches!(read_line(b"{\"a\":1} trailing"), Content::NotJson(_)));
        assert_eq!(read_line(b"{\"a\":{\"b\":1,\"b\":2},\"a\":3}"), one(json!({ "a": 3 }), &["/a/b", "/a"]));
        assert_eq!(read_line("[".repeat(10_000).as_bytes()), Content::TooComplex);
        let zeros = |number: usize| format!("[{}0]", "0,".repeat(number - 1));
        assert_eq!(read_line(zeros(MOST_VALUES).as_bytes()), Content::TooComplex);
        assert!(matches!(read_line(zeros(MOST_VALUES - 1).as_bytes()), Content::One { .. }));
        assert_eq!(read_line("{} ".repeat(MOST_VALUES).as_bytes()), Content::TooComplex);
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
}
