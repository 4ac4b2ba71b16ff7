//! Redacts what comes with the messages: the requests to the model, and the events of HTTP.

use serde_json::{Value, json};

use super::{Redactor, mask};
use crate::trace::{CONNECTION_ID, HttpEvent, ModelEvent, ModelRequest, ModelText, Posted, SESSION_ID};

impl Redactor<'_> {
    /// Replaces the content of an event of the model. The names of tools come from a profile, which may be private.
    pub(super) fn model(&mut self, model: &mut ModelEvent) {
        let (kept, tools) = model.split_tools();
        model.did = kept.to_owned() + &mask(tools);
        model.request.iter_mut().for_each(|request| self.model_request(request));
        if let Some(answer) = &mut model.answer {
            redact_model_text(&mut answer.text);
            for call in &mut answer.calls {
                call.name = self.numbered(&call.name);
                redact_model_text(&mut call.arguments);
            }
        }
    }

    /// Replaces the ids of sessions and the texts of the server.
    pub(super) fn http(&mut self, http: &mut HttpEvent) {
        match http {
            HttpEvent::Request { headers, message, .. } => {
                self.headers(headers);
                if let Some(posted) = message {
                    self.posted(posted);
                }
            }
            HttpEvent::Response { headers, body, .. } => {
                self.headers(headers);
                *body = body.take().map(|body| mask(&body));
            }
            HttpEvent::Ended { why: Some(why), .. } | HttpEvent::Failed { why, .. } => *why = mask(why),
            HttpEvent::Frame { message: Some(posted), .. } => self.posted(posted),
            HttpEvent::Carries { .. } | HttpEvent::Frame { .. } | HttpEvent::Ended { why: None, .. } => {}
        }
    }

    /// Replaces what the message itself hides.
    fn posted(&mut self, posted: &mut Posted) {
        let mut message = json!({ "method": posted.method, "id": posted.id });
        if let Some(session) = &posted.session_id {
            message["params"] = json!({ "sessionId": session });
        }
        let redacted: Value = serde_json::from_str(&self.message(message)).unwrap_or_default();
        let known = Posted::of(&redacted).unwrap_or_default();
        *posted = Posted { id: posted.id.as_ref().and(known.id), list: posted.list, ..known };
    }

    fn headers(&mut self, headers: &mut [(String, String)]) {
        for (name, value) in headers {
            if [CONNECTION_ID, SESSION_ID].contains(&name.as_str()) {
                *value = self.text(value, "sessionId", false);
            }
        }
    }

    /// Replaces the content of a request to the model. A digest of a short content would reveal it.
    fn model_request(&mut self, request: &mut ModelRequest) {
        request.tools.iter_mut().for_each(|tool| *tool = self.numbered(tool));
        request.messages.iter_mut().for_each(redact_model_text);
        for result in &mut request.results {
            result.text = result.text.as_deref().map(mask);
            result.sha256.clear();
        }
        let digests = request.media.iter_mut().map(|media| &mut media.content);
        digests.chain([&mut request.instructions]).for_each(|digest| digest.sha256.clear());
    }
}

fn redact_model_text(text: &mut ModelText) {
    text.text = text.text.as_deref().map(mask);
    text.digest.iter_mut().for_each(|digest| digest.sha256.clear());
    text.intents.clear();
}
