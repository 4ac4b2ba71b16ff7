//! A transformation that the protocol forbids, to prove that false failures would be detected.

use super::{How, Kind};

/// Adds a member of its own at the root of a type: "Implementations MUST NOT add any custom fields at the root of a
/// type".
pub const ILLEGAL: &Kind = &Kind {
    name: "custom-root-field",
    rule: "none; extensibility forbids it",
    how: How::Edit(|message, choices| {
        if message.calls("session/update") && choices.site().is_some() {
            message.value["params"]["update"]["vendor"] = true.into();
        }
    }),
};
