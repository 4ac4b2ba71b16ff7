//! Faults in the acceptance of prompts, and in what the agent does while a turn runs.

use std::collections::{HashSet, VecDeque};

use serde_json::Value;

use crate::faulty::{
    layer::{Layer, Onward},
    message::{Open, calls, error, is_response, session},
};

/// Returns the content blocks of a prompt.
fn blocks(message: &Value) -> &[Value] {
    let blocks = message.pointer("/params/prompt").and_then(Value::as_array);
    blocks.filter(|_| calls(message, "session/prompt")).map_or(&[], Vec::as_slice)
}

fn has_block(message: &Value, kind: &str) -> bool {
    blocks(message).iter().any(|block| block["type"] == kind)
}

pub(super) fn is_lone_text(message: &Value) -> Option<&'static str> {
    let is_lone = matches!(blocks(message), [block] if block["type"] == "text");
    is_lone.then_some("the prompt has no block but a text")
}

pub(super) fn has_link(message: &Value) -> Option<&'static str> {
    has_block(message, "resource_link").then_some("the prompt has content of an unsupported type")
}

pub(super) fn has_image(message: &Value) -> Option<&'static str> {
    has_block(message, "image").then_some("the prompt has content of an unsupported type")
}

/// Refuses every prompt of a session but the first one.
#[derive(Default)]
pub(super) struct OneTurnOnly {
    prompted: HashSet<String>,
}

impl Layer for OneTurnOnly {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        let id = session(&message).filter(|_| calls(&message, "session/prompt"));
        if id.is_some_and(|id| !self.prompted.insert(id.to_owned())) {
            onward.outward(error(&message, -32600, "Invalid request", "one prompt a session"));
        } else {
            onward.inward(message);
        }
    }
}

/// Holds requests and notifications back until the running turn has ended.
#[derive(Default)]
pub(super) struct Blocking {
    /// The id of the running prompt.
    prompt: Option<Value>,
    held: VecDeque<Value>,
}

impl Layer for Blocking {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        if is_response(&message) {
            onward.inward(message);
        } else if self.prompt.is_some() {
            self.held.push_back(message);
        } else {
            self.prompt = calls(&message, "session/prompt").then(|| message["id"].clone());
            onward.inward(message);
        }
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        let ends = is_response(&message) && self.prompt.as_ref() == Some(&message["id"]);
        onward.outward(message);
        if ends {
            self.prompt = None;
            std::mem::take(&mut self.held).into_iter().for_each(|message| self.inward(message, onward));
        }
    }
}

/// Ends at certain answers to the elicitations of a session.
pub(super) struct EndAtElicited {
    open: Open,
    is_fatal: fn(&Value) -> bool,
}

impl EndAtElicited {
    pub(super) fn new(is_fatal: fn(&Value) -> bool) -> Self {
        Self { open: Open::default(), is_fatal }
    }
}

impl Layer for EndAtElicited {
    fn inward(&mut self, message: Value, onward: &mut Onward) {
        match self.open.answered_by(&message) {
            Some(_) if (self.is_fatal)(&message) => onward.end(),
            _ => onward.inward(message),
        }
    }

    fn outward(&mut self, message: Value, onward: &mut Onward) {
        if session(&message).is_some() {
            self.open.add_if(&message, &["elicitation/create"]);
        }
        onward.outward(message);
    }
}

pub(super) fn is_declined(answer: &Value) -> bool {
    matches!(answer["result"]["action"].as_str(), Some("decline" | "cancel"))
}

pub(super) fn has_failed(answer: &Value) -> bool {
    answer.get("error").is_some()
}

pub(super) fn has_null_content(answer: &Value) -> bool {
    answer["result"]["action"] == "accept" && answer.pointer("/result/content").is_some_and(Value::is_null)
}
