//! The schema of case files for editors, which read a file before the values of its matrix are inserted.

use serde_json::{Map, Value, json};

use crate::case::matrix::reference::PATTERN as REFERENCE;

/// Allows a reference to the matrix wherever a value has a type.
pub(super) fn allow_references(schema: &mut Value) {
    let Value::Object(node) = schema else { return };
    for key in ["$defs", "properties"] {
        if let Some(Value::Object(parts)) = node.get_mut(key) {
            parts.values_mut().for_each(allow_references);
        }
    }
    for key in ["items", "additionalProperties"] {
        node.get_mut(key).map(allow_references);
    }
    if !node.contains_key("$schema") {
        allow_reference(node);
    }
}

fn allow_reference(node: &mut Map<String, Value>) {
    if let Some(closed) = ["enum", "const"].into_iter().find_map(|key| node.remove_entry(key)) {
        node.remove("type");
        node.insert("anyOf".to_owned(), json!([Map::from_iter([closed]), { "type": "string", "pattern": REFERENCE }]));
        return;
    }
    let mut kinds = match node.get("type") {
        Some(Value::String(one)) => vec![json!(one)],
        Some(Value::Array(several)) => several.clone(),
        _ => return,
    };
    let is_text = kinds.contains(&json!("string"));
    let pattern = match node.get("pattern").and_then(Value::as_str) {
        Some(own) => format!("{own}|{REFERENCE}"),
        None if is_text => return,
        None => REFERENCE.to_owned(),
    };
    if !is_text {
        kinds.push(json!("string"));
        node.insert("type".to_owned(), Value::Array(kinds));
    }
    node.insert("pattern".to_owned(), Value::String(pattern));
}
