//! Messages that no edition of the protocol defines.

use acp_conformance::requirement::Party;
use fastrand::Rng;
use serde_json::{Value, json};

use super::{Around, How, Kind, Said};
use crate::choices::Choices;
use crate::conversation::Message;

/// The prefix of the ids of added requests.
pub const ADDED: &str = "variant-";

pub const KINDS: &[Kind] = &[
    Kind {
        name: "extension-notifications",
        rule: "extensibility: \"Custom notifications are regular JSON-RPC notifications that start with an underscore (_)\"; \"The protocol reserves any \
            method name starting with an underscore (_) for custom extensions\"",
        how: How::Around(|| Box::new(Extensions::new(notification))),
    },
    Kind {
        name: "late-cancel-requests",
        rule: "cancellation: \"a $/cancel_request notification … can be sent to cancel requests\"; the response to the request \
            may cross it",
        how: How::Around(|| Box::new(LateCancels)),
    },
    Kind {
        name: "extension-requests",
        rule: "extensibility: \"In addition to the requests specified by the protocol, implementations MAY expose and call \
            custom JSON-RPC requests\"; an unknown one is answered with -32601",
        how: How::Around(|| Box::new(Extensions::new(request))),
    },
];

/// Adds a message of the subject before or after another one.
struct Extensions {
    make: fn(usize, &mut Rng) -> Value,
    ready: bool,
    added: usize,
}

impl Extensions {
    const fn new(make: fn(usize, &mut Rng) -> Value) -> Self {
        Self { make, ready: false, added: 0 }
    }
}

impl Around for Extensions {
    fn pass(&mut self, message: &Message, subject: Party, choices: &mut Choices) -> Vec<Said> {
        let mut said = vec![Said::same(message)];
        let opens = message.answers("initialize") && message.value.get("result").is_some() && !message.deliberate;
        self.ready |= opens;
        // After a message, the subject is alive and reads its input.
        if !self.ready || message.from != subject {
            return said;
        }
        let Some(mut rng) = choices.site() else { return said };
        let added = (self.make)(self.added, &mut rng);
        self.added += 1;
        let answer = added.get("id").map(
            |id| json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "Method not found" } }),
        );
        said.push(Said::more(subject, added));
        said.extend(answer.map(|answer| Said::more(subject.other(), answer)));
        said
    }
}

fn notification(_: usize, rng: &mut Rng) -> Value {
    let method = ["_example.org/progress", "_variant", "_x/y/z", "_zed.dev/trace"][rng.usize(..4)];
    match rng.u8(..4) {
        0 => json!({ "jsonrpc": "2.0", "method": method }),
        1 => json!({ "jsonrpc": "2.0", "method": method, "params": {} }),
        2 => {
            json!({ "jsonrpc": "2.0", "method": method, "params": { "sessionId": "none", "update": { "sessionUpdate": "mine" } } })
        }
        _ => json!({ "jsonrpc": "2.0", "method": method, "params": { "_meta": null, "list": [1, 2.5, "x"] } }),
    }
}

/// Cancels requests of the subject whose response is already on its way.
struct LateCancels;

impl Around for LateCancels {
    fn pass(&mut self, message: &Message, subject: Party, choices: &mut Choices) -> Vec<Said> {
        let mut said = vec![Said::same(message)];
        let known = message.is_response && message.method.is_some() && message.from != subject && !message.deliberate;
        let id = message.value.get("id").filter(|id| known && !id.is_null());
        if let Some((id, mut rng)) = id.and_then(|id| Some((id, choices.site()?))) {
            let mut params = json!({ "requestId": id });
            if rng.bool() {
                params["_meta"] = json!({ "x.example": true });
            }
            said.push(Said::more(subject, json!({ "jsonrpc": "2.0", "method": "$/cancel_request", "params": params })));
        }
        said
    }
}

fn request(n: usize, rng: &mut Rng) -> Value {
    let method = ["_example.org/ask", "_variant"][rng.usize(..2)];
    let params = if rng.bool() { json!({ "sessionId": "none" }) } else { json!({}) };
    json!({ "jsonrpc": "2.0", "id": format!("{ADDED}{n}"), "method": method, "params": params })
}
