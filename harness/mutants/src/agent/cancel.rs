//! Faults in the cancellation of turns.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::{
    layer::{Layer, Onward},
    message::{ToolCall, calls, ends_tool_call, is_response, opens_session, result, session, tool_call, update},
};

/// Keeps a cancel that comes between turns for the next turn.
#[derive(Default)]
pub(super) struct Sticky {
    /// The cancels without a turn, by session.
    kept: HashMap<String, Value>,
}

impl Layer for Sticky {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        let id = session(&message).unwrap_or_default().to_owned();
        let kept = if calls(&message, "session/prompt") { self.kept.remove(&id) } else { None };
        if calls(&message, "session/cancel") && onward.open_in("session/prompt", &id).is_none() {
            self.kept.insert(id, message.clone());
        }
        onward.inward(message);
        kept.into_iter().for_each(|cancel| onward.inward(cancel));
    }
}

/// Cancels the turns of all sessions together.
pub(super) struct AllSessions;

impl Layer for AllSessions {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        if calls(&message, "session/cancel") {
            for prompt in onward.open("session/prompt").cloned().collect::<Vec<_>>() {
                let params = json!({"sessionId": session(&prompt)});
                onward.inward(json!({"jsonrpc": "2.0", "method": "session/cancel", "params": params}));
            }
        }
        onward.inward(message);
    }
}

/// Answers a cancelled prompt while the turn continues invisibly.
#[derive(Default)]
pub(super) struct TurnAbandoned {
    /// The tool calls without a final status.
    tools: HashSet<ToolCall>,
    abandoned: HashSet<String>,
}

impl Layer for TurnAbandoned {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        let id = session(&message).unwrap_or_default().to_owned();
        let prompt = onward.open_in("session/prompt", &id).cloned();
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
                onward.inward(message);
            }
        }
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        let id = session(onward.asked().unwrap_or(&message)).unwrap_or_default();
        // The layer has already answered the prompt of an abandoned turn.
        let is_answered = is_response(&message) && onward.asked().is_none();
        if is_answered || self.abandoned.contains(id) {
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
