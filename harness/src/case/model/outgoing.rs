//! The parts of a message of the tester.

use serde_json::Value;

use super::{Body, Outgoing};

impl Outgoing {
    /// Returns the label of the request, if the message is one.
    pub fn request(&self) -> Option<&str> {
        match &self.body {
            Body::Request { label, .. } => Some(label.as_str()),
            _ => None,
        }
    }

    /// Returns the intent of the prompt, if the message is one.
    pub fn intent(&self) -> Option<&str> {
        let Body::Request { params: Some(params), .. } = &self.body else { return None };
        let prompt = params.get("prompt")?;
        let mut blocks = prompt.as_array().map_or(std::slice::from_ref(prompt), Vec::as_slice).iter();
        blocks.find_map(|block| block.get("intent")?.as_str())
    }

    /// Returns its params or its result.
    pub(super) fn value(&self) -> Option<&Value> {
        match &self.body {
            Body::Request { params, .. } | Body::Notification { params, .. } => params.as_ref(),
            Body::Result { result, .. } => Some(result),
            Body::Error { .. } => None,
        }
    }

    /// Returns the method, if the message is a request or a notification.
    pub fn method(&self) -> Option<&str> {
        match &self.body {
            Body::Request { method, .. } | Body::Notification { method, .. } => Some(method),
            Body::Result { .. } | Body::Error { .. } => None,
        }
    }
}
