//! The decisions of the client that the draft prescribes.

/// What the client does in the places where the draft prescribes it; the default follows the draft.
#[derive(Debug, Clone, Copy)]
pub struct DialRules {
    /// Whether the requests after `initialize` name the connection in a header.
    pub names_connection: bool,
    /// Whether the requests and notifications of a session name it in a header.
    pub names_session: bool,
    /// Whether the answers to requests of a session name it in a header.
    pub names_session_in_answers: bool,
    /// Whether each session gets a stream.
    pub opens_sessions: bool,
    /// Whether a GET accepts events.
    pub accepts_events: bool,
    /// Whether a POST is JSON.
    pub posts_json: bool,
    /// Whether the cookies of the server are returned.
    pub returns_cookies: bool,
    /// Whether the first message over a WebSocket is `initialize`.
    pub initializes_first: bool,
}

impl Default for DialRules {
    fn default() -> Self {
        Self {
            names_connection: true,
            names_session: true,
            names_session_in_answers: true,
            opens_sessions: true,
            accepts_events: true,
            posts_json: true,
            returns_cookies: true,
            initializes_first: true,
        }
    }
}
