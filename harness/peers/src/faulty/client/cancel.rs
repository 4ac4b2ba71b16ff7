//! Faults of `session/cancel`, `$/cancel_request` and the end of turns.

use serde_json::{Value, json};

use crate::faulty::{
    layer::{Layer, Onward},
    message::{Open, calls, error, is_request, is_response, method, session, update},
};

/// The updates that belong to a turn or a replay.
const OF_TURNS: [&str; 6] =
    ["user_message_chunk", "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan"];

/// Reads nothing but responses between `session/cancel` and the end of the turn.
#[derive(Default)]
pub(super) struct DeafAfterCancel {
    prompts: Open,
    is_deaf: bool,
}

impl Layer for DeafAfterCancel {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        if self.prompts.answered_by(&message).is_some() {
            self.is_deaf = false;
        }
        if is_response(&message) || !self.is_deaf {
            onward.inward(message);
        }
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        self.prompts.add_if(&message, &["session/prompt"]);
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

/// Answers the request that a `$/cancel_request` names, also if it is not open.
#[derive(Default)]
pub(super) struct AnswerLateCancel {
    open: Open,
}

impl Layer for AnswerLateCancel {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        if is_request(&message) {
            self.open.add(&message);
        }
        let named = &message["params"]["requestId"];
        if calls(&message, "$/cancel_request") && self.open.all().all(|open| open["id"] != *named) {
            onward.outward(error(&json!({"id": named}), -32800, "Request cancelled", "too late"));
        }
        onward.inward(message);
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        self.open.answered_by(&message);
        onward.outward(message);
    }
}

/// Gives up all questions when the agent gives up one of its requests.
#[derive(Default)]
pub(super) struct AbortAll {
    questions: Open,
}

impl Layer for AbortAll {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        self.questions.add_if(&message, &["session/request_permission", "elicitation/create"]);
        if !calls(&message, "$/cancel_request") {
            return onward.inward(message);
        }
        for question in self.questions.all() {
            let mut message = message.clone();
            message["params"]["requestId"] = question["id"].clone();
            onward.inward(message);
        }
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        self.questions.answered_by(&message);
        onward.outward(message);
    }
}

/// Ends the client at certain updates of sessions without a turn.
pub(super) struct EndWhenIdle {
    ends: fn(&str) -> bool,
    prompts: Open,
}

impl EndWhenIdle {
    pub(super) fn new(ends: fn(&str) -> bool) -> Self {
        Self { ends, prompts: Open::default() }
    }
}

impl Layer for EndWhenIdle {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        self.prompts.answered_by(&message);
        let is_idle = session(&message).is_some_and(|id| self.prompts.of_session(id).next().is_none());
        if is_idle && update(&message).is_some_and(self.ends) { onward.end() } else { onward.inward(message) }
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        self.prompts.add_if(&message, &["session/prompt"]);
        onward.outward(message);
    }
}

pub(super) fn is_of_turn(update: &str) -> bool {
    OF_TURNS.contains(&update)
}

/// Ends the client when the answer to a prompt is an error that asks for a login.
#[derive(Default)]
pub(super) struct EndAtLogout {
    prompts: Open,
}

impl Layer for EndAtLogout {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        let ends_turn = self.prompts.answered_by(&message).is_some();
        if ends_turn && message["error"]["code"] == -32000 { onward.end() } else { onward.inward(message) }
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        self.prompts.add_if(&message, &["session/prompt"]);
        onward.outward(message);
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
