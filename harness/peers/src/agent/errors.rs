//! Errors, and the log.

use agent_client_protocol::Error;
use serde_json::{Value, json};

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
