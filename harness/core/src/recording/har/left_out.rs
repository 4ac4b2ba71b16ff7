//! What the importer leaves out of a HAR.

/// What the importer leaves out, as numbers.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// Entries that are not ACP.
    pub other: usize,
    /// Requests without the body or the headers that decide what they are.
    pub requests: usize,
    /// Responses without their headers, and bodies that should hold a message or events.
    pub responses: usize,
    /// WebSocket frames that end in the middle of a message.
    pub frames: usize,
    /// WebSockets next to HTTP.
    pub sockets: usize,
}

impl LeftOut {
    /// Describes each kind of what was left out.
    pub(super) fn remarks(&self) -> Vec<String> {
        let kinds = [
            (self.other, "entries that are not ACP are left out"),
            (self.requests, "requests without a saved body or headers are left out"),
            (self.responses, "responses without a saved body or headers are not checked"),
            (self.frames, "WebSocket frames that are cut off are left out"),
            (self.sockets, "WebSockets next to HTTP are left out; export them to a file of their own"),
        ];
        let some = kinds.into_iter().filter(|(number, _)| *number > 0);
        some.map(|(number, what)| format!("{what}: {number}")).collect()
    }
}
