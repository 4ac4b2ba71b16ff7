//! The tester's answer to one request: a result, an error, or nothing yet.

use serde_json::{Value, json};

/// Error codes of JSON-RPC 2.0 and ACP that the tester uses.
pub mod code {
    /// The method does not exist or is not available.
    pub const METHOD_NOT_FOUND: i64 = -32601;
    /// The parameters do not fit the method.
    pub const INVALID_PARAMS: i64 = -32602;
    /// The request was valid, but carrying it out failed.
    pub const INTERNAL: i64 = -32603;
    /// A file or terminal named by the request does not exist.
    pub const NOT_FOUND: i64 = -32002;
    /// The protocol version is lower than all that are implemented; only in version 2 and above.
    pub const UNSUPPORTED_VERSION: i64 = -32022;
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
        /// Details that programs can read.
        data: Option<Value>,
    },
    /// The tester does not answer: the case answers later, or the cancel of the turn does.
    Held,
}

impl Answer {
    /// Returns the empty object, with which methods without a return value report success.
    pub(super) fn done() -> Self {
        Self::Result(json!({}))
    }
}

/// The reason why a request is not carried out; becomes [`Answer::Error`].
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

    /// Reports wrong parameters.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// Reports that an object named by the parameters does not exist.
    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(code::NOT_FOUND, message)
    }

    /// Reports that a valid request could not be carried out.
    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self::new(code::INTERNAL, message)
    }

    /// Reports an unknown method.
    pub(super) fn unknown_method(method: &str) -> Self {
        Self::new(code::METHOD_NOT_FOUND, format!("method `{method}` does not exist"))
    }

    /// Reports a method whose capability this client did not advertise.
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
