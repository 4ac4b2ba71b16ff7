//! The words for a pattern of a case, in sentences about steps. `cases/README.md` describes patterns.

use serde_json::{Map, Value};

/// The item of a list that stands for any further ones.
const GAP: &str = "<...>";

/// Describes the members of a pattern, such as `` `code` other than -32000 ``; `None` if it is not an object or all of
/// its values are literal, so that the JSON is easier to read.
pub(super) fn member_words(pattern: &Value) -> Option<String> {
    let members = pattern.as_object().filter(|_| has_form(pattern))?;
    Some(object_words(members))
}

/// Whether a pattern has a part that is not literal, apart from the names of a case.
fn has_form(pattern: &Value) -> bool {
    match pattern {
        Value::String(text) => form(text).is_some(),
        Value::Array(items) => items.iter().any(has_form),
        Value::Object(members) => members.values().any(has_form),
        _ => false,
    }
}

fn object_words(members: &Map<String, Value>) -> String {
    let parts: Vec<String> = members.iter().map(|(name, value)| member(name, value)).collect();
    joined(&parts)
}

fn member(name: &str, value: &Value) -> String {
    match value {
        Value::String(text) => match form(text) {
            Some("absent") => format!("no `{name}`"),
            Some("any") => format!("`{name}`"),
            _ => format!("`{name}` {}", text_words(text)),
        },
        // The names of one nested member are one path.
        Value::Object(inner) => match inner.iter().next().filter(|_| inner.len() == 1) {
            Some((below, value)) => member(&format!("{name}.{below}"), value),
            None => format!("`{name}` that has {}", object_words(inner)),
        },
        Value::Array(items) => {
            let items = items.iter().filter(|item| *item != GAP);
            let items: Vec<String> = items.map(item_words).collect();
            format!("an item in `{name}` {}", joined(&items))
        }
        literal => format!("`{name}` {literal}"),
    }
}

fn item_words(item: &Value) -> String {
    match item {
        Value::Object(members) => format!("with {}", object_words(members)),
        Value::String(text) => text_words(text),
        literal => literal.to_string(),
    }
}

/// Describes a text of a pattern: what follows the name of its member.
fn text_words(text: &str) -> String {
    let Some(form) = form(text) else { return literal(text) };
    let (word, argument) = form.split_once(' ').unwrap_or((form, ""));
    match word {
        "any" => "of any value".to_owned(),
        "non-empty" => "that is not empty".to_owned(),
        "contains" => format!("that contains {}", literal(argument)),
        "one-of" => choices(argument),
        "not" => format!("other than {}", text_words(argument)),
        kind => format!("of the type {kind}"),
    }
}

/// Returns the word between the brackets if the text is a kind or a form, and not a name or a literal.
fn form(text: &str) -> Option<&str> {
    const KINDS: [&str; 10] =
        ["any", "string", "int", "number", "bool", "object", "array", "absolute-path", "non-empty", "absent"];
    const FORMS: [&str; 3] = ["one-of ", "contains ", "not "];
    let inner = text.strip_prefix('<')?.strip_suffix('>')?;
    (KINDS.contains(&inner) || FORMS.iter().any(|form| inner.starts_with(form))).then_some(inner)
}

fn choices(argument: &str) -> String {
    let all: Vec<String> = argument.split('|').map(literal).collect();
    all.join(" or ")
}

/// Returns a number as it is, and a text in quotes.
fn literal(text: &str) -> String {
    if text.parse::<f64>().is_ok() { text.to_owned() } else { Value::from(text).to_string() }
}

fn joined(parts: &[String]) -> String {
    match parts {
        [before, last] => format!("{before} and {last}"),
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => parts.concat(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn patterns_are_described_in_words() {
        let words = |pattern: Value| member_words(&pattern).expect("a pattern with a form");
        assert_eq!(words(json!({"code": "<not <one-of -32000>>"})), "`code` other than -32000");
        assert_eq!(words(json!({"code": "<one-of -32602|-32002>"})), "`code` -32602 or -32002");
        let diff = json!({"oldText": "<non-empty>", "path": "<cwd>/new.txt", "type": "diff"});
        assert_eq!(
            words(json!({"update": {"content": ["<...>", diff, "<...>"]}})),
            "an item in `update.content` with `oldText` that is not empty, `path` \"<cwd>/new.txt\" and `type` \"diff\""
        );
        assert_eq!(
            words(json!({"a": "<absent>", "b": {"c": 1, "d": "<any>"}, "e": "<int>"})),
            "no `a`, `b` that has `c` 1 and `d` and `e` of the type int"
        );
        assert_eq!(words(json!({"text": "<contains gamma>"})), "`text` that contains \"gamma\"");
    }

    #[test]
    fn literal_patterns_stay_json() {
        assert_eq!(member_words(&json!({"stopReason": "cancelled", "sessionId": "<session>"})), None);
        assert_eq!(member_words(&json!("<any>")), None);
    }
}
