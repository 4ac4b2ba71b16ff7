//! The differences between protocol majors that no schema contains: the place of values, and the end of a turn.

mod v2;

use serde_json::Value;

pub use self::v2::V2;
use super::capability::{self, Capability, Feature};
use crate::requirement::Party;
use crate::wire::Members;

/// One `session/update`, split into its parts.
#[derive(Debug, Clone, Copy)]
pub struct Update<'v> {
    /// Its session.
    pub session: &'v str,
    /// Its kind.
    pub variant: &'v str,
    /// The update object itself.
    pub body: &'v Value,
}

impl<'v> Update<'v> {
    /// Returns the text of its content.
    pub fn text(&self) -> Option<&'v str> {
        self.body.member("content")?.member("text")?.as_str()
    }
}

/// The differences between majors; everything else is shared or derived from the schema.
pub trait Adapter: Send + Sync + std::fmt::Debug {
    /// Returns the name of the member with the capabilities of a party in `initialize`.
    fn capabilities_member(&self, party: Party) -> &'static str {
        match party {
            Party::Agent => "agentCapabilities",
            Party::Client => "clientCapabilities",
        }
    }

    /// Returns the name of the required member of a permission request that says what it is about.
    fn permission_member(&self) -> &'static str;

    /// Returns the capabilities of a party: of a client in the params of `initialize`, of an agent in its result;
    /// `None` if absent or null.
    fn capabilities<'v>(&self, party: Party, initialize: &'v Value) -> Option<&'v Value> {
        initialize.given(self.capabilities_member(party))
    }

    /// Returns the capability of a party that allows a feature; `None` for a feature that needs none.
    fn capability(&self, party: Party, feature: Feature<'_>) -> Option<&'static Capability>;

    /// Whether the capability that allows the feature is among these of a party.
    fn has(&self, party: Party, capabilities: Option<&Value>, feature: Feature<'_>) -> bool {
        self.capability(party, feature).is_some_and(|needed| self.advertises(capabilities, needed.path))
    }

    /// Whether the feature needs a capability that is not among these of a party.
    fn lacks(&self, party: Party, capabilities: Option<&Value>, feature: Feature<'_>) -> bool {
        self.capability(party, feature).is_some_and(|needed| !self.advertises(capabilities, needed.path))
    }

    /// Whether the capability at `path` is advertised: for a boolean `true`, for an object its presence.
    fn advertises(&self, capabilities: Option<&Value>, path: &[&str]) -> bool;

    /// The name of the member with which a party introduces itself in `initialize`.
    fn info_member(&self, party: Party) -> &'static str {
        match party {
            Party::Agent => "agentInfo",
            Party::Client => "clientInfo",
        }
    }

    /// Whether null is the older form of an empty result.
    fn has_null_results(&self) -> bool {
        true
    }

    /// Whether a value of an open set that the schema does not define has to begin with an underscore.
    fn reserves_values(&self) -> bool {
        false
    }

    /// Returns the stop reason, if the result of this method ends a turn.
    fn turn_end<'v>(&self, method: &str, result: &'v Value) -> Option<&'v str>;

    /// Whether the response to a prompt ends its turn; otherwise it is a receipt, and the agent reports the end by a
    /// state update.
    fn response_ends_turn(&self) -> bool;

    /// Splits the params of a `session/update`; `None` if a part is missing.
    fn update<'v>(&self, params: &'v Value) -> Option<Update<'v>>;

    /// Whether an update of this variant is content of a turn, which is allowed only during a turn.
    fn is_turn_content(&self, variant: &str) -> bool;
}

/// Splits the params of a `session/update`, which have the same members in both versions.
fn update_in(params: &Value) -> Option<Update<'_>> {
    let body = params.member("update")?;
    let session = params.text("sessionId")?;
    Some(Update { session, variant: body.text("sessionUpdate")?, body })
}

/// Protocol version 1.
#[derive(Debug)]
pub struct V1;

impl Adapter for V1 {
    fn permission_member(&self) -> &'static str {
        "toolCall"
    }

    fn advertises(&self, capabilities: Option<&Value>, path: &[&str]) -> bool {
        let found = capabilities.and_then(|all| path.iter().try_fold(all, |value, key| value.member(key)));
        matches!(found, Some(Value::Bool(true) | Value::Object(_)))
    }

    fn capability(&self, party: Party, feature: Feature<'_>) -> Option<&'static Capability> {
        capability::find(capability::V1, party, feature)
    }

    fn turn_end<'v>(&self, method: &str, result: &'v Value) -> Option<&'v str> {
        (method == "session/prompt").then(|| result.member("stopReason")?.as_str()).flatten()
    }

    fn response_ends_turn(&self) -> bool {
        true
    }

    fn update<'v>(&self, params: &'v Value) -> Option<Update<'v>> {
        update_in(params)
    }

    fn is_turn_content(&self, variant: &str) -> bool {
        matches!(
            variant,
            "user_message_chunk"
                | "agent_message_chunk"
                | "agent_thought_chunk"
                | "tool_call"
                | "tool_call_update"
                | "plan"
        )
    }
}
