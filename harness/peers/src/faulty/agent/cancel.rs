//! Faults in the cancellation of turns.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::faulty::{
    layer::{Layer, Onward},
    message::{Open, ToolCall, calls, ends_tool_call, error, opens_session, result, session, tool_call, update},
};

/// Returns whether a response ends a prompt as cancelled.
fn is_cancelled(response: &Value) -> bool {
    response["result"]["stopReason"] == "cancelled"
}

pub(super) fn call_it_end_turn(message: &mut Value) {
    if is_cancelled(message) {
        message["result"]["stopReason"] = "end_turn".into();
    }
}

/// Returns whether a cancel names a session that this agent never opened; its ids begin with `ref-`.
pub(super) fn is_stray(message: &Value) -> bool {
    calls(message, "session/cancel") && session(message).is_none_or(|id| !id.starts_with("ref-"))
}

/// Keeps a cancel that comes between turns for the next turn.
#[derive(Default)]
pub(super) struct Sticky {
    prompts: Open,
    /// The cancels without a turn, by session.
    kept: HashMap<String, Value>,
}

impl Layer for Sticky {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        self.prompts.add_if(&message, &["session/prompt"]);
        let id = session(&message).unwrap_or_default().to_owned();
        let kept = if calls(&message, "session/prompt") { self.kept.remove(&id) } else { None };
        if calls(&message, "session/cancel") && self.prompts.of_session(&id).next().is_none() {
            self.kept.insert(id, message.clone());
        }
        onward.inward(message);
        kept.into_iter().for_each(|cancel| onward.inward(cancel));
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        self.prompts.answered_by(&message);
        onward.outward(message);
    }
}

/// Cancels the turns of all sessions together.
#[derive(Default)]
pub(super) struct AllSessions {
    prompts: Open,
}

impl Layer for AllSessions {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        self.prompts.add_if(&message, &["session/prompt"]);
        if calls(&message, "session/cancel") {
            for prompt in self.prompts.all() {
                let params = json!({"sessionId": session(prompt)});
                onward.inward(json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params}));
            }
        }
        onward.inward(message);
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        self.prompts.answered_by(&message);
        onward.outward(message);
    }
}

/// Takes no further prompt in a session in which a turn was cancelled.
#[derive(Default)]
pub(super) struct BusyAfterwards {
    prompts: Open,
    busy: HashSet<String>,
}

impl Layer for BusyAfterwards {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        if calls(&message, "session/prompt") && session(&message).is_some_and(|id| self.busy.contains(id)) {
            onward.outward(error(&message, -32600, "Invalid request", "the session has a running turn"));
        } else {
            self.prompts.add_if(&message, &["session/prompt"]);
            onward.inward(message);
        }
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        let prompt = self.prompts.answered_by(&message).filter(|_| is_cancelled(&message));
        self.busy.extend(prompt.as_ref().and_then(session).map(str::to_owned));
        onward.outward(message);
    }
}

/// Answers a cancelled prompt while the turn goes on out of sight.
#[derive(Default)]
pub(super) struct TurnAbandoned {
    prompts: Open,
    /// The tool calls without a final status.
    tools: HashSet<ToolCall>,
    abandoned: HashSet<String>,
}

impl Layer for TurnAbandoned {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        let id = session(&message).unwrap_or_default().to_owned();
        let prompt = self.prompts.of_session(&id).next().cloned();
        match prompt.filter(|_| calls(&message, "session/cancel")) {
            Some(prompt) => {
                for (_, tool) in self.tools.extract_if(|(session, _)| *session == id) {
                    let update = json!({"sessionUpdate": "tool_call_update", "toolCallId": tool, "status": "failed"});
                    let params = json!({"sessionId": id, "update": update});
                    onward.outward(json!({"jsonrpc": "2.0", "method": "session/update", "params": params}));
                }
                onward.outward(result(&prompt, json!({"stopReason": "cancelled"})));
                self.abandoned.insert(id);
            }
            None => {
                if opens_session(&message) {
                    self.abandoned.remove(&id);
                }
                self.prompts.add_if(&message, &["session/prompt"]);
                onward.inward(message);
            }
        }
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        let prompt = self.prompts.answered_by(&message);
        let id = prompt.as_ref().map_or_else(|| session(&message), session).unwrap_or_default();
        if self.abandoned.contains(id) {
            return;
        }
        if let Some(tool) = tool_call(&message) {
            if ends_tool_call(&message) {
                self.tools.remove(&tool);
            } else if update(&message) == Some("tool_call") {
                self.tools.insert(tool);
            }
        }
        onward.outward(message);
    }
}
