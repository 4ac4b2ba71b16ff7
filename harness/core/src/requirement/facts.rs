//! Facts of a requirement that programs read: its area, the parts of a recording that it needs, and other properties.

use serde::Deserialize;

/// An area of the protocol: the first word of an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Area<'r>(&'r str);

impl Area<'static> {
    /// Logins.
    pub const AUTH: Self = Self("auth");
    /// Cancelled turns.
    pub const CANCEL: Self = Self("cancel");
    /// Extensions.
    pub const EXT: Self = Self("ext");
    /// The files of the client.
    pub const FS: Self = Self("fs");
    /// Capabilities and the version.
    pub const INIT: Self = Self("init");
    /// Streamable HTTP and WebSocket.
    pub const HTTP: Self = Self("http");
    /// Envelopes of messages.
    pub const JSONRPC: Self = Self("jsonrpc");
    /// Lists of sessions.
    pub const LIST: Self = Self("list");
    /// Permissions for tool calls.
    pub const PERMISSION: Self = Self("permission");
    /// The opening of sessions.
    pub const SESSION: Self = Self("session");
    /// The terminals of the client.
    pub const TERMINAL: Self = Self("terminal");
    /// Tool calls.
    pub const TOOL: Self = Self("tool");
    /// Lines and streams.
    pub const TRANSPORT: Self = Self("transport");
}

impl<'r> Area<'r> {
    /// Returns the area of the requirement with this id.
    pub fn of(id: &'r str) -> Self {
        Self(id.split('.').next().unwrap_or(id))
    }

    /// Returns the area of an optional method on sessions: `load` for `session/load`.
    pub fn of_session_method(method: &'r str) -> Option<Self> {
        method.strip_prefix("session/").map(Self)
    }

    /// Returns the name.
    pub const fn name(self) -> &'r str {
        self.0
    }

    /// Whether it is about lines and envelopes, whatever they contain.
    pub fn is_below_content(self) -> bool {
        [Area::TRANSPORT, Area::JSONRPC].contains(&self)
    }

    /// Whether its requirements hold for every version of the protocol.
    pub fn is_versionless(self) -> bool {
        self.is_below_content() || self == Area::HTTP
    }

    /// Whether an agent satisfies or violates its requirements only when its model calls a tool.
    pub fn is_about_tools(self) -> bool {
        [Area::TOOL, Area::FS, Area::TERMINAL, Area::PERMISSION].contains(&self)
    }
}

/// A part of a recording. A requirement that needs it is not decided by a recording without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Need {
    /// The bytes as they were sent, rather than the text that they encode.
    Encoding,
    /// The ends of lines.
    Ends,
    /// The times of events.
    Times,
    /// The events of processes, such as the end of their input and signals.
    Processes,
    /// All updates of a replay.
    Replays,
    /// Texts as they were sent, and values that only the parties know. A redacted trace lacks them.
    Content,
    /// All messages since the beginning of the conversation.
    History,
    /// All answered requests, even of a long recording.
    Requests,
    /// All sessions and listings, even of a long recording.
    Sessions,
    /// All terminals, even of a long recording.
    Terminals,
    /// All tool calls and messages, even of a long recording.
    Tools,
}

/// A property of a requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flag {
    /// It is about the agreement on a version, whichever the parties agree on.
    AnyVersion,
    /// A missing answer to a request violates it, whatever the request is.
    AnyRequest,
    /// It restricts a party to the capabilities of the other, or to those that work.
    Capability,
    /// Only a party that knows the method of a request can violate it.
    KnownMethod,
    /// A program of an earlier revision of the version cannot know it.
    NewDuty,
}
