//! Maps requests to the model to their purpose.
//!
//! Agents append their own paths to the configured origin, with or without a path, so only the end of a path counts.

use serde_json::{Value, json};

use super::dialect::{Dialect, chat::Chat, gemini, gemini::Gemini, messages, messages::Messages, responses::Responses};
use super::{CONTEXT, LONGEST_ANSWER, NAME};

/// The purpose of a request.
pub enum Route {
    /// An answer of the model; `stream` if the path decides that.
    Answer {
        /// The API.
        dialect: &'static dyn Dialect,
        /// Whether the answer is streamed, if the path decides that and not the body.
        stream: Option<bool>,
    },
    /// The number of tokens of a request; builds the answer from that number.
    Count(fn(u64) -> Value),
    /// A constant answer.
    Fixed {
        /// A description in a few words.
        did: &'static str,
        /// The body.
        body: Value,
    },
    /// An unknown request.
    Unknown,
}

/// Returns the purpose of a request by its method and path.
pub fn route(method: &str, path: &str) -> Route {
    let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
    let answer = |dialect: &'static dyn Dialect| Route::Answer { dialect, stream: None };
    match (method, path) {
        ("POST", path) if path.ends_with("/chat/completions") => answer(&Chat),
        ("POST", path) if path.ends_with("/responses") => answer(&Responses),
        ("POST", path) if path.ends_with("/messages") => answer(&Messages),
        ("POST", path) if path.ends_with("/messages/count_tokens") => Route::Count(messages::count),
        ("POST", path) if path.ends_with(":generateContent") => Route::Answer { dialect: &Gemini, stream: Some(false) },
        ("POST", path) if path.ends_with(":streamGenerateContent") => {
            Route::Answer { dialect: &Gemini, stream: Some(true) }
        }
        ("POST", path) if path.ends_with(":countTokens") => Route::Count(gemini::count),
        ("GET", path) if path.ends_with("/models") => Route::Fixed { did: "listed the models", body: models() },
        ("GET", path) if path.contains("/models/") => {
            let id = path.rsplit('/').next().unwrap_or_default();
            Route::Fixed { did: "described the model", body: model(id) }
        }
        ("GET" | "HEAD", "") => Route::Fixed { did: "greeted", body: json!({ "ok": true }) },
        _ => Route::Unknown,
    }
}

/// Returns the list of models in the formats of OpenAI, Anthropic and Google at once: each reads the members that it
/// knows.
fn models() -> Value {
    let model = model(NAME);
    json!({
        "object": "list", "data": [model], "has_more": false, "first_id": NAME, "last_id": NAME,
        "models": [{ "name": format!("models/{NAME}"), "displayName": NAME, "inputTokenLimit": CONTEXT,
            "outputTokenLimit": LONGEST_ANSWER, "supportedGenerationMethods": ["generateContent", "countTokens"] }],
    })
}

fn model(id: &str) -> Value {
    json!({
        "id": id, "object": "model", "created": 0, "owned_by": "acp-conformance",
        "type": "model", "display_name": id, "created_at": "1970-01-01T00:00:00Z",
        "context_length": CONTEXT, "context_window": CONTEXT, "max_model_len": CONTEXT,
        "name": format!("models/{id}"), "inputTokenLimit": CONTEXT, "outputTokenLimit": LONGEST_ANSWER,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_by_the_end_of_the_path() {
        for path in ["/v1/chat/completions", "/chat/completions?x=y", "/openai/v1/chat/completions/"] {
            assert!(matches!(route("POST", path), Route::Answer { .. }), "{path}");
        }
        for (path, api) in [
            ("/v1/responses", "responses"),
            ("/v1/messages?beta=true", "messages"),
            ("/v1beta/models/gemini-2.5-pro:generateContent", "generateContent"),
        ] {
            assert!(matches!(route("POST", path), Route::Answer { dialect, .. } if dialect.name() == api), "{path}");
        }
        let streamed = route("POST", "/v1beta/models/m:streamGenerateContent?alt=sse");
        assert!(matches!(streamed, Route::Answer { stream: Some(true), .. }));
        assert!(matches!(route("POST", "/v1/messages/count_tokens"), Route::Count(_)));
        assert!(matches!(route("GET", "/v1/models?limit=1000"), Route::Fixed { .. }));
        assert!(matches!(route("GET", "/v1/models/any"), Route::Fixed { body, .. } if body["id"] == "any"));
        assert!(matches!(route("GET", "/v1/chat/completions"), Route::Unknown));
    }
}
