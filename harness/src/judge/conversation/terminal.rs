//! A terminal that the client runs for the agent.

/// A terminal, from its creation to its release.
#[derive(Debug, Clone)]
pub struct Terminal {
    /// The session that it was created in.
    pub session: String,
    /// The event of the client's answer with the id.
    pub created: usize,
    /// The event of the first `terminal/kill`.
    pub killed: Option<usize>,
    /// The event of the `terminal/release`.
    pub released: Option<usize>,
    /// The event that first embedded it in a tool call.
    pub embedded: Option<usize>,
    /// The event of the prompt whose turn was running when it was created.
    pub turn: Option<usize>,
    /// The event that told the agent that the command had ended.
    pub exited: Option<usize>,
    /// The event of the last output that the agent got.
    pub read: Option<usize>,
    /// Whether the client answered a release with an error.
    pub release_refused: bool,
}
