//! The schema of case files for editors, which read a file before the values of its matrix are inserted.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::case::file::CaseFile;
use crate::case::includes::{self, CONTEXTS};
use crate::case::matrix::reference::PATTERN as REFERENCE;
use crate::case::vocabulary::{INTENTS, Vocabulary};
use crate::document::shape;
use crate::edition::Editions;

/// The JSON Schema of a case file, as it is committed in `schemas/case.schema.json`: a value of the matrix is allowed
/// anywhere except in the matrix. The values that replace it in a shape are compared with the schema of its types.
pub fn schema() -> Value {
    let mut schema = shape::schema::<CaseFile>();
    let matrix = schema.pointer("/$defs/MatrixFile").cloned();
    list_words(&mut schema);
    allow_references(&mut schema);
    if let (Some(Value::Object(definitions)), Some(matrix)) = (schema.get_mut("$defs"), matrix) {
        definitions.insert("MatrixFile".to_owned(), matrix);
    }
    schema
}

/// Lists the known words where a case names a requirement, a context, a method, an include or an intent. Other methods
/// and includes stay allowed: a line may violate the protocol, and a folder of cases may have includes.
fn list_words(schema: &mut Value) {
    let built_in = Editions::built_in();
    let editions = || built_in.all().iter().copied();
    let catalogues = editions().flat_map(|bundle| bundle.catalogue().iter());
    let requirements: BTreeSet<&str> = catalogues.map(|known| known.id.as_str()).collect();
    let methods: BTreeSet<String> = editions().flat_map(|bundle| Vocabulary::of(bundle.edition()).methods).collect();
    let names: BTreeSet<String> = editions().flat_map(includes::names).collect();
    let contexts: BTreeSet<&str> = names.iter().filter_map(|name| name.strip_prefix(CONTEXTS)).collect();
    let includes: BTreeSet<&String> = names.iter().filter(|name| !name.starts_with(CONTEXTS)).collect();
    let prompt = json!({ "properties": { "intent": { "enum": INTENTS } } });
    let prompts = json!({ "prompt": { "properties": prompt["properties"], "items": prompt } });
    let open = |words: Value| json!([{ "enum": words }, { "type": "string" }]);
    let words = [
        ("/properties/requirements/items", "enum", json!(requirements)),
        ("/properties/contexts/items", "enum", json!(contexts)),
        ("/$defs/StepFile/properties/include", "anyOf", open(json!(includes))),
        ("/$defs/LineFile/properties/method", "anyOf", open(json!(methods))),
        ("/$defs/LineFile/properties/params", "properties", prompts),
    ];
    for (place, key, words) in words {
        let node = schema.pointer_mut(place).and_then(Value::as_object_mut);
        let node = node.unwrap_or_else(|| unreachable!("{place} is generated from the types"));
        node.remove("type");
        node.insert(key.to_owned(), words);
    }
}

/// Allows a reference to the matrix wherever a value has a type.
fn allow_references(schema: &mut Value) {
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
