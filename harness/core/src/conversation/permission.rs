//! Permission requests and the decisions of the client.

use serde_json::Value;

use crate::conversation::outcome::Outcome;
use crate::wire::Members;

/// A permission request about a tool call.
#[derive(Debug, Clone)]
pub struct Permission {
    /// The event of the request.
    pub n: usize,
    /// The answer, if there is one.
    pub answer: Option<(usize, Decision)>,
}

/// The decision of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// An option of an allow kind was chosen.
    Allowed,
    /// An option of a reject kind was chosen.
    Rejected,
    /// The outcome was `cancelled`.
    Cancelled,
    /// Any other answer, such as an error.
    Other,
}

impl Decision {
    /// Reads the answer to a permission request.
    pub(crate) fn of(request: &Value, outcome: Outcome<'_>) -> Self {
        let Outcome::Result(result) = outcome else { return Self::Other };
        let member = |name: &str| result.member("outcome").and_then(|outcome| outcome.member(name));
        let chosen = match member("outcome").and_then(Value::as_str) {
            Some("cancelled") => return Self::Cancelled,
            Some("selected") => member("optionId"),
            _ => return Self::Other,
        };
        let options = request.list("options").iter();
        let kind = options.into_iter().find(|option| option.member("optionId") == chosen).and_then(|o| o.text("kind"));
        match kind {
            Some("allow_once" | "allow_always") => Self::Allowed,
            Some("reject_once" | "reject_always") => Self::Rejected,
            _ => Self::Other,
        }
    }
}
