//! Lists whose order has no meaning in the protocol.

use serde_json::Value;

use super::{How, Kind};
use crate::choices::Choices;
use crate::conversation::Message;

pub const KINDS: &[Kind] = &[Kind {
    name: "lists-reordered",
    rule: "schema.json orders neither the options of a permission request nor commands, login methods and MCP servers",
    how: How::Edit(reorder),
}];

const LISTS: [&str; 4] = ["options", "availableCommands", "authMethods", "mcpServers"];

fn reorder(message: &mut Message, choices: &mut Choices) {
    for at in ["/params", "/params/update", "/result"] {
        for name in LISTS {
            let list = message.value.pointer_mut(at).and_then(|of| of.get_mut(name)).and_then(Value::as_array_mut);
            if let Some(list) = list.filter(|list| list.len() > 1)
                && let Some(mut rng) = choices.site()
            {
                rng.shuffle(list);
            }
        }
    }
}
