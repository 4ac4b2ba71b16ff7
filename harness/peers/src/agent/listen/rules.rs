//! The decisions of the server that the draft prescribes.

use hyper::StatusCode;

/// What the server does in the places where the draft prescribes it; the default follows the draft.
#[derive(Debug, Clone, Copy)]
pub struct ListenRules {
    /// The status of the answer to `initialize`.
    pub initialized: StatusCode,
    /// The status of any other POST that the agent gets.
    pub accepted: StatusCode,
    /// The status of a request that names an unknown connection.
    pub unknown_connection: StatusCode,
    /// Whether the answer to `initialize` and the upgrade to a WebSocket name the connection in a header.
    pub names_connection: bool,
    /// Whether a POST must be JSON.
    pub checks_content_type: bool,
    /// Whether a GET must accept events.
    pub checks_accept: bool,
    /// Whether a request must name its connection; otherwise it may mean any.
    pub requires_connection: bool,
    /// Whether a POST of a session must name that in a header.
    pub requires_session: bool,
    /// Whether the header with the session must be right.
    pub checks_session: bool,
    /// Whether a POST is accepted before the agent answers its message.
    pub accepts_at_once: bool,
    /// Whether an event is one message; otherwise it is a list of them.
    pub one_message_each: bool,
    /// Whether what belongs to no session is on the stream of the connection; otherwise it may be on that of a session.
    pub separates_connection: bool,
    /// Whether the messages of a session are on its own stream.
    pub separates_sessions: bool,
    /// Whether DELETE ends the connection.
    pub ends_deleted: bool,
    /// Whether binary frames of a WebSocket are ignored.
    pub ignores_binary: bool,
    /// Whether the end of a WebSocket ends the sessions of its connection.
    pub ends_closed: bool,
    /// Whether a WebSocket begins with `initialize`; otherwise the server does that in place of the client.
    pub requires_initialize: bool,
}

impl Default for ListenRules {
    fn default() -> Self {
        Self {
            initialized: StatusCode::OK,
            accepted: StatusCode::ACCEPTED,
            unknown_connection: StatusCode::NOT_FOUND,
            names_connection: true,
            checks_content_type: true,
            checks_accept: true,
            requires_connection: true,
            requires_session: true,
            checks_session: true,
            accepts_at_once: true,
            one_message_each: true,
            separates_connection: true,
            separates_sessions: true,
            ends_deleted: true,
            ignores_binary: true,
            ends_closed: true,
            requires_initialize: true,
        }
    }
}
