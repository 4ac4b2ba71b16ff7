//! Forms of elicitations: the user fills in the required fields and those with a default.

use serde_json::{Map, Value, json};

/// Fills in required fields and those with a default or a plain value; `None` if it cannot fill in a required field.
pub(super) fn fill_in(schema: &Value) -> Option<Map<String, Value>> {
    let mut content = Map::new();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        // A field of an unknown type is not a field for a user.
        let Ok(validator) = jsonschema::validator_for(field) else { continue };
        if let Some(value) = candidates(field).into_iter().find(|value| validator.is_valid(value)) {
            content.insert(name.clone(), value);
        }
    }
    let mut required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    required.all(|name| content.contains_key(name)).then_some(content)
}

/// Lists values that a user may enter, the best first; not all of them are valid.
fn candidates(field: &Value) -> Vec<Value> {
    // The agent considers a default a valid answer.
    let mut values = vec![field["default"].clone()];
    match field["type"].as_str() {
        Some("string") => match choices(field) {
            choices if !choices.is_empty() => values.extend(choices),
            _ => values.extend(text(field)),
        },
        Some("number") => values.extend([json!(0.0), field["minimum"].clone(), field["maximum"].clone()]),
        Some("integer") => values.extend([json!(0), field["minimum"].clone(), field["maximum"].clone()]),
        Some("boolean") => values.push(json!(true)),
        Some("array") => {
            let least = usize::try_from(field["minItems"].as_u64().unwrap_or(0)).unwrap_or(usize::MAX);
            values.push(choices(&field["items"]).into_iter().take(least).collect());
        }
        _ => {}
    }
    values
}

/// Lists the choices of a field: plain ones, or those with titles.
fn choices(field: &Value) -> Vec<Value> {
    let titled = [&field["oneOf"], &field["anyOf"]].into_iter().filter_map(Value::as_array).flatten();
    let plain = field["enum"].as_array().into_iter().flatten();
    plain.chain(titled.map(|choice| &choice["const"])).cloned().collect()
}

/// Invents a text; only a default reveals one that fits a pattern.
fn text(field: &Value) -> Option<Value> {
    let length = |name: &str| field[name].as_u64().and_then(|length| usize::try_from(length).ok());
    match (field["pattern"].as_str(), field["format"].as_str()) {
        (Some(_), _) => None,
        (None, Some("email")) => Some(json!("user@example.com")),
        (None, Some("uri")) => Some(json!("https://example.com/")),
        (None, Some("date")) => Some(json!("2000-01-31")),
        (None, Some("date-time")) => Some(json!("2000-01-31T12:00:00Z")),
        (None, Some(_)) => None,
        (None, None) => {
            let text: String = "text".chars().take(length("maxLength").unwrap_or(usize::MAX)).collect();
            // No text longer than the largest width is invented.
            let least = length("minLength").unwrap_or(0).min(u16::MAX.into());
            Some(json!(format!("{text:x<least$}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_filled_in_as_they_want_it() {
        let schema = json!({"type": "object", "required": ["name", "size", "tags"], "properties": {
            "name": {"type": "string", "minLength": 6},
            "colour": {"type": "string", "enum": ["red", "blue"], "default": "blue"},
            "size": {"type": "integer", "minimum": 3, "maximum": 9},
            "ratio": {"type": "number", "maximum": -1.5},
            "sure": {"type": "boolean", "default": false},
            "tags": {"type": "array", "minItems": 1, "items": {"type": "string", "enum": ["a", "b"]}},
            "odd": {"type": "_dial"},
        }});
        let wanted = json!({
            "name": "textxx", "colour": "blue", "size": 3, "ratio": -1.5, "sure": false, "tags": ["a"],
        });
        assert_eq!(fill_in(&schema).map(Value::Object), Some(wanted));
    }

    #[test]
    fn a_form_that_cannot_be_filled_in_is_declined() {
        let schema = json!({"type": "object", "required": ["odd"], "properties": {"odd": {"type": "_dial"}}});
        assert_eq!(fill_in(&schema), None);
    }
}
