//! Faults of `initialize`: capabilities that the client did not advertise.

use serde_json::{Value, json};

use crate::message::{calls, replace};

pub(super) fn believe_null(message: &mut Value) {
    believe(message, |found| found == Some(&Value::Null));
}

pub(super) fn believe_omitted(message: &mut Value) {
    believe(message, |found| found.is_none());
}

fn everything() -> Value {
    json!({
        "fs": {"readTextFile": true, "writeTextFile": true},
        "terminal": true,
        "session": {"configOptions": {"boolean": {}}},
        "elicitation": {"form": {}},
    })
}

/// Puts all capabilities into an `initialize` wherever `replaces` accepts the current value.
fn believe(message: &mut Value, replaces: fn(Option<&Value>) -> bool) {
    if calls(message, "initialize")
        && let Some(params) = message.get_mut("params").and_then(Value::as_object_mut)
    {
        replace(params, "clientCapabilities", &everything(), replaces);
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
}
