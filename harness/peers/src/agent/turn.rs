//! A turn: the agent's updates and requests between a prompt and its response.
//!
//! A turn runs in parallel to the dispatch of messages, so the agent handles cancels and other sessions while the turn waits.
//! Every wait on the client ends when the turn is cancelled.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use agent_client_protocol::{
    Error, JsonRpcRequest,
    v1::schema::{ContentBlock, ContentChunk, MessageId, SessionUpdate, ToolCallId},
};
use tokio::sync::watch;

use super::{client::Client, reply::invalid_request, session::Session, sync::lock};

/// Time that a client gets to answer a request after it cancelled the turn.
const GRACE: Duration = Duration::from_secs(1);
/// Largest size of one text chunk, in bytes.
const CHUNK: usize = 2048;

/// The turn was cancelled and does nothing more.
#[derive(Debug)]
pub(super) struct Cancelled;

/// A running turn.
pub(super) struct Turn {
    pub client: Arc<Client>,
    pub session: Arc<Session>,
    cancelled: watch::Receiver<bool>,
    /// The tool calls that have no final status yet.
    open_tools: Mutex<Vec<ToolCallId>>,
}

impl Turn {
    /// Begins a turn unless the session has a running one.
    pub(super) fn begin(client: Arc<Client>, session: Arc<Session>) -> Result<Self, Error> {
        let cancelled = session.begin_turn().ok_or_else(|| invalid_request("the session has a running turn"))?;
        Ok(Self { client, session, cancelled, open_tools: Mutex::default() })
    }

    /// Returns whether the client cancelled the turn.
    pub(super) fn is_cancelled(&self) -> bool {
        *self.cancelled.borrow()
    }

    /// Fails if the turn was cancelled.
    pub(super) fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }

    /// Waits for a cancel.
    async fn cancelled(&self) {
        let mut cancelled = self.cancelled.clone();
        if cancelled.wait_for(|cancelled| *cancelled).await.is_err() {
            std::future::pending().await
        }
    }

    /// Waits for some time, or for a cancel.
    pub(super) async fn pause(&self, time: Duration) -> Result<(), Cancelled> {
        self.unless_cancelled(tokio::time::sleep(time)).await
    }

    /// Waits for some work, or for a cancel, which drops the work.
    pub(super) async fn unless_cancelled<T>(&self, work: impl Future<Output = T>) -> Result<T, Cancelled> {
        self.check()?;
        tokio::select! {
            biased;
            () = self.cancelled() => Err(Cancelled),
            done = work => Ok(done),
        }
    }

    /// Sends a request to the client; a cancel withdraws the request with `$/cancel_request`.
    pub(super) async fn request<R: JsonRpcRequest>(&self, request: R) -> Result<Result<R::Response, Error>, Cancelled> {
        self.check()?;
        self.unless_cancelled(self.client.connection.send_request(request).block_task()).await
    }

    /// Sends a request to the client and accepts its answer even after a cancel, if it comes within a second.
    pub(super) async fn request_to_end<R: JsonRpcRequest>(&self, request: R) -> Option<Result<R::Response, Error>> {
        let answer = self.client.connection.send_request(request).block_task();
        let given_up = async {
            self.cancelled().await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            answer = answer => Some(answer),
            () = given_up => None,
        }
    }

    /// Sends an update and keeps it in the history.
    pub(super) fn update(&self, update: SessionUpdate) {
        self.session.remember(&update);
        self.client.update(&self.session, update);
    }

    /// Sends a text as one message of the agent.
    pub(super) fn say(&self, text: &str) {
        let id = self.next_message_id();
        cut(text).for_each(|part| self.say_part(&id, ContentBlock::from(part.to_owned())));
    }

    /// Sends a text as one thought of the agent.
    pub(super) fn think(&self, text: &str) {
        let id = self.next_message_id();
        for part in cut(text) {
            let chunk = ContentChunk::new(ContentBlock::from(part.to_owned())).message_id(id.clone());
            self.update(SessionUpdate::AgentThoughtChunk(chunk));
        }
    }

    /// Sends one chunk of a message of the agent.
    pub(super) fn say_part(&self, id: &MessageId, content: ContentBlock) {
        self.update(SessionUpdate::AgentMessageChunk(ContentChunk::new(content).message_id(id.clone())));
    }

    /// Returns an id unique in the session.
    pub(super) fn next_message_id(&self) -> MessageId {
        let mut record = self.session.record();
        record.last_message += 1;
        MessageId::new(format!("message-{}", record.last_message))
    }

    /// Begins a tool call with an id unique in the session.
    pub(super) fn open_tool(&self) -> ToolCallId {
        let mut record = self.session.record();
        record.last_tool += 1;
        let id = ToolCallId::new(format!("call-{}", record.last_tool));
        lock(&self.open_tools).push(id.clone());
        id
    }

    /// Records that a tool call has its final status.
    pub(super) fn close_tool(&self, id: &ToolCallId) {
        lock(&self.open_tools).retain(|open| open != id);
    }

    /// Closes all tool calls, and returns those that were open.
    pub(super) fn close_tools(&self) -> Vec<ToolCallId> {
        std::mem::take(&mut *lock(&self.open_tools))
    }
}

/// Cuts a text into chunks at character boundaries.
pub(super) fn cut(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    let mut is_first = true;
    std::iter::from_fn(move || {
        if rest.is_empty() && !is_first {
            return None;
        }
        is_first = false;
        let longest = rest.len().min(CHUNK);
        let end = (0..=longest).rev().find(|index| rest.is_char_boundary(*index));
        let (part, tail) = rest.split_at(end.unwrap_or(0));
        rest = tail;
        Some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn cuts_between_characters() {
        let text = "é".repeat(3000);
        assert_eq!(cut(&text).collect::<String>(), text);
        assert_eq!(cut(&text).count(), 3);
        assert_eq!(cut("").collect::<Vec<_>>(), [""]);
    }
}
