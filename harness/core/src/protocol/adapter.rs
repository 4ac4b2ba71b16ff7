//! The differences between protocol majors that no schema contains: the place of values, and the end of a turn.

mod v2;

use std::borrow::Cow;

use serde_json::Value;

pub use self::v2::V2;
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
    #[must_use]
    pub fn text(&self) -> Option<&'v str> {
        self.body.member("content")?.member("text")?.as_str()
    }
}

/// The differences between majors; everything else is shared or derived from the schema.
pub trait Adapter: Send + Sync {
    /// Returns the name of the member with the capabilities of a party in `initialize`.
    fn capabilities_member(&self, party: Party) -> &'static str {
        match party {
            Party::Agent => "agentCapabilities",
            Party::Client => "clientCapabilities",
        }
    }

    /// Returns the name of the required member of a permission request that says what it is about.
    fn permission_member(&self) -> &'static str;

    /// Returns the client's capabilities in the params of `initialize`; `None` if absent or null.
    fn client_capabilities<'v>(&self, initialize: &'v Value) -> Option<&'v Value> {
        initialize.member(self.capabilities_member(Party::Client)).filter(|value| !value.is_null())
    }

    /// Returns the agent's capabilities in the result of `initialize`; `None` if absent or null.
    fn agent_capabilities<'v>(&self, result: &'v Value) -> Option<&'v Value> {
        result.member(self.capabilities_member(Party::Agent)).filter(|value| !value.is_null())
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

    /// The path, in the agent's capabilities, of the one that stands at `path` in version 1.
    fn agent_path<'p>(&self, path: &'p [&'p str]) -> Cow<'p, [&'p str]> {
        path.into()
    }

    /// Whether a value of an open set that the schema does not define has to begin with an underscore.
    fn reserves_values(&self) -> bool {
        false
    }

    /// Returns the path of the agent's capability that announces an optional method; `None` for a method that every agent has.
    fn capability_of(&self, method: &str) -> Option<&'static [&'static str]>;

    /// Returns the path of the client's capability that announces a method of the client; `None` for a method that every client
    /// has.
    fn client_capability_of(&self, method: &str) -> Option<&'static [&'static str]>;

    /// Returns the stop reason, if the result of this method ends a turn.
    fn turn_end<'v>(&self, method: &str, result: &'v Value) -> Option<&'v str>;

    /// Whether the response to a prompt ends its turn; otherwise it is a receipt, and the agent reports the end by a state
    /// update.
    fn response_ends_turn(&self) -> bool;

    /// Splits the params of a `session/update`; `None` if a part is missing.
    fn update<'v>(&self, params: &'v Value) -> Option<Update<'v>>;

    /// Whether an update of this variant is content of a turn, which is allowed only during a turn.
    fn is_turn_content(&self, variant: &str) -> bool;
}

/// Splits the params of a `session/update`, which have the same members in both versions.
fn update_in(params: &Value) -> Option<Update<'_>> {
    let body = params.member("update")?;
    let session = params.member("sessionId")?.as_str()?;
    Some(Update { session, variant: body.member("sessionUpdate")?.as_str()?, body })
}

/// Protocol version 1.
pub struct V1;

impl Adapter for V1 {
    fn permission_member(&self) -> &'static str {
        "toolCall"
    }

    fn advertises(&self, capabilities: Option<&Value>, path: &[&str]) -> bool {
        let found = capabilities.and_then(|all| path.iter().try_fold(all, |value, key| value.member(key)));
        matches!(found, Some(Value::Bool(true) | Value::Object(_)))
    }

    fn capability_of(&self, method: &str) -> Option<&'static [&'static str]> {
        Some(match method {
            "session/load" => &["loadSession"],
            "session/resume" => &["sessionCapabilities", "resume"],
            "session/list" => &["sessionCapabilities", "list"],
            "session/delete" => &["sessionCapabilities", "delete"],
            "session/close" => &["sessionCapabilities", "close"],
            "logout" => &["auth", "logout"],
            _ => return None,
        })
    }

    fn client_capability_of(&self, method: &str) -> Option<&'static [&'static str]> {
        Some(match method {
            "fs/read_text_file" => &["fs", "readTextFile"],
            "fs/write_text_file" => &["fs", "writeTextFile"],
            "elicitation/create" => &["elicitation"],
            _ if method.starts_with("terminal/") => &["terminal"],
            _ => return None,
        })
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
