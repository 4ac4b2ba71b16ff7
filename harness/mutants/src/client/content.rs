//! Faults of content.

use serde_json::Value;

use super::elicitation::visit;
use crate::layer::{Layer, Onward};

/// Loads the icon of each link in a message, from any address.
pub(super) struct LoadIcons;

impl Layer for LoadIcons {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        let blocks = message.pointer("/params/update/content").and_then(Value::as_array).into_iter().flatten();
        let icons = blocks.filter_map(|block| block["icons"].as_array()).flatten();
        icons.for_each(|icon| visit(&icon["src"]));
        onward.inward(message);
    }
}
