//! What differs between the major versions of the protocol.

use std::path::PathBuf;

use agent_client_protocol::v1::schema::McpServer;
use serde_json::Value;

use super::{agent_info::AgentInfo, options::Options};

/// How a major version names things and builds messages.
pub(super) struct Major {
    /// Its number in `initialize`.
    pub number: u64,
    /// The method that logs in.
    pub login: &'static str,
    /// The method that logs out.
    pub logout: &'static str,
    /// The member with the id of a config option.
    pub option_id: &'static str,
    /// The type of a value of a select option in `session/set_config_option`, if one is sent.
    pub choice_type: Option<&'static str>,
    /// Whether the response to a prompt ends the turn; otherwise an update does.
    pub response_ends_turn: bool,
    /// Builds the params of `initialize`.
    pub initialize: fn(&Options) -> Value,
    /// Reads the result of `initialize`; a member of the wrong type counts as missing.
    pub agent: fn(&Value) -> AgentInfo,
    /// Builds the request that opens a session.
    pub open: fn(Start, Place) -> (&'static str, Value),
}

/// The way to open a session.
#[derive(Debug, Clone)]
pub(super) enum Start {
    New,
    /// With its history.
    Load(String),
    /// Without its history.
    Resume(String),
}

/// The surroundings of a session.
#[derive(Debug)]
pub(super) struct Place {
    pub cwd: PathBuf,
    pub directories: Vec<PathBuf>,
    /// The MCP servers, as version 1 describes them.
    pub servers: Vec<McpServer>,
}
