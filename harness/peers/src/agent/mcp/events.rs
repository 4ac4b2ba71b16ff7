//! Server-sent events of an MCP server.

use futures::StreamExt as _;
use hyper::body::Incoming;
use sse_stream::SseStream;

/// A stream of events.
pub(super) struct Events(SseStream<Incoming>);

/// One event.
pub(super) struct Event {
    pub kind: Option<String>,
    pub data: String,
}

impl Events {
    pub(super) fn new(body: Incoming) -> Self {
        Self(SseStream::new(body))
    }

    /// Waits for the next event with data.
    pub(super) async fn next(&mut self) -> Result<Event, String> {
        loop {
            let event = self.0.next().await.ok_or("the stream ended")?.map_err(|error| error.to_string())?;
            if let Some(data) = event.data {
                return Ok(Event { kind: event.event, data });
            }
        }
    }
}
