//! What the tester has to say to one request: a result, an error, or nothing yet.

use serde_json::{Value, json};

/// Error codes of JSON-RPC 2.0 and ACP v1 that the tester uses.
pub mod code {
    /// The method does not exist or is not available.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters are not what the method takes.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The request was sound, but carrying it out failed.
    pub const INTERNAL: i64 = -32603;
    /// A file or terminal named by the request does not exist.
    pub const NOT_FOUND: i64 = -32002;
}

/// The tester's reply to one request of the agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The `result` member of the response.
    Result(Value),
    /// The `error` member of the response.
    Error {
        /// A number from [`code`].
        code: i64,
        /// One lower-case sentence fragment for people.
        message: String,
        /// Details for programs.
        data: Option<Value>,
    },
    /// Not answered by itself: the case answers later, or cancelling the turn does.
    Held,
}

impl Answer {
    /// The empty object, by which methods without a return value report success.
    pub(super) fn done() -> Self {
        Self::Result(json!({}))
    }
}

/// Why a request is not carried out; becomes [`Answer::Error`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message} ({code})")]
pub(super) struct Refusal {
    code: i64,
    message: String,
    data: Option<Value>,
}

impl Refusal {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The parameters are wrong.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// What the parameters name does not exist.
    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(code::NOT_FOUND, message)
    }

    /// Carrying out a sound request failed.
    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self::new(code::INTERNAL, message)
    }

    /// No such method.
    pub(super) fn unknown_method(method: &str) -> Self {
        Self::new(code::METHOD_NOT_FOUND, format!("method `{method}` does not exist"))
    }

    /// The method exists, but this client did not advertise the capability it belongs to.
    pub(super) fn unadvertised(method: &str, capability: &str) -> Self {
        let message = format!("method `{method}` is not available without the capability `{capability}`");
        Self { data: Some(json!({ "requiredCapability": capability })), ..Self::new(code::METHOD_NOT_FOUND, message) }
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Self {
        Self::Error { code: refusal.code, message: refusal.message, data: refusal.data }
    }
}

impl From<Result<Answer, Refusal>> for Answer {
    fn from(outcome: Result<Answer, Refusal>) -> Self {
        outcome.unwrap_or_else(Self::from)
    }
}
