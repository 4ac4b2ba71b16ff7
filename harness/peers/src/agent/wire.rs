//! The border between the agent and the versions of the protocol.
//!
//! The versions name most members of their messages alike. The agent reads those as JSON, after the SDK has checked
//! that they fit their version. What differs is written by `v1` and `v2` through [`Wire`].

use std::path::PathBuf;

use agent_client_protocol::{Error, UntypedMessage};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{capabilities::Capabilities, options::Protocol, settings::Settings, store::Record, update::Update};

/// A message to the client.
pub(super) type Message = Result<UntypedMessage, Error>;
/// The answer to a request of the client.
pub(super) type Reply = Result<Value, Error>;

/// Writes messages in one version of the protocol.
pub(super) trait Wire: Send + Sync {
    fn version(&self) -> Protocol;

    /// Reads the capabilities of the client in the params of `initialize`.
    fn capabilities(&self, params: Value) -> Result<Capabilities, Error>;

    /// Answers `initialize`.
    fn initialized(&self) -> Reply;

    /// Answers a request that opened a session; a new session has an id that the client does not know.
    fn opened(&self, new_id: Option<&str>, settings: &Settings) -> Reply;

    /// Answers `session/list`.
    fn listed(&self, sessions: &[Record], next_cursor: Option<String>) -> Reply;

    /// Answers `session/set_config_option`.
    fn configured(&self, settings: &Settings) -> Reply;

    /// Writes an update of a session for a client; the version may need several messages for it, or have none.
    fn updates(&self, session: &str, update: &Update, client: Capabilities) -> Result<Vec<UntypedMessage>, Error>;

    /// Asks for permission.
    fn permission(&self, session: &str, question: &Question) -> Message;
}

/// The subject of a permission request.
pub(super) struct Question {
    pub title: String,
    pub tool: String,
    /// The command line and working directory, if it is about a command.
    pub command: Option<(String, PathBuf)>,
}

/// The options of each permission request: id, name and kind.
pub(super) const OPTIONS: [PermissionOption; 4] = [
    PermissionOption { option_id: "allow-once", name: "Allow", kind: "allow_once" },
    PermissionOption { option_id: "allow-always", name: "Always allow", kind: "allow_always" },
    PermissionOption { option_id: "reject-once", name: "Reject", kind: "reject_once" },
    PermissionOption { option_id: "reject-always", name: "Always reject", kind: "reject_always" },
];

/// One option of a permission request.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PermissionOption {
    pub option_id: &'static str,
    pub name: &'static str,
    pub kind: &'static str,
}

/// Converts data to a type of the SDK with the same JSON, or back.
pub(super) fn alike<T: DeserializeOwned>(data: impl Serialize) -> Result<T, Error> {
    let value = serde_json::to_value(data).map_err(Error::into_internal_error)?;
    serde_json::from_value(value).map_err(Error::into_internal_error)
}

/// Converts an answer to JSON.
pub(super) fn to_reply(answer: impl Serialize) -> Reply {
    serde_json::to_value(answer).map_err(Error::into_internal_error)
}
