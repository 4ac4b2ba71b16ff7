//! Optional members that are absent, null or empty, and `_meta` wherever the schema allows it.

use fastrand::Rng;
use serde_json::{Map, Value, json};

use super::{How, Kind};
use crate::choices::Choices;
use crate::conversation::Message;

pub const KINDS: &[Kind] = &[
    Kind {
        name: "null-for-absent",
        rule: "schema.json: the member is not `required`, and its type includes \"null\"",
        how: How::Edit(|message, choices| {
            members(message, choices, |object, name, schema, _| {
                // A question about a request has none of the members of one about a session.
                let of_other_scope = object.contains_key("requestId") && ["sessionId", "toolCallId"].contains(&name);
                if may_be_null(schema) && !object.contains_key(name) && name != "_meta" && !of_other_scope {
                    object.insert(name.to_owned(), Value::Null);
                }
            });
        }),
    },
    Kind {
        name: "absent-for-null",
        rule: "schema.json: the member is not `required`",
        how: How::Edit(|message, choices| {
            members(message, choices, |object, name, _, _| {
                if object.get(name).is_some_and(Value::is_null) {
                    object.remove(name);
                }
            });
        }),
    },
    Kind {
        name: "empty-for-absent",
        rule: "schema.json: the member is not `required`, and its type is \"array\" without `minItems`",
        how: How::Edit(|message, choices| {
            members(message, choices, |object, name, schema, _| {
                // An empty `background` means that no such work runs; its absence says nothing about that.
                if is_list(schema) && !object.contains_key(name) && name != "background" {
                    object.insert(name.to_owned(), json!([]));
                }
            });
        }),
    },
    Kind {
        name: "meta",
        rule: "extensibility: \"All types in the protocol include a _meta field … that implementations can use to attach \
            custom information\"",
        how: How::Edit(|message, choices| {
            members(message, choices, |object, name, schema, rng| {
                if name == "_meta" && !object.contains_key(name) {
                    let meta = meta(rng);
                    if may_be_null(schema) || !meta.is_null() {
                        object.insert(name.to_owned(), meta);
                    }
                }
            });
        }),
    },
    Kind {
        name: "custom-capabilities",
        rule: "extensibility: \"Implementations SHOULD use the _meta field in capability objects to advertise support for \
            extensions\"",
        how: How::Edit(|message, choices| {
            if message.method.as_deref() != Some("initialize") {
                return;
            }
            let at = match (message.edition.major, message.is_response) {
                (1, true) => "/result/agentCapabilities",
                (1, false) => "/params/clientCapabilities",
                (_, true) => "/result/capabilities",
                (_, false) => "/params/capabilities",
            };
            if let Some(capabilities) = message.value.pointer_mut(at).and_then(Value::as_object_mut)
                && choices.site().is_some()
            {
                capabilities.insert("_meta".to_owned(), json!({ "example.org": { "ask": true, "levels": [1, null] } }));
            }
        }),
    },
];

fn meta(rng: &mut Rng) -> Value {
    match rng.u8(..5) {
        0 => Value::Null,
        1 => json!({}),
        2 => json!({ "example.org/mode": "x", "sessionId": 7, "requestId": null }),
        3 => json!({ "traceparent": "00-80e1afed08e019fc1110464cfa66635c-7a085853722dc6d2-01" }),
        _ => json!({ "_meta": { "_meta": [null, { "method": "session/prompt" }] }, "": 1.5 }),
    }
}

/// Calls `change` for each optional member of each object of the payload, with the object, the name and the schema of
/// the member. In version 2 it leaves out the members of a patch, which null clears and absence leaves as they are.
fn members(message: &mut Message, choices: &mut Choices, change: fn(&mut Map<String, Value>, &str, &Value, &mut Rng)) {
    let (schema, is_v1) = (&message.edition.stable, message.edition.major == 1);
    let Some((member, definition)) = message.payload() else { return };
    let Some(payload) = message.value.get(member).cloned() else { return };
    let parts = schema.parts(definition, &payload);
    for object in &parts.objects {
        for name in object.definitions() {
            let Some(definition) = schema.definition(name) else { continue };
            let required = definition.get("required").and_then(Value::as_array);
            let required = |name: &String| required.is_some_and(|list| list.iter().any(|known| known == name));
            let properties = definition.get("properties").and_then(Value::as_object).into_iter().flatten();
            let is_free = |name: &String, property: &Value| is_v1 || name == "_meta" || !is_patch(property);
            for (name, property) in properties.filter(|(name, property)| !required(name) && is_free(name, property)) {
                let Some(mut rng) = choices.site() else { continue };
                let place = message.value.get_mut(member).and_then(|payload| payload.pointer_mut(&object.at));
                if let Some(place) = place.and_then(Value::as_object_mut) {
                    change(place, name, property, &mut rng);
                }
            }
        }
    }
}

fn may_be_null(schema: &Value) -> bool {
    let listed = |of: &str| schema.get(of).and_then(Value::as_array).is_some_and(|list| list.iter().any(may_be_null));
    let named = schema.get("type").is_some_and(|kind| {
        *kind == "null" || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "null"))
    });
    named || listed("anyOf") || listed("oneOf")
}

/// Whether null differs from absence for a member of version 2: its description equates them otherwise.
fn is_patch(property: &Value) -> bool {
    let description = property.get("description").and_then(Value::as_str).unwrap_or_default();
    let words: Vec<&str> = description.split_whitespace().collect();
    may_be_null(property) && !words.join(" ").contains("Omitted and `null` are equivalent")
}

fn is_list(schema: &Value) -> bool {
    let list = |kind: &Value| {
        *kind == "array" || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "array"))
    };
    schema.get("type").is_some_and(list) && schema.get("minItems").is_none()
}
