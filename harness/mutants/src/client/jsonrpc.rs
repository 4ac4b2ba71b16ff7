//! Faults of JSON-RPC that only the client has.

use std::collections::VecDeque;

use serde_json::Value;

use crate::{
    jsonrpc::has_member,
    layer::{Layer, Onward},
    message::{ends_turn, is_request, is_response},
};

/// Returns the content of a request or a response.
fn content(message: &Value) -> Option<&Value> {
    message.get("params").or_else(|| message.get("result"))
}

pub(super) fn has_null(message: &Value) -> Option<&'static str> {
    has_member(content(message)?, &|_, value| value.is_null()).then_some("null is not accepted")
}

pub(super) fn has_meta(message: &Value) -> Option<&'static str> {
    has_member(message.get("params")?, &|name, _| name == "_meta").then_some("_meta is not accepted")
}

/// Gives responses the ids of a counter.
#[derive(Default)]
pub(super) struct CountedIds(u64);

impl Layer for CountedIds {
    fn outward(&mut self, mut message: Value, onward: &mut Onward) {
        if is_response(&message) {
            message["id"] = self.0.into();
            self.0 += 1;
        }
        onward.outward(message);
    }
}

/// Collects answers while requests of the agent are open, and sends them as one array.
#[derive(Default)]
pub(super) struct Batch {
    answers: Vec<Value>,
}

impl Layer for Batch {
    fn outward(&mut self, message: Value, onward: &mut Onward) {
        if !is_response(&message) {
            self.answers.drain(..).for_each(|answer| onward.outward(answer));
            return onward.outward(message);
        }
        self.answers.push(message);
        if onward.open_inward().next().is_none() {
            match self.answers.len() {
                1 => self.answers.drain(..).for_each(|answer| onward.outward(answer)),
                _ => onward.outward(Value::Array(std::mem::take(&mut self.answers))),
            }
        }
    }
}

/// Handles the next request of a turn only after the answer to the previous one.
#[derive(Default)]
pub(super) struct Serial {
    waiting: VecDeque<Value>,
}

impl Layer for Serial {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        if is_request(&message) && onward.open_inward().next().is_some() {
            return self.waiting.push_back(message);
        }
        if ends_turn(&message) {
            self.waiting.drain(..).for_each(|request| onward.inward(request));
        }
        onward.inward(message);
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        let is_answer = onward.asked().is_some();
        onward.outward(message);
        if is_answer && let Some(next) = self.waiting.pop_front() {
            onward.inward(next);
        }
    }
}
