//! Which request to the model is for what.
//!
//! Agents are given an origin, with or without a path, and add theirs to it: so only the end of a path tells.

use serde_json::{Value, json};

use super::dialect::{Dialect, chat::Chat, gemini, gemini::Gemini, messages, messages::Messages, responses::Responses};
use super::{CONTEXT, LONGEST_ANSWER, NAME};

/// What a request is for.
pub enum Route {
    /// An answer of the model; `stream` where the path decides it.
    Answer {
        /// The API.
        dialect: &'static dyn Dialect,
        /// Whether the answer comes in pieces, if the path says so and not the body.
        stream: Option<bool>,
    },
    /// How many tokens a request has, as an answer made of the number.
    Count(fn(u64) -> Value),
    /// Something that is always the same.
    Fixed {
        /// What it is, in a few words.
        did: &'static str,
        /// The body.
        body: Value,
    },
    /// Nobody knows.
    Unknown,
}

/// What a request with this method and path is for.
#[must_use]
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

/// The list of models, as OpenAI, Anthropic and Google have it at once: each reads the members that it knows.
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
    fn the_end_of_a_path_tells() {
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
