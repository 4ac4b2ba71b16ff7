//! Faults in the use of the client's terminals.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::faulty::{
    layer::{Layer, Onward},
    message::{calls, result},
};

/// Drops the release of killed terminals.
#[derive(Default)]
pub(super) struct KilledUnreleased {
    killed: HashSet<String>,
}

impl Layer for KilledUnreleased {
    fn outward(&mut self, message: Value, onward: &mut Onward) {
        let terminal = message["params"]["terminalId"].as_str().unwrap_or_default();
        if calls(&message, "terminal/kill") {
            self.killed.insert(terminal.to_owned());
        }
        if calls(&message, "terminal/release") && self.killed.contains(terminal) {
            onward.inward(result(&message, json!({})));
        } else {
            onward.outward(message);
        }
    }
}

/// Requests the output once more when the terminal is released.
pub(super) struct UsedAfterRelease;

impl Layer for UsedAfterRelease {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        if let Some(release) = onward.answers("terminal/release") {
            onward.ask_outward("terminal/output", release["params"].clone());
        }
        onward.inward(message);
    }
}
