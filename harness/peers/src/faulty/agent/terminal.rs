//! Faults in the use of the client's terminals.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::faulty::{
    layer::{Layer, Onward},
    message::{Open, Own, calls, result},
};

/// Keeps the release of every terminal to itself.
pub(super) struct Leak;

impl Layer for Leak {
    fn outward(&mut self, message: Value, onward: &mut Onward) {
        if calls(&message, "terminal/release") {
            onward.inward(result(&message, json!({})));
        } else {
            onward.outward(message);
        }
    }
}

/// Keeps the release of killed terminals to itself.
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
            Leak.outward(message, onward);
        } else {
            onward.outward(message);
        }
    }
}

/// Asks for the output once more when the terminal is released.
#[derive(Default)]
pub(super) struct UsedAfterRelease {
    releases: Open,
    own: Own,
}

impl Layer for UsedAfterRelease {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        if self.own.takes(&message) {
            return;
        }
        if let Some(release) = self.releases.answered_by(&message) {
            onward.outward(self.own.request("terminal/output", release["params"].clone()));
        }
        onward.inward(message);
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        self.releases.add_if(&message, &["terminal/release"]);
        onward.outward(message);
    }
}
