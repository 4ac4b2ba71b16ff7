//! The differences between a payload and its definition.

use serde_json::Value;

/// One way in which a payload differs from its definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// JSON pointer to the wrong place; for a missing member, to its expected place.
    pub at: String,
    /// The kind of difference.
    pub kind: ProblemKind,
    /// The strings of the closed set, or the allowed JSON types.
    pub expected: Vec<String>,
    /// The JSON type of a value of the wrong type, and otherwise the start of the value; `None` if it is missing.
    pub actual: Option<String>,
    /// The start of the value, as JSON; `None` if it is missing.
    pub value: Option<String>,
    /// A sentence fragment for people, with our own words and not those of a dependency.
    pub message: String,
}

impl Problem {
    /// Describes a value outside of a closed set, or a tag that names no variant.
    pub(super) fn not_in_set(at: String, value: &Value, set: &[&Value]) -> Self {
        let values: Vec<String> = set.iter().map(ToString::to_string).collect();
        let expected = set.iter().filter_map(|value| value.as_str()).map(str::to_owned).collect();
        let actual = shorten(value);
        let message = format!("{actual} is not one of {}", values.join(", "));
        let value = Some(actual.clone());
        Self { at, kind: ProblemKind::NotInSet, expected, actual: Some(actual), value, message }
    }

    /// A value that is not in a set to which a party may only add values with an underscore.
    pub(super) fn not_in_open_set(at: String, value: &Value, set: &[&Value]) -> Self {
        let mut problem = Self::not_in_set(at, value, set);
        problem.message.push_str("; a value of an implementation's own begins with `_`");
        problem
    }

    /// Returns what the schema allows here, as the end of a sentence about the value.
    pub(crate) fn wanted(&self) -> String {
        let subject = self.value.as_deref().unwrap_or_default();
        let rest = || self.message.strip_prefix(subject).unwrap_or(&self.message).trim_start().to_owned();
        match self.kind {
            ProblemKind::Missing => "the schema requires it".to_owned(),
            ProblemKind::NotInSet => match rest().strip_prefix("is not one of ") {
                Some(set) if set.contains(',') => format!("expected one of {set}"),
                Some(value) => format!("expected {value}"),
                None => self.message.clone(),
            },
            ProblemKind::WrongType => {
                let types = self.expected.iter().map(|name| match name.as_str() {
                    "null" => "null".to_owned(),
                    "array" | "integer" | "object" => format!("an {name}"),
                    _ => format!("a {name}"),
                });
                format!("expected {}", types.collect::<Vec<_>>().join(" or "))
            }
            ProblemKind::Other => format!("it {}", rest()),
        }
    }

    /// Whether this is a null capability of the client. Receivers use the default instead, so such a message is not a
    /// violation, and shows whether null counts as not advertised.
    pub fn is_null_capability(&self, params: &Value) -> bool {
        self.at.starts_with("/clientCapabilities/") && params.pointer(&self.at).is_some_and(Value::is_null)
    }
}

/// The kinds of difference, by which findings are assigned to requirements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemKind {
    /// A required member is missing.
    Missing,
    /// The value is not in a closed set, or its tag names no variant.
    NotInSet,
    /// The value has another JSON type.
    WrongType,
    /// Another violation of the schema.
    Other,
}

/// Returns the JSON of a value, shortened to 200 characters to keep messages readable.
pub(super) fn shorten(value: &Value) -> String {
    const LONGEST: usize = 200;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}
