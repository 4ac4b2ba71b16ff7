//! Faults of `initialize`: capabilities that the client did not advertise, or advertised in vain.

use serde_json::{Map, Value, json};

use crate::faulty::message::calls;

const KNOWN: [&str; 6] = ["fs", "terminal", "session", "auth", "elicitation", "_meta"];

pub(super) fn believe_reading(message: &mut Value) {
    believe(message, &json!({"fs": {"readTextFile": true}}), |_| true);
}

pub(super) fn believe_writing(message: &mut Value) {
    believe(message, &json!({"fs": {"writeTextFile": true}}), |_| true);
}

pub(super) fn believe_terminals(message: &mut Value) {
    believe(message, &json!({"terminal": true}), |_| true);
}

pub(super) fn believe_null(message: &mut Value) {
    believe(message, &everything(), |found| found == Some(&Value::Null));
}

pub(super) fn believe_omitted(message: &mut Value) {
    believe(message, &everything(), |found| found.is_none());
}

pub(super) fn lacks_capabilities(message: &Value) -> Option<&'static str> {
    let lacks = calls(message, "initialize") && !message["params"]["clientCapabilities"].is_object();
    lacks.then_some("clientCapabilities is missing")
}

pub(super) fn has_unknown_capability(message: &Value) -> Option<&'static str> {
    let capabilities = message.pointer("/params/clientCapabilities").filter(|_| calls(message, "initialize"))?;
    let is_known = |capabilities: &Map<String, Value>| capabilities.keys().all(|key| KNOWN.contains(&key.as_str()));
    (!is_known(capabilities.as_object()?)).then_some("unknown capability")
}

fn everything() -> Value {
    json!({
        "fs": {"readTextFile": true, "writeTextFile": true},
        "terminal": true,
        "session": {"configOptions": {"boolean": {}}},
        "elicitation": {"form": {}},
    })
}

/// Puts capabilities into an `initialize` wherever `replaces` holds for what is there.
fn believe(message: &mut Value, capabilities: &Value, replaces: fn(Option<&Value>) -> bool) {
    if calls(message, "initialize")
        && let Some(params) = message.get_mut("params").and_then(Value::as_object_mut)
    {
        fill(params, "clientCapabilities", capabilities, replaces);
    }
}

fn fill(members: &mut Map<String, Value>, key: &str, wanted: &Value, replaces: fn(Option<&Value>) -> bool) {
    match (members.get_mut(key), wanted.as_object()) {
        (Some(Value::Object(found)), Some(wanted)) => {
            wanted.iter().for_each(|(key, wanted)| fill(found, key, wanted, replaces));
        }
        (found, _) if replaces(found.as_deref()) => {
            members.insert(key.to_owned(), wanted.clone());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(edit: fn(&mut Value), capabilities: Value) -> Value {
        let mut message = json!({"method": "initialize", "params": {"clientCapabilities": capabilities}});
        edit(&mut message);
        message["params"]["clientCapabilities"].take()
    }

    #[test]
    fn null_becomes_support_and_absence_stays() {
        let found = after(believe_null, json!({"fs": null, "session": {"configOptions": {"boolean": null}}}));
        let wanted = json!({
            "fs": {"readTextFile": true, "writeTextFile": true},
            "session": {"configOptions": {"boolean": {}}},
        });
        assert_eq!(found, wanted);
    }

    #[test]
    fn absence_becomes_support_and_null_stays() {
        let found = after(believe_omitted, json!({"fs": {"readTextFile": false}, "session": null, "elicitation": {}}));
        let wanted = json!({
            "fs": {"readTextFile": false, "writeTextFile": true},
            "session": null,
            "elicitation": {"form": {}},
            "terminal": true,
        });
        assert_eq!(found, wanted);
    }

    #[test]
    fn one_capability_is_believed_whatever_the_client_says() {
        let read = json!({"fs": {"readTextFile": true}});
        assert_eq!(after(believe_reading, json!({"fs": {"readTextFile": false}})), read);
        assert_eq!(after(believe_reading, json!({"fs": null})), read);
        assert_eq!(after(believe_reading, json!({})), read);
    }
}
