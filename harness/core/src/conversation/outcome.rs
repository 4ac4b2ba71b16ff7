//! The content of an answer: a result or an error.

use serde_json::Value;

use crate::wire::Members;

/// The content of an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome<'m> {
    /// A result.
    Result(&'m Value),
    /// An error.
    Error(&'m Value),
}

impl Outcome<'_> {
    /// Returns the code of an error.
    pub fn error_code(&self) -> Option<i64> {
        match self {
            Self::Error(error) => error.member("code")?.as_i64(),
            Self::Result(_) => None,
        }
    }

    /// Describes it in messages: `a result` or `error -32601 (method not found)`.
    pub fn describe(&self) -> String {
        match self {
            Self::Result(_) => "a result".to_owned(),
            Self::Error(error) => {
                let message = error.text("message").unwrap_or_default();
                format!("error {} ({message})", error.member("code").unwrap_or(&Value::Null))
            }
        }
    }
}
