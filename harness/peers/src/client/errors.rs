//! The errors in the client's answers, and the display of the agent's errors.

use agent_client_protocol::{Error, ErrorCode};
use serde_json::json;

/// Builds error -32602 with the reason in its data.
pub(super) fn invalid(reason: &str) -> Error {
    Error::invalid_params().data(json!({ "reason": reason }))
}

/// Builds error -32002 for something that does not exist or no longer exists.
pub(super) fn not_found(reason: &str) -> Error {
    Error::new(ErrorCode::RESOURCE_NOT_FOUND, "Resource not found").data(json!({ "reason": reason }))
}

/// Builds error -32603 with the reason in its data.
pub(super) fn failed(reason: &str) -> Error {
    Error::internal_error().data(json!({ "reason": reason }))
}

/// Describes an error in one line.
pub(super) fn describe(error: &Error) -> String {
    if agent_client_protocol::is_incoming_transport_closed(error) {
        return "the connection ended".to_owned();
    }
    match &error.data {
        Some(data) if !data.is_null() => format!("{} ({}): {data}", error.message, error.code.value()),
        _ => format!("{} ({})", error.message, error.code.value()),
    }
}

/// The reason why the client did not do an act of its user.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The protocol forbids it here, or it has no effect.
    Refused(String),
    /// The agent failed or refused.
    Failed(String),
    /// A login in a terminal succeeded, and needs a new connection.
    LoggedIn,
}

impl Trouble {
    /// Builds a refusal.
    pub(super) fn refused(reason: impl Into<String>) -> Self {
        Self::Refused(reason.into())
    }

    /// Builds a failure from the error that the agent answered to a request.
    pub(super) fn failed(method: &str, error: &Error) -> Self {
        Self::Failed(format!("{method} failed: {}", describe(error)))
    }
}
