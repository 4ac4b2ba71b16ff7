//! Faults of `$/cancel_request`.

use serde_json::{Value, json};

use crate::{
    layer::{Layer, Onward},
    message::{calls, error},
};

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
