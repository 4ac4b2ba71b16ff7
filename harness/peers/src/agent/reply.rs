//! Answers to requests, errors, and the log.

use agent_client_protocol::{Error, Protocol, Responder};
use serde::Serialize;
use serde_json::{Value, json};

/// Answers a request with a typed result.
pub(super) fn answer<T: Serialize, P: Protocol>(
    responder: Responder<Value, P>,
    result: Result<T, Error>,
) -> Result<(), Error> {
    let value = result.and_then(|value| serde_json::to_value(value).map_err(Error::into_internal_error));
    responder.respond_with_result(value)
}

/// Builds error -32602 with the reason in its data.
pub(super) fn invalid_params(reason: &str) -> Error {
    Error::invalid_params().data(json!({"reason": reason}))
}

/// Builds error -32600 with the reason in its data.
pub(super) fn invalid_request(reason: &str) -> Error {
    Error::invalid_request().data(json!({"reason": reason}))
}

/// Describes an error of the client in one line.
pub(super) fn describe(error: &Error) -> String {
    match &error.data {
        Some(data) if !matches!(data, Value::Null) => format!("{} ({}): {data}", error.message, error.code.value()),
        _ => format!("{} ({})", error.message, error.code.value()),
    }
}

/// Writes one line to stderr.
#[expect(clippy::print_stderr, reason = "stderr is the log of an ACP agent")]
pub(super) fn log(line: &str) {
    eprintln!("acp-reference-agent: {line}");
}
