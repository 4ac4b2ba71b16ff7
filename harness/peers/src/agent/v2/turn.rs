//! A turn: the foreground work for one prompt.
//!
//! A turn runs next to the dispatch of messages, so the agent serves cancels and other sessions while the turn waits.
//! Every wait on the client ends when the turn is cancelled.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use agent_client_protocol::{
    Error, JsonRpcRequest,
    v2::schema::{AgentThought, ContentBlock, ContentChunk, MessageId, SessionUpdate, ToolCallId},
};
use tokio::sync::watch;

use super::{
    client::Client,
    session::{Foreground, Session, State},
};
use crate::agent::{
    sync::lock,
    turn::{Cancelled, cut},
};

/// A running turn.
pub(super) struct Turn {
    pub client: Arc<Client>,
    pub session: Arc<Session>,
    cancelled: watch::Receiver<()>,
    /// The tool calls that have no final status yet.
    open_tools: Mutex<Vec<ToolCallId>>,
}

impl Turn {
    /// Begins a turn, which the receiver cancels.
    pub(super) fn begin(client: Arc<Client>, session: Arc<Session>, cancelled: watch::Receiver<()>) -> Self {
        Self { client, session, cancelled, open_tools: Mutex::default() }
    }

    /// Returns whether the client cancelled the turn.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cancelled.has_changed().unwrap_or(true)
    }

    /// Fails if the turn was cancelled.
    pub(super) fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }

    /// Waits for a cancel.
    pub(super) async fn cancelled(&self) {
        // An error means that the session is gone.
        let _ = self.cancelled.clone().changed().await;
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

    /// Sends the client a request; a cancel withdraws it with `$/cancel_request`.
    pub(super) async fn request<R: JsonRpcRequest>(&self, request: R) -> Result<Result<R::Response, Error>, Cancelled> {
        self.check()?;
        self.unless_cancelled(self.client.connection.send_request(request).block_task()).await
    }

    /// Asks the user, without whom the turn cannot go on.
    pub(super) async fn ask<R: JsonRpcRequest>(&self, request: R) -> Result<Result<R::Response, Error>, Cancelled> {
        self.check()?;
        let wait = |state: &mut State| {
            state.n_questions += 1;
            state.foreground = Foreground::RequiresAction;
        };
        self.session.change_state(wait, None);
        let answer = self.request(request).await?;
        let go_on = |state: &mut State| {
            state.n_questions -= 1;
            if state.n_questions == 0 {
                state.foreground = Foreground::Running;
            }
        };
        self.session.change_state(go_on, None);
        Ok(answer)
    }

    /// Says a text as one message, chunk by chunk.
    pub(super) fn say(&self, text: &str) {
        let id = self.next_message_id();
        cut(text).for_each(|part| self.say_part(&id, ContentBlock::from(part.to_owned())));
    }

    /// Thinks a text as one whole thought.
    pub(super) fn think(&self, text: &str) {
        let thought = AgentThought::new(self.next_message_id()).content(vec![ContentBlock::from(text.to_owned())]);
        self.session.update(SessionUpdate::AgentThought(thought));
    }

    /// Sends one chunk of a message of the agent.
    pub(super) fn say_part(&self, id: &MessageId, content: ContentBlock) {
        self.session.update(SessionUpdate::AgentMessageChunk(ContentChunk::new(content, id.clone())));
    }

    /// Returns an id that no other message of the session has.
    pub(super) fn next_message_id(&self) -> MessageId {
        let mut record = self.session.record();
        record.last_message += 1;
        MessageId::new(format!("message-{}", record.last_message))
    }

    /// Returns a number that no other tool call of the session has.
    pub(super) fn next_tool(&self) -> u64 {
        let mut record = self.session.record();
        record.last_tool += 1;
        record.last_tool
    }

    /// Notes that a tool call has begun.
    pub(super) fn open_tool(&self, id: ToolCallId) {
        lock(&self.open_tools).push(id);
    }

    /// Notes that a tool call has its final status.
    pub(super) fn close_tool(&self, id: &ToolCallId) {
        lock(&self.open_tools).retain(|open| open != id);
    }

    /// Closes all tool calls, and returns those that were open.
    pub(super) fn close_tools(&self) -> Vec<ToolCallId> {
        std::mem::take(&mut *lock(&self.open_tools))
    }
}
