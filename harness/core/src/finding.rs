//! A finding of a check, as data: a kind, fields, and the sentence rendered from them.

mod ruling;
mod streams;

use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

pub(crate) use self::ruling::Unread;
pub use self::ruling::{Doubt, Finding, Proved, Ruling, Tally};
pub(crate) use self::streams::Streams;
use crate::fact;
use crate::protocol::{Problem, ProblemKind};
use crate::requirement::Party;

/// The observation of a check at one place: a stable kind, fields, and the template of the sentence.
///
/// Programs read the kind and the fields. The sentence is for people, may change with every version, and is rendered
/// only when needed. [`fact!`](crate::fact) makes one.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// The name of the observation, in words with hyphens, such as `relative-path`. One requirement has a kind for each
    /// way in which it can be violated or left open; a kind keeps its meaning from version to version.
    pub kind: &'static str,
    /// The sentence, with `{name}` for each field.
    template: &'static str,
    fields: Vec<(&'static str, Value)>,
}

impl Fact {
    /// Used by [`fact!`](crate::fact), which checks that the template names these fields.
    #[doc(hidden)]
    pub const fn new(kind: &'static str, template: &'static str, fields: Vec<(&'static str, Value)>) -> Self {
        Self { kind, template, fields }
    }

    /// Returns the fact that a params or a result of a party differs from the schema. The pointer begins at the root of
    /// the params or the result.
    pub(crate) fn of_problem(party: Party, method: &str, is_result: bool, problem: &Problem) -> Self {
        let name = problem.at.rsplit('/').next().filter(|name| name.parse::<usize>().is_err());
        let name = name.map(|name| name.replace("~1", "/").replace("~0", "~")).unwrap_or_default();
        let value = problem.value.as_deref().unwrap_or_default();
        let sent = match problem.kind {
            ProblemKind::Missing => format!("no {name}"),
            _ => format!("{name} {value}").trim().to_owned(),
        };
        let mut fact = fact!(
            "invalid-value",
            "the {party} sent {sent} in {part} at {place}; {problem}",
            party,
            sent,
            part = if is_result { format!("the result of {method}") } else { method.to_owned() },
            place = place(&problem.at),
            problem = problem.wanted();
            method = method,
            pointer = problem.at,
            expected = problem.expected,
            actual = problem.actual
        );
        fact.kind = match problem.kind {
            ProblemKind::Missing => "missing-member",
            ProblemKind::NotInSet => "unknown-value",
            ProblemKind::WrongType => "wrong-type",
            ProblemKind::Other => "invalid-value",
        };
        fact
    }

    /// Returns the note on a probe whose statement holds.
    pub fn holds() -> Self {
        fact!("holds", "it holds")
    }

    /// Returns the value of a field.
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Returns the fields as in a report, with their names in camel case.
    pub fn fields(&self) -> Map<String, Value> {
        self.fields.iter().map(|(name, value)| (camel_case(name), value.clone())).collect()
    }

    /// Whether a field holds a character in the place of bytes that could not be decoded.
    pub(crate) fn has_damaged_text(&self) -> bool {
        self.fields.iter().any(|(_, value)| value.to_string().contains(char::REPLACEMENT_CHARACTER))
    }

    /// Renders the sentence: `the agent sent session/update, and the client did not …`, without a full stop.
    pub fn text(&self) -> String {
        let mut text = String::with_capacity(self.template.len() * 2);
        let mut rest = self.template;
        while let Some(at) = rest.find(['{', '}']) {
            text.push_str(&rest[..at]);
            let brace = &rest[at..=at];
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix(brace) {
                // A doubled brace means a single one, as in `format!`.
                text.push_str(brace);
                rest = after;
            } else if let Some((name, after)) = rest.split_once('}') {
                let value = self.field(name);
                let duration = value.and_then(Value::as_u64).filter(|_| name.ends_with("_ms"));
                text.push_str(&duration.map(duration_words).or_else(|| value.map(plain)).unwrap_or_default());
                rest = after;
            }
        }
        text.push_str(rest);
        text
    }
}

fn place(pointer: &str) -> &str {
    if pointer.is_empty() { "its root" } else { pointer }
}

/// Converts a value to a field; values without a JSON form become null.
#[doc(hidden)]
pub fn field<T: Serialize + ?Sized>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

/// Returns a value as in a sentence: a string as it is, a list with commas, and anything else as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// Returns a number of milliseconds with its unit: from a second on, in seconds.
fn duration_words(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        _ => format!("{} s", Duration::from_millis(ms / 100 * 100).as_secs_f64()),
    }
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |text, word| {
        let (head, tail) = word.split_at(word.len().min(1));
        text + &head.to_ascii_uppercase() + tail
    })
}

/// Makes a [`Fact`]: its kind, the template of its sentence, and the fields that the template names. Fields after a
/// semicolon are data only. A field without a value takes the variable of that name. A duration is a number of
/// milliseconds in a field with a name such as `after_ms`; the sentence has it with its unit.
///
/// ```
/// let path = "notes.txt";
/// let fact = acp_conformance_core::fact!("relative-path", "the path is `{path}`; expected an absolute one", path; line
/// = 3); assert_eq!(fact.text(), "the path is `notes.txt`; expected an absolute one");
/// assert_eq!(fact.fields()["line"], 3);
/// ```
///
/// A template that names no field of the fact, or a field that it does not name, is an error of the compiler:
///
/// ```compile_fail
/// let fact = acp_conformance_core::fact!("relative-path", "the path is `{pth}`", path = "notes.txt");
/// ```
#[macro_export]
macro_rules! fact {
    ($kind:literal, $template:literal $(, $name:ident $(= $value:expr)?)* $(; $($more:ident = $data:expr),+)? $(,)?) => {{
        // The compiler compares the template with the names; this formats nothing.
        const _: fn() = || {
            $(let $name = "";)*
            let _ = ::std::format!($template $(, $name = $name)*);
        };
        $crate::finding::Fact::new(
            $kind,
            $template,
            ::std::vec![
                $((::std::stringify!($name), $crate::fact!(@value $name $(= $value)?)),)*
                $($((::std::stringify!($more), $crate::finding::field(&$data)),)+)?
            ],
        )
    }};
    (@value $name:ident = $value:expr) => { $crate::finding::field(&$value) };
    (@value $name:ident) => { $crate::finding::field(&$name) };
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn renders_fields_by_their_types() {
        let after_ms = 250_u64;
        let methods = ["fs/read_text_file", "terminal/create"];
        let fact = fact!("late", "{methods} came {after_ms} late: {{{value}}}", methods, after_ms, value = json!({"a": 1}); by = "agent");
        assert_eq!(fact.text(), r#"fs/read_text_file, terminal/create came 250 ms late: {{"a":1}}"#);
        assert_eq!(fact.kind, "late");
        let fields = json!({ "methods": methods, "afterMs": 250, "value": { "a": 1 }, "by": "agent" });
        assert_eq!(serde_json::Value::Object(fact.fields()), fields);
        let slow = |after_ms: u64| fact!("late", "it came after {after_ms}", after_ms).text();
        assert_eq!(
            [999, 5000, 12_345].map(slow),
            ["it came after 999 ms", "it came after 5 s", "it came after 12.3 s"]
        );
        assert_eq!(fact!("plain", "nothing to fill in").text(), "nothing to fill in");
    }
}
