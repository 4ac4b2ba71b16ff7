//! Patterns for values of the subject.
//!
//! A pattern is written as a JSON value. Objects match by subset unless asked for exactly, lists item by item, numbers
//! by value; `<...>` at an end of a list means further items. Strings of the form `<…>` mean a kind (`<any>`, `<int>`),
//! a choice (`<one-of a|b>`), a part (`<contains x>`), a negation (`<not x>`), absence (`<absent>`), or a name that is
//! bound at its first use. [`crate::case::matching`] compares a pattern and a value.

use std::fmt;

use serde_json::Value;

use crate::case::template::{Template, is_name};

/// All words for a kind of value.
pub const KINDS: [&str; 10] =
    ["any", "string", "int", "number", "bool", "object", "array", "absolute-path", "non-empty", "absent"];

/// All words with an argument.
pub const FORMS: [&str; 3] = ["one-of", "contains", "not"];

/// A compiled pattern.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    pub(super) node: PatternNode,
    /// The pattern as written in the case, for reports.
    written: Value,
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.written.fmt(f)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PatternNode {
    Kind(ValueKind),
    Literal(Value),
    Text(Template),
    Name(String),
    OneOf(Vec<String>),
    Contains(Template),
    Not(Box<Self>),
    Absent,
    Object(Vec<(String, Self)>),
    Array(Vec<Self>),
    /// Items in sequence, with any others where the list continues.
    Part {
        /// Whether others may come before them.
        before: bool,
        items: Vec<Self>,
        /// Whether others may follow them.
        after: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueKind {
    Any,
    String,
    Int,
    Number,
    Bool,
    Object,
    Array,
    AbsolutePath,
    NonEmpty,
}

/// The reason why a value is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternError {
    /// The place in the value, as a JSON pointer.
    pub pointer: String,
    /// The unknown word, if it is a word.
    pub word: String,
    /// The mistake.
    pub message: String,
}

/// The use of a name in a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameUse {
    /// The place in the pattern, as a JSON pointer.
    pub pointer: String,
    /// The name.
    pub name: String,
    /// Whether the pattern gives the name a value if it has none yet.
    pub binds: bool,
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    ///
    /// Every string of the form `<…>` without a meaning.
    pub fn compile(value: &Value) -> Result<Self, Vec<PatternError>> {
        let mut errors = Vec::new();
        let node = PatternNode::compile(value, &mut String::new(), &mut errors);
        if errors.is_empty() { Ok(Self { node, written: value.clone() }) } else { Err(errors) }
    }

    /// Returns the pattern as in the case file.
    pub const fn written(&self) -> &Value {
        &self.written
    }

    /// Returns every name in the pattern, in order.
    pub fn names(&self) -> Vec<NameUse> {
        let mut uses = Vec::new();
        self.node.names(&mut String::new(), true, &mut uses);
        uses
    }
}

impl PatternNode {
    fn compile(value: &Value, pointer: &mut String, errors: &mut Vec<PatternError>) -> Self {
        match value {
            Value::String(text) => Self::compile_text(text).unwrap_or_else(|(word, message)| {
                errors.push(PatternError { pointer: pointer.clone(), word, message });
                Self::Absent
            }),
            Value::Array(items) => {
                let last = items.len().saturating_sub(1);
                let before = items.first().is_some_and(is_gap);
                let after = last > 0 && is_gap(&items[last]);
                let kept = items.iter().enumerate().filter(|(i, _)| !(before && *i == 0 || after && *i == last));
                let nodes = kept.map(|(i, item)| below(pointer, &i.to_string(), |p| Self::compile(item, p, errors)));
                let items = nodes.collect();
                if before || after { Self::Part { before, items, after } } else { Self::Array(items) }
            }
            Value::Object(members) => {
                let members = members.iter();
                let nodes = members
                    .map(|(key, member)| (key.clone(), below(pointer, key, |p| Self::compile(member, p, errors))));
                Self::Object(nodes.collect())
            }
            scalar => Self::Literal(scalar.clone()),
        }
    }

    /// Reads a string of a pattern; the error is the unknown word and its mistake.
    fn compile_text(text: &str) -> Result<Self, (String, String)> {
        let template = || Ok(Self::Text(Template::parse(text)));
        let Some(inner) = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) else {
            return template();
        };
        let (word, argument) = inner.split_once(' ').unwrap_or((inner, ""));
        if FORMS.contains(&word) {
            return Self::compile_form(word, argument);
        }
        if inner.contains(['<', '>']) || inner == "lt" {
            return template();
        }
        if inner == "absent" {
            return Ok(Self::Absent);
        }
        if let Some(kind) = ValueKind::named(inner) {
            return Ok(Self::Kind(kind));
        }
        if is_name(inner) {
            return Ok(Self::Name(inner.to_owned()));
        }
        Err((inner.to_owned(), format!("`<{inner}>` is neither a pattern nor a name")))
    }

    fn compile_form(word: &str, argument: &str) -> Result<Self, (String, String)> {
        let empty = |what: &str| (word.to_owned(), format!("`<{word} …>` needs {what}"));
        match word {
            "one-of" => {
                let choices: Vec<_> = argument.split('|').map(|choice| choice.trim().to_owned()).collect();
                let all_there = choices.iter().all(|choice| !choice.is_empty());
                if all_there { Ok(Self::OneOf(choices)) } else { Err(empty("values with `|` between them")) }
            }
            "contains" if argument.is_empty() => Err(empty("a text")),
            "contains" => Ok(Self::Contains(Template::parse(argument))),
            _ if argument.is_empty() => Err(empty("a value")),
            _ => {
                let inner = Self::compile_text(argument)?;
                let inner = match inner {
                    Self::Text(_) => Self::OneOf(vec![argument.to_owned()]),
                    other => other,
                };
                Ok(Self::Not(Box::new(inner)))
            }
        }
    }

    fn names(&self, pointer: &mut String, binds: bool, uses: &mut Vec<NameUse>) {
        let mut note = |pointer: &str, name: &str, binds| {
            uses.push(NameUse { pointer: pointer.to_owned(), name: name.to_owned(), binds });
        };
        match self {
            Self::Name(name) => note(pointer, name, binds),
            Self::Text(template) | Self::Contains(template) => {
                for name in template.names() {
                    note(pointer, name, false);
                }
            }
            Self::Not(inner) => inner.names(pointer, false, uses),
            Self::Array(items) | Self::Part { items, .. } => {
                let first = usize::from(matches!(self, Self::Part { before: true, .. }));
                for (i, item) in (first..).zip(items) {
                    below(pointer, &i.to_string(), |p| item.names(p, binds, uses));
                }
            }
            Self::Object(members) => {
                for (key, member) in members {
                    below(pointer, key, |p| member.names(p, binds, uses));
                }
            }
            Self::Kind(_) | Self::Literal(_) | Self::OneOf(_) | Self::Absent => {}
        }
    }

    /// Describes the expectation of the node.
    pub fn describe(&self, bindings: &impl Fn(&str) -> Option<Value>) -> String {
        match self {
            Self::Kind(kind) => kind.words().to_owned(),
            Self::Literal(value) => shorten(value),
            Self::Text(template) => {
                let values: Vec<_> = template.names().filter_map(|name| Some((name, bindings(name)?))).collect();
                let get = |wanted: &str| values.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value);
                shorten(&Value::String(template.render_with(get)))
            }
            Self::Name(name) => match bindings(name) {
                Some(value) => format!("<{name}>, which is {}", shorten(&value)),
                None => format!("anything, as <{name}>"),
            },
            Self::OneOf(choices) => match choices.as_slice() {
                [single] => single.clone(),
                several => format!("one of {}", several.join(", ")),
            },
            Self::Contains(template) => {
                format!("a text that contains {}", Self::Text(template.clone()).describe(bindings))
            }
            Self::Not(inner) => format!("anything but {}", inner.describe(bindings)),
            Self::Absent => "nothing".to_owned(),
            Self::Object(_) => "an object".to_owned(),
            Self::Array(items) => format!("a list of {}", items.len()),
            Self::Part { items, .. } if items.is_empty() => "a list".to_owned(),
            Self::Part { before, items, after } => {
                let place = match (before, after) {
                    (false, true) => "begins with",
                    (true, false) => "ends with",
                    _ => "has",
                };
                let items: Vec<_> = items.iter().map(|item| item.describe_item(bindings)).collect();
                format!("a list that {place} {}", items.join(", then "))
            }
        }
    }

    /// Describes the node as an item of a list, which may have other members as well.
    fn describe_item(&self, bindings: &impl Fn(&str) -> Option<Value>) -> String {
        match self {
            Self::Object(members) if !members.is_empty() => {
                let members = members.iter().map(|(name, member)| format!("{name} {}", member.describe(bindings)));
                format!("an item with {}", members.collect::<Vec<_>>().join(", "))
            }
            other => other.describe(bindings),
        }
    }
}

/// Whether this item of a list means any number of items.
fn is_gap(item: &Value) -> bool {
    item.as_str() == Some("<...>")
}

/// Calls `act` one level deeper in a pointer, and restores the pointer.
pub(crate) fn below<T>(pointer: &mut String, token: &str, act: impl FnOnce(&mut String) -> T) -> T {
    let length = pointer.len();
    pointer.push('/');
    pointer.push_str(&token.replace('~', "~0").replace('/', "~1"));
    let result = act(pointer);
    pointer.truncate(length);
    result
}

impl ValueKind {
    fn named(word: &str) -> Option<Self> {
        Some(match word {
            "any" => Self::Any,
            "string" => Self::String,
            "int" => Self::Int,
            "number" => Self::Number,
            "bool" => Self::Bool,
            "object" => Self::Object,
            "array" => Self::Array,
            "absolute-path" => Self::AbsolutePath,
            "non-empty" => Self::NonEmpty,
            _ => return None,
        })
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Any => "anything",
            Self::String => "a string",
            Self::Int => "an integer",
            Self::Number => "a number",
            Self::Bool => "a boolean",
            Self::Object => "an object",
            Self::Array => "a list",
            Self::AbsolutePath => "an absolute path",
            Self::NonEmpty => "something that is not empty",
        }
    }
}

/// Returns the JSON text of a value, shortened to fit a line of a report.
pub(crate) fn shorten(value: &Value) -> String {
    const MOST: usize = 160;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::case::Bindings;

    #[track_caller]
    fn check(pattern: Value, value: Value, exact: bool) -> Result<Bindings, String> {
        let mut bindings = Bindings::new();
        bindings.set("cwd", json!("/w"));
        let pattern = Pattern::compile(&pattern).expect("a match");
        pattern.matches(&value, &mut bindings, exact).map(|()| bindings).map_err(|mismatch| mismatch.to_string())
    }

    #[test]
    fn objects_match_by_subset_or_exactly() {
        assert!(check(json!({"a": 1}), json!({"a": 1.0, "b": 2}), false).is_ok());
        assert_eq!(
            check(json!({"a": 1}), json!({"a": 1, "b": 2}), true).expect_err("a refusal"),
            "/b: expected nothing, found 2"
        );
        assert_eq!(
            check(json!({"a": {"b": "x"}}), json!({"a": {}}), false).expect_err("a refusal"),
            "/a/b: expected \"x\", found nothing"
        );
        assert!(check(json!({"a": "<absent>"}), json!({}), false).is_ok());
        assert!(check(json!({"a": "<absent>"}), json!({"a": null}), false).is_err());
    }

    #[test]
    fn a_list_may_go_on_at_either_end() {
        for (pattern, value, fits) in [
            (json!([1, "<...>"]), json!([1]), true),
            (json!([1, "<...>"]), json!([1, 2]), true),
            (json!([1, "<...>"]), json!([2, 1]), false),
            (json!(["<...>", 1]), json!([2, 1]), true),
            (json!(["<...>", 1]), json!([1, 2]), false),
            (json!(["<...>", 1, "<...>"]), json!([2, 1, 3]), true),
            (json!(["<...>", 1, 3, "<...>"]), json!([1, 2, 1, 3]), true),
            (json!(["<...>", 1, "<...>"]), json!([2]), false),
            (json!(["<...>"]), json!([]), true),
            (json!(["<...>"]), json!("x"), false),
        ] {
            assert_eq!(check(pattern.clone(), value.clone(), false).is_ok(), fits, "{pattern} {value}");
        }
        let differs = |pattern| check(pattern, json!([2, 5]), false).expect_err("a refusal");
        assert_eq!(
            differs(json!([{"a": "<cwd>", "b": 1}, 3, "<...>"])),
            "the value: expected a list that begins with an item with a <cwd>, which is \"/w\", b 1, then 3, found [2,5]"
        );
        assert_eq!(differs(json!(["<...>", 1])), "the value: expected a list that ends with 1, found [2,5]");
        assert_eq!(differs(json!(["<...>", 1, "<...>"])), "the value: expected a list that has 1, found [2,5]");
        let bound = check(json!(["<...>", {"a": "<x>", "b": 1}, "<...>"]), json!([{"a": 1}, {"a": 2, "b": 1}]), false);
        assert_eq!(bound.expect("a match").get("x"), Some(&json!(2)));
    }

    #[test]
    fn names_bind_once_and_only_if_all_matches() {
        let bound = check(json!(["<id>", "<id>"]), json!([{"x": 1}, {"x": 1}]), false).expect("a match");
        assert_eq!(bound.get("id"), Some(&json!({"x": 1})));
        assert_eq!(
            check(json!(["<id>", "<id>"]), json!([1, 2]), false).expect_err("a refusal"),
            "/1: expected <id>, which is 1, found 2"
        );
        let mut bindings = Bindings::new();
        let pattern = Pattern::compile(&json!({"a": "<id>", "b": 1})).expect("a match");
        assert!(pattern.matches(&json!({"a": 1, "b": 2}), &mut bindings, false).is_err());
        assert_eq!(bindings, Bindings::new());
    }

    #[test]
    fn forms_say_what_they_want() {
        let fits = [
            ("<one-of a|b>", json!("b")),
            ("<one-of 1|2>", json!(2)),
            ("<contains <cwd>/x>", json!("see /w/x!")),
            ("<not cancelled>", json!("end_turn")),
            ("<not null>", json!(0)),
            ("<cwd>/x", json!("/w/x")),
            ("<cwd>/x", json!("/w/./x/")),
            ("<cwd>", json!("/w/")),
            ("<lt>any>", json!("<any>")),
            ("<non-empty>", json!([0])),
            ("<absolute-path>", json!("C:\\x")),
            ("<int>", json!(3)),
            ("a < b", json!("a < b")),
        ];
        for (pattern, value) in fits {
            assert!(check(json!(pattern), value, false).is_ok(), "{pattern}");
        }
        let unfit = [
            ("<one-of a|b>", json!("c"), "the value: expected one of a, b, found \"c\""),
            ("<not cancelled>", json!("cancelled"), "the value: expected anything but cancelled, found \"cancelled\""),
            ("<contains <cwd>>", json!("x"), "the value: expected a text that contains \"/w\", found \"x\""),
            ("<int>", json!(1.5), "the value: expected an integer, found 1.5"),
        ];
        for (pattern, value, want) in unfit {
            assert_eq!(check(json!(pattern), value, false).expect_err("a refusal"), want);
        }
    }

    #[test]
    fn what_means_nothing_is_refused() {
        let errors = Pattern::compile(&json!({"a": ["<Foo>"], "b": "<one-of a|>"})).expect_err("a refusal");
        let places: Vec<_> = errors.iter().map(|error| error.pointer.as_str()).collect();
        assert_eq!(places, ["/a/0", "/b"]);
    }
}
