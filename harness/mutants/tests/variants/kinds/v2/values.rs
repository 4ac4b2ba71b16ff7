//! Values and options of the sender's own, in sets that are open.

use fastrand::Rng;
use serde_json::{Value, json};

use super::super::updates::update;
use crate::choices::Choices;
use crate::conversation::Message;

/// Gives members with an open set of values one that begins with an underscore.
pub(super) fn custom_values(message: &mut Message, choices: &mut Choices) {
    let Some((_, kind, body)) = update(message) else { return };
    let places: &[&str] = match kind {
        "tool_call_update" => &["kind"],
        "notice" => &["severity"],
        // A turn that ended well may have any reason of its own.
        "state_update" if body.get("stopReason").is_some_and(|reason| reason == "end_turn") => &["stopReason"],
        _ => &[],
    };
    let entries = body.pointer("/plan/entries").and_then(Value::as_array).map_or(0, Vec::len);
    let places = places.iter().map(|place| format!("/{place}"));
    let of_plan = (0..entries).flat_map(|n| ["priority", "status"].map(|name| format!("/plan/entries/{n}/{name}")));
    for place in places.chain(of_plan).collect::<Vec<_>>() {
        let value = message.value.pointer_mut("/params/update").and_then(|body| body.pointer_mut(&place));
        if let Some(value) = value.filter(|value| value.is_string())
            && let Some(mut rng) = choices.site()
        {
            *value = custom(&mut rng).into();
        }
    }
}

fn custom(rng: &mut Rng) -> &'static str {
    ["_example.org/other", "_", "_later"][rng.usize(..3)]
}

/// Offers one option more in a permission request.
pub(super) fn custom_option(message: &mut Message, choices: &mut Choices) {
    if !message.calls("session/request_permission") || message.deliberate {
        return;
    }
    let options = message.value.pointer_mut("/params/options").and_then(Value::as_array_mut);
    if let Some((options, mut rng)) = options.and_then(|options| Some((options, choices.site()?))) {
        let option = json!({ "optionId": "variant", "name": "Ask later", "kind": custom(&mut rng) });
        options.insert(rng.usize(..=options.len()), option);
    }
}
