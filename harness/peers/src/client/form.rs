//! Forms of elicitations: the user fills in the required fields and those with a default.

use std::collections::BTreeMap;

use agent_client_protocol::v1::schema::{
    ElicitationContentValue, ElicitationPropertySchema, ElicitationSchema, IntegerPropertySchema, MultiSelectItems,
    MultiSelectPropertySchema, NumberPropertySchema, StringFormat, StringPropertySchema,
};

/// Fills in required fields and those with a default; `None` if it cannot fill in a required field.
pub(super) fn fill_in(schema: &ElicitationSchema) -> Option<BTreeMap<String, ElicitationContentValue>> {
    let required = schema.required.as_deref().unwrap_or_default();
    let mut content = BTreeMap::new();
    for (name, property) in &schema.properties {
        match value_for(property) {
            Some(value) => drop(content.insert(name.clone(), value)),
            None if required.contains(name) => return None,
            None => {}
        }
    }
    required.iter().all(|name| content.contains_key(name)).then_some(content)
}

fn value_for(property: &ElicitationPropertySchema) -> Option<ElicitationContentValue> {
    match property {
        ElicitationPropertySchema::String(property) => text_for(property).map(ElicitationContentValue::String),
        ElicitationPropertySchema::Number(property) => number_for(property).map(ElicitationContentValue::Number),
        ElicitationPropertySchema::Integer(property) => integer_for(property).map(ElicitationContentValue::Integer),
        ElicitationPropertySchema::Boolean(property) => {
            Some(ElicitationContentValue::Boolean(property.default.unwrap_or(true)))
        }
        ElicitationPropertySchema::Array(property) => choices_for(property).map(ElicitationContentValue::StringArray),
        // A property of an unknown type is not a field for a user.
        _ => None,
    }
}

fn text_for(property: &StringPropertySchema) -> Option<String> {
    let titled = property.one_of.iter().flatten().map(|option| option.value.clone());
    let choices: Vec<String> = property.enum_values.iter().flatten().cloned().chain(titled).collect();
    let fits = |text: &String| {
        let length = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
        property.min_length.is_none_or(|least| length >= least) && property.max_length.is_none_or(|most| length <= most)
    };
    if !choices.is_empty() {
        let default = property.default.clone().filter(|default| choices.contains(default));
        return default.or_else(|| choices.into_iter().find(fits));
    }
    // The agent considers a default a valid answer.
    if let Some(default) = property.default.clone().filter(fits) {
        return Some(default);
    }
    let text = match (&property.pattern, &property.format) {
        // Only a default reveals a text that fits a pattern.
        (Some(_), _) => return None,
        (None, Some(StringFormat::Email)) => "user@example.com".to_owned(),
        (None, Some(StringFormat::Uri)) => "https://example.com/".to_owned(),
        (None, Some(StringFormat::Date)) => "2000-01-31".to_owned(),
        (None, Some(StringFormat::DateTime)) => "2000-01-31T12:00:00Z".to_owned(),
        (None, Some(_)) => return None,
        (None, None) => plain_text(property),
    };
    Some(text).filter(fits)
}

fn plain_text(property: &StringPropertySchema) -> String {
    let least = property.min_length.unwrap_or(0) as usize;
    let most = property.max_length.unwrap_or(u32::MAX) as usize;
    let text: String = "text".chars().take(most).collect();
    let missing = least.saturating_sub(text.len());
    text + &"x".repeat(missing)
}

fn number_for(property: &NumberPropertySchema) -> Option<f64> {
    let fits = |number: &f64| {
        property.minimum.is_none_or(|least| *number >= least) && property.maximum.is_none_or(|most| *number <= most)
    };
    [property.default, Some(0.0), property.minimum, property.maximum].into_iter().flatten().find(fits)
}

fn integer_for(property: &IntegerPropertySchema) -> Option<i64> {
    let fits = |number: &i64| {
        property.minimum.is_none_or(|least| *number >= least) && property.maximum.is_none_or(|most| *number <= most)
    };
    [property.default, Some(0), property.minimum, property.maximum].into_iter().flatten().find(fits)
}

fn choices_for(property: &MultiSelectPropertySchema) -> Option<Vec<String>> {
    let offered: Vec<String> = match &property.items {
        MultiSelectItems::String(items) => items.values.clone(),
        MultiSelectItems::Titled(items) => items.options.iter().map(|option| option.value.clone()).collect(),
        _ => return None,
    };
    let least = usize::try_from(property.min_items.unwrap_or(0)).ok()?;
    let most = property.max_items.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    let fits = |chosen: &Vec<String>| {
        (least..=most).contains(&chosen.len()) && chosen.iter().all(|choice| offered.contains(choice))
    };
    let default = property.default.clone().filter(fits);
    default.or_else(|| Some(offered.iter().take(least).cloned().collect()).filter(fits))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn filled(schema: Value) -> Option<Value> {
        let schema = serde_json::from_value(schema).expect("a schema");
        fill_in(&schema).map(|content| serde_json::to_value(content).expect("content"))
    }

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
        assert_eq!(filled(schema), Some(wanted));
    }

    #[test]
    fn a_form_that_cannot_be_filled_in_is_declined() {
        let schema = json!({"type": "object", "required": ["odd"], "properties": {"odd": {"type": "_dial"}}});
        assert_eq!(filled(schema), None);
    }
}
