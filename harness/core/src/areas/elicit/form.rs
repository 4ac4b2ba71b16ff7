//! Compares the content of an accepted form with the schema that the agent requested.

use serde_json::{Map, Value, json};

use crate::fact;
use crate::finding::Fact;
use crate::protocol::escaped;
use crate::wire::Members;

/// Returns the names of the required fields.
pub(super) fn required(schema: &Value) -> impl Iterator<Item = &str> {
    let names = schema.list("required").iter().filter_map(Value::as_str);
    names.filter(|name| schema.member("properties").is_some_and(|fields| fields.member(name).is_some()))
}

/// Returns the first difference between the content and the form. A null counts as absent; patterns and formats are not
/// compared.
pub(super) fn departure(schema: &Value, content: &Map<String, Value>) -> Option<Fact> {
    let filled = |name: &str| content.member(name).is_some_and(|value| !value.is_null());
    if let Some(name) = required(schema).find(|name| !filled(name)) {
        return Some(fact!(
            "missing-field",
            "the client accepted a form without the field `{field}`; expected it, since the form requires it",
            field = name; pointer = pointer(name)
        ));
    }
    let fields = schema.member("properties").and_then(Value::as_object).into_iter().flatten();
    let given = fields.filter(|(name, _)| filled(name));
    given
        .filter_map(|(name, schema)| Some((Field { name, schema }, content.member(name)?)))
        .find_map(|(field, value)| field.mistake(value))
}

fn pointer(field: &str) -> String {
    format!("/result/content/{}", escaped(field))
}

/// A field of the form, with its part of the schema.
struct Field<'f> {
    name: &'f str,
    schema: &'f Value,
}

impl Field<'_> {
    /// Returns the first mistake in the value of the field.
    fn mistake(&self, value: &Value) -> Option<Fact> {
        let expected = self.schema.text("type")?;
        match (expected, value) {
            ("string", Value::String(text)) => self.text_mistake(text),
            ("integer", Value::Number(number)) if number.as_f64().is_some_and(|number| number.fract() != 0.0) => {
                Some(self.wrong_type(value, expected))
            }
            ("number" | "integer", Value::Number(_)) => self.range_mistake(value, ["minimum", "maximum"]),
            ("array", Value::Array(items)) => {
                let choices = self.schema.member("items");
                let wrong_choice = |item: &Value| self.choice_mistake(choices?, item.as_str()?);
                let count = self.range_mistake(&json!(items.len()), ["minItems", "maxItems"]);
                count.or_else(|| items.iter().find_map(wrong_choice))
            }
            ("boolean", Value::Bool(_)) => None,
            ("string" | "number" | "integer" | "boolean" | "array", _) => Some(self.wrong_type(value, expected)),
            // This edition does not know the type.
            _ => None,
        }
    }

    fn wrong_type(&self, actual: &Value, expected: &str) -> Fact {
        fact!(
            "wrong-type",
            "the client sent {actual} for the field `{field}` of a form; expected the type {expected}",
            actual, field = self.name, expected; pointer = pointer(self.name)
        )
    }

    /// Checks a text. Its length counts characters; other programs count UTF-16 units, of which there are never fewer.
    fn text_mistake(&self, text: &str) -> Option<Fact> {
        let short = self.range_mistake(&json!(text.encode_utf16().count()), ["minLength", ""]);
        let long = || self.range_mistake(&json!(text.chars().count()), ["", "maxLength"]);
        short.or_else(long).or_else(|| self.choice_mistake(self.schema, text))
    }

    fn range_mistake(&self, actual: &Value, [least, most]: [&str; 2]) -> Option<Fact> {
        let number = actual.as_f64()?;
        let is_low = self.schema.get(least).and_then(Value::as_f64).is_some_and(|bound| number < bound);
        let is_high = || self.schema.get(most).and_then(Value::as_f64).is_some_and(|bound| number > bound);
        let limit = if is_low { least } else { Some(most).filter(|_| is_high())? };
        let expected = self.schema.get(limit);
        Some(fact!(
            "out-of-range",
            "the client filled the field `{field}` of a form with {actual}; expected {expected} as its {limit}",
            field = self.name, actual, limit, expected; pointer = pointer(self.name)
        ))
    }

    /// Returns the fact for a text that is not one of the choices, if the schema lists any.
    fn choice_mistake(&self, schema: &Value, actual: &str) -> Option<Fact> {
        let list = |name: &str| schema.list(name).iter();
        let titled = list("oneOf").chain(list("anyOf")).filter_map(|choice| choice.text("const"));
        let choices: Vec<&str> = list("enum").filter_map(Value::as_str).chain(titled).collect();
        if choices.is_empty() || choices.contains(&actual) {
            return None;
        }
        Some(fact!(
            "unlisted-choice",
            "the client chose `{actual}` for the field `{field}` of a form; expected one of {expected}",
            actual, field = self.name, expected = choices; pointer = pointer(self.name)
        ))
    }
}
