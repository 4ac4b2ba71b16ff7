//! What changed between two revisions of the protocol's schema.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::wire::Members;

/// A definition that differs between two revisions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinitionChange {
    /// Its name, such as `IdleStateUpdate`.
    pub name: String,
    /// What happened to it.
    pub kind: DefinitionChangeKind,
    /// The differences; of a definition that only one revision has, the sentences with rules.
    pub differences: Vec<Difference>,
}

/// What happened to a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinitionChangeKind {
    /// Only the newer revision has it.
    Added,
    /// Only the older revision has it.
    Removed,
    /// Both have it.
    Changed,
}

/// One difference of a definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The place in the definition, such as `background.items`; empty for the definition itself.
    pub place: String,
    /// The older content, if it was changed or removed: JSON, or a sentence of a description.
    pub old: Option<String>,
    /// The newer content, if it was changed or added.
    pub new: Option<String>,
}

/// Compares the definitions of two schemas, by name.
#[must_use]
pub fn compare_schemas(old: &Value, new: &Value) -> Vec<DefinitionChange> {
    let (old, new) = (definitions(old), definitions(new));
    let names: BTreeSet<&String> = old.keys().chain(new.keys()).copied().collect();
    let change = |name: &&String| {
        let mut differences = Vec::new();
        let kind = match (old.get(*name), new.get(*name)) {
            (Some(old), Some(new)) => {
                walk("", old, new, &mut differences);
                DefinitionChangeKind::Changed
            }
            (old, new) => {
                rules("", *old.or(new)?, new.is_some(), &mut differences);
                if new.is_some() { DefinitionChangeKind::Added } else { DefinitionChangeKind::Removed }
            }
        };
        let is_same = kind == DefinitionChangeKind::Changed && differences.is_empty();
        (!is_same).then(|| DefinitionChange { name: (*name).clone(), kind, differences })
    };
    names.iter().filter_map(change).collect()
}

fn definitions(schema: &Value) -> BTreeMap<&String, &Value> {
    let all = schema.member("$defs").and_then(Value::as_object);
    all.into_iter().flatten().collect()
}

fn walk(place: &str, old: &Value, new: &Value, found: &mut Vec<Difference>) {
    match (old, new) {
        (old, new) if old == new => {}
        (Value::Object(old), Value::Object(new)) => {
            let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for name in names {
                match (old.get(name), new.get(name)) {
                    (Some(Value::String(old)), Some(Value::String(new))) if name == "description" => {
                        sentences(place, old, new, found);
                    }
                    (Some(old), Some(new)) => walk(&below(place, name), old, new, found),
                    (old, new) => one_sided(&below(place, name), old, new, found),
                }
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            let (old, new) = (labelled(old), labelled(new));
            let labels: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for label in labels {
                let place = format!("{place}[{label}]");
                match (old.get(label), new.get(label)) {
                    (Some(old), Some(new)) => walk(&place, old, new, found),
                    (old, new) => one_sided(&place, old.copied(), new.copied(), found),
                }
            }
        }
        (old, new) => {
            found.push(Difference { place: place.to_owned(), old: Some(old.to_string()), new: Some(new.to_string()) })
        }
    }
}

/// Records what only one revision has: the value without its descriptions, and their sentences with rules.
fn one_sided(place: &str, old: Option<&Value>, new: Option<&Value>, found: &mut Vec<Difference>) {
    let Some(value) = old.or(new) else { return };
    let text = |value: &Value| bare(value).to_string();
    found.push(Difference { place: place.to_owned(), old: old.map(text), new: new.map(text) });
    rules(place, value, new.is_some(), found);
}

fn bare(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, value)| *name != "description" || !value.is_string());
            Value::Object(kept.map(|(name, value)| (name.clone(), bare(value))).collect())
        }
        Value::Array(values) => Value::Array(values.iter().map(bare).collect()),
        other => other.clone(),
    }
}

/// Records each sentence with MUST or SHOULD in the descriptions of a value.
fn rules(place: &str, value: &Value, is_new: bool, found: &mut Vec<Difference>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::String(text) if name == "description" => {
                        let is_rule = |sentence: &String| ["MUST", "SHOULD"].iter().any(|word| sentence.contains(word));
                        found.extend(split(text).into_iter().filter(is_rule).map(|sentence| {
                            let (old, new) = if is_new { (None, Some(sentence)) } else { (Some(sentence), None) };
                            Difference { place: place.to_owned(), old, new }
                        }));
                    }
                    value => rules(&below(place, name), value, is_new, found),
                }
            }
        }
        Value::Array(values) => {
            for (label, value) in labelled(values) {
                rules(&format!("{place}[{label}]"), value, is_new, found);
            }
        }
        _ => {}
    }
}

/// Returns the place of a member; members of the protocol stand without the word `properties`.
fn below(place: &str, name: &str) -> String {
    match (place, name) {
        (_, "properties") => place.to_owned(),
        ("", _) => name.to_owned(),
        _ => format!("{place}.{name}"),
    }
}

/// Names the elements of a list by their content, since the order of values, types and variants means nothing.
fn labelled(list: &[Value]) -> BTreeMap<String, &Value> {
    let mut labels = BTreeMap::new();
    for value in list {
        let label = label(value);
        let numbered = (2..).map(|number| format!("{label} {number}"));
        let free = std::iter::once(label.clone()).chain(numbered).find(|label| !labels.contains_key(label));
        labels.extend(free.map(|label| (label, value)));
    }
    labels
}

fn label(value: &Value) -> String {
    let text = |name: &str| value.member(name).and_then(Value::as_str).map(str::to_owned);
    let variant = || {
        let members = value.member("properties")?.as_object()?;
        members.values().find_map(|member| member.member("const")?.as_str().map(str::to_owned))
    };
    let reference = || text("$ref").map(|path| path.rsplit('/').next().unwrap_or_default().to_owned());
    let named = text("const").or_else(variant).or_else(|| text("title")).or_else(reference);
    named.or_else(|| value.as_str().map(str::to_owned)).unwrap_or_else(|| match value {
        Value::Object(_) => text("type").unwrap_or_else(|| "variant".to_owned()),
        other => other.to_string(),
    })
}

/// Compares two descriptions sentence by sentence: the rules of the protocol stand in them.
fn sentences(place: &str, old: &str, new: &str, found: &mut Vec<Difference>) {
    let (old, new) = (split(old), split(new));
    let gone = old.iter().filter(|sentence| !new.contains(sentence));
    let come = new.iter().filter(|sentence| !old.contains(sentence));
    let difference = |old, new| Difference { place: place.to_owned(), old, new };
    found.extend(gone.map(|sentence| difference(Some(sentence.clone()), None)));
    found.extend(come.map(|sentence| difference(None, Some(sentence.clone()))));
}

fn split(text: &str) -> Vec<String> {
    let words = |sentence: &str| sentence.split_whitespace().collect::<Vec<_>>().join(" ");
    let paragraphs = text.split("\n\n").map(words);
    let sentences = paragraphs.flat_map(|paragraph| {
        paragraph.split_inclusive(". ").map(|sentence| sentence.trim().to_owned()).collect::<Vec<_>>()
    });
    // Links to the documentation differ between a draft and a release.
    sentences.filter(|sentence| !sentence.is_empty() && !sentence.starts_with("See protocol docs:")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn changes(old: &Value, new: &Value) -> Vec<String> {
        let found = compare_schemas(&json!({ "$defs": { "A": old } }), &json!({ "$defs": { "A": new } }));
        let differences = found.into_iter().flat_map(|change| change.differences);
        let shown = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        differences.map(|one| format!("{}: {} → {}", one.place, shown(one.old), shown(one.new))).collect()
    }

    #[test]
    fn definitions_come_and_go() {
        let found =
            compare_schemas(&json!({ "$defs": { "A": {}, "B": {} } }), &json!({ "$defs": { "B": {}, "C": {} } }));
        let kinds: Vec<_> = found.into_iter().map(|change| (change.name, change.kind)).collect();
        let wanted = [("A", DefinitionChangeKind::Removed), ("C", DefinitionChangeKind::Added)];
        assert_eq!(kinds, wanted.map(|(name, kind)| (name.to_owned(), kind)));
    }

    #[test]
    fn rules_of_new_definitions_and_members_are_quoted() {
        let member = json!({ "description": "A number. It MUST be odd.", "type": "integer" });
        let differences = |old: Value, new: Value| {
            let [change] = compare_schemas(&old, &new).try_into().expect("one change");
            change.differences.into_iter().map(|one| (one.place, one.new.unwrap_or_default())).collect::<Vec<_>>()
        };
        let with = |definition: Value| json!({ "$defs": { "A": definition } });
        let rule = ("n".to_owned(), "It MUST be odd.".to_owned());
        let new = json!({ "properties": { "n": member } });
        assert_eq!(differences(json!({}), with(new.clone())), std::slice::from_ref(&rule));
        let added = ("n".to_owned(), r#"{"type":"integer"}"#.to_owned());
        assert_eq!(differences(with(json!({ "properties": {} })), with(new)), [added, rule]);
    }

    #[test]
    fn members_and_types_are_named_by_their_place() {
        let old = json!({ "properties": { "a": { "type": ["string", "null"] } }, "required": ["a", "b"] });
        let new = json!({ "properties": { "a": { "type": ["string"] }, "c": {} }, "required": ["b", "a"] });
        assert_eq!(changes(&old, &new), [r#"a.type[null]: "null" → -"#, "c: - → {}"]);
    }

    #[test]
    fn variants_are_recognized_by_their_content() {
        let kind = |name: &str, more: Value| json!({ "properties": { "type": { "const": name }, "x": more } });
        let old = json!({ "oneOf": [kind("one", json!({})), kind("two", json!({}))] });
        let new = json!({ "oneOf": [kind("two", json!({ "minimum": 1 })), kind("one", json!({}))] });
        assert_eq!(changes(&old, &new), ["oneOf[two].x.minimum: - → 1"]);
    }

    #[test]
    fn sentences_are_compared_without_line_breaks() {
        let old = json!({ "description": "It MUST\nend. It may wait." });
        let new = json!({ "description": "It MUST end.\n\nIt MUST NOT wait." });
        assert_eq!(changes(&old, &new), [": It may wait. → -", ": - → It MUST NOT wait."]);
    }
}
