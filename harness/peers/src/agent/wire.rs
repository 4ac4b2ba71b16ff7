//! The border between the agent and the protocol.
//!
//! The agent itself knows no type of a protocol version. `v1` and `v2` read the requests of the client as a [`Call`], and
//! write what the agent answers and sends through [`Wire`].

use std::path::PathBuf;

use agent_client_protocol::{Error, RawJsonRpcId, UntypedMessage};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    client::Capabilities,
    mcp::McpServer,
    options::Protocol,
    settings::{Choice, Settings},
    store::Record,
    update::{Block, Update},
};

/// A message to the client.
pub(super) type Message = Result<UntypedMessage, Error>;
/// The answer to a request of the client.
pub(super) type Reply = Result<Value, Error>;

/// Writes messages in one version of the protocol.
pub(super) trait Wire: Send + Sync {
    /// The version.
    fn version(&self) -> Protocol;

    /// Answers `initialize`.
    fn initialized(&self) -> Reply;

    /// Answers a request that opened a session; a new session has an id that the client does not know.
    fn opened(&self, new_id: Option<&str>, settings: &Settings) -> Reply;

    /// Answers `session/list`.
    fn listed(&self, sessions: &[Record], next_cursor: Option<String>) -> Reply;

    /// Answers `session/set_config_option`.
    fn configured(&self, settings: &Settings) -> Reply;

    /// Writes an update of a session; the version may need several messages for it, or have none.
    fn updates(&self, session: &str, update: &Update) -> Result<Vec<UntypedMessage>, Error>;

    /// Asks for permission.
    fn permission(&self, session: &str, question: &Question) -> Message;

    /// Asks the user something else.
    fn elicitation(&self, scope: Scope, message: &str, mode: Elicitation) -> Message;

    /// Reports that a page was visited.
    fn visited(&self, elicitation: &str) -> Message;
}

/// A request or notification of the client.
pub(super) enum Call {
    Initialize(Capabilities),
    LogIn {
        method: String,
    },
    LogOut,
    NewSession(Setup),
    /// Opens a session again, and sends its history if `replays`.
    OpenSession {
        session: String,
        setup: Setup,
        replays: bool,
    },
    CloseSession {
        session: String,
    },
    DeleteSession {
        session: String,
    },
    ListSessions {
        cwd: Option<PathBuf>,
        cursor: Option<String>,
    },
    SetMode {
        session: String,
        mode: String,
    },
    SetConfigOption {
        session: String,
        option: String,
        value: Choice,
    },
    CancelTool {
        session: String,
        tool: String,
    },
    CancelTerminal {
        session: String,
        terminal: String,
    },
    Prompt {
        session: String,
        content: Vec<Block>,
    },
    /// Cancels the turn of a session; a notification.
    Cancel {
        session: String,
    },
    /// A message of an extension with its params.
    Extension {
        method: String,
        params: Value,
    },
    /// Something that this agent does not implement.
    Unknown,
}

/// The client's settings for opening a session.
pub(super) struct Setup {
    pub cwd: PathBuf,
    pub roots: Vec<PathBuf>,
    pub servers: Vec<McpServer>,
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

/// The owner of an elicitation.
pub(super) enum Scope {
    Session(String),
    /// A request that precedes every session.
    Request(RawJsonRpcId),
}

/// The way in which the user answers an elicitation.
pub(super) enum Elicitation {
    /// A form with one text field, perhaps with choices.
    Form { field: &'static str, choices: Vec<String> },
    /// A page to visit.
    Page { id: String, url: String },
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
