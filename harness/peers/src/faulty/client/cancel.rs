//! Faults of `session/cancel`, `$/cancel_request` and the end of turns.

use serde_json::{Value, json};

use crate::faulty::{
    layer::{Layer, Onward},
    message::{calls, error, is_response, method, session, update},
};

/// The updates that belong to a turn or a replay.
const OF_TURNS: [&str; 6] =
    ["user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"];

/// Reads only responses between `session/cancel` and the end of the turn.
#[derive(Default)]
pub(super) struct DeafAfterCancel {
    is_deaf: bool,
}

impl Layer for DeafAfterCancel {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        if onward.answers("session/prompt").is_some() {
            self.is_deaf = false;
        }
        if is_response(&message) || !self.is_deaf {
            onward.inward(message);
        }
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        self.is_deaf |= calls(&message, "session/cancel");
        onward.outward(message);
    }
}

/// Answers `$/cancel_request`, which is a notification.
pub(super) struct AnswerCancelRequest;

impl Layer for AnswerCancelRequest {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        if calls(&message, "$/cancel_request") {
            onward.outward(error(&message, -32601, "Method not found", "$/cancel_request"));
        }
        onward.inward(message);
    }
}

/// Answers the request that a `$/cancel_request` names, even if it is not open.
pub(super) struct AnswerLateCancel;

impl Layer for AnswerLateCancel {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        let named = &message["params"]["requestId"];
        if calls(&message, "$/cancel_request") && onward.open_inward().all(|open| open["id"] != *named) {
            onward.outward(error(&json!({"id": named}), -32800, "Request cancelled", "too late"));
        }
        onward.inward(message);
    }
}

/// Cancels all questions when the agent cancels one of its requests.
pub(super) struct AbortAll;

impl Layer for AbortAll {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        if !calls(&message, "$/cancel_request") {
            return onward.inward(message);
        }
        let questions = onward.open("session/request_permission").chain(onward.open("elicitation/create"));
        for id in questions.map(|question| question["id"].clone()).collect::<Vec<_>>() {
            let mut message = message.clone();
            message["params"]["requestId"] = id;
            onward.inward(message);
        }
    }
}

/// Ends the client at certain updates of sessions without a turn.
pub(super) struct EndWhenIdle(pub fn(&str) -> bool);

impl Layer for EndWhenIdle {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        let is_idle = session(&message).is_some_and(|id| onward.open_in("session/prompt", id).is_none());
        if is_idle && update(&message).is_some_and(self.0) { onward.end() } else { onward.inward(message) }
    }
}

pub(super) fn is_of_turn(update: &str) -> bool {
    OF_TURNS.contains(&update)
}

/// Ends the client when the answer to a prompt is an error that requires a login.
pub(super) struct EndAtLogout;

impl Layer for EndAtLogout {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        let ends_turn = onward.answers("session/prompt").is_some();
        if ends_turn && message["error"]["code"] == -32000 { onward.end() } else { onward.inward(message) }
    }
}

pub(super) fn ends_early(message: &Value) -> bool {
    let reason = message.pointer("/result/stopReason").and_then(Value::as_str);
    reason.is_some_and(|reason| !matches!(reason, "end_turn" | "cancelled"))
}

pub(super) fn ends_cancelled(message: &Value) -> bool {
    message.pointer("/result/stopReason").is_some_and(|reason| reason == "cancelled")
}

pub(super) fn lacks_message_id(message: &Value) -> bool {
    update(message).is_some_and(|kind| kind.ends_with("_chunk")) && lacks(message, "messageId")
}

pub(super) fn is_sparse_tool_call(message: &Value) -> bool {
    update(message) == Some("tool_call") && (lacks(message, "kind") || lacks(message, "status"))
}

fn lacks(message: &Value, member: &str) -> bool {
    message["params"]["update"].get(member).is_none_or(Value::is_null)
}

pub(super) fn is_completion(message: &Value) -> bool {
    method(message) == Some("elicitation/complete")
}

pub(super) fn is_cancel_request(message: &Value) -> bool {
    calls(message, "$/cancel_request")
}
