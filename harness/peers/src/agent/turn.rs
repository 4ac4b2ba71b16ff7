//! One prompt turn: from the accepted prompt to its response.
//!
//! A turn runs beside the dispatch of messages, so cancels and other sessions are served while it
//! waits. Every wait on the client ends when the turn is cancelled.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agent_client_protocol::{
    Client, Error, JsonRpcRequest,
    v1::{
        ConnectionTo, Responder,
        schema::{
            ContentBlock, ContentChunk, MessageId, PromptRequest, PromptResponse, SessionUpdate, StopReason, ToolCallId,
        },
    },
};
use serde_json::json;
use tokio::sync::watch;

use super::{
    Feature,
    intent::{Intent, prompt_text},
    play,
    server::{Agent, answer, invalid},
    session::Session,
};

/// Time that a client gets to answer a request after it cancelled the turn.
const GRACE: Duration = Duration::from_secs(1);
/// Largest size of one text chunk, in bytes.
const CHUNK: usize = 2048;
/// Largest number of characters of a session title.
const TITLE: usize = 60;

/// The turn was cancelled; nothing more is to be done for it.
#[derive(Debug)]
pub(super) struct Cancelled;

/// A running turn.
pub(super) struct Turn {
    pub agent: Arc<Agent>,
    pub session: Arc<Session>,
    pub connection: ConnectionTo<Client>,
    cancelled: watch::Receiver<bool>,
    open_tools: Mutex<Vec<ToolCallId>>,
}

impl Agent {
    /// Accepts or refuses `session/prompt`, and starts the turn.
    pub(super) fn prompt(self: &Arc<Self>, request: PromptRequest, responder: Responder) -> Result<(), Error> {
        match self.begin(&request) {
            Ok(turn) => {
                tokio::spawn(turn.run(request.prompt, responder));
                Ok(())
            }
            Err(error) => responder.respond_with_error(error),
        }
    }

    fn begin(self: &Arc<Self>, request: &PromptRequest) -> Result<Turn, Error> {
        let session = self.session(&request.session_id)?;
        self.check_prompt(&request.prompt)?;
        let connection = self.connection().cloned().ok_or_else(Error::internal_error)?;
        let busy = || Error::invalid_request().data(json!({"reason": "the session has a running turn"}));
        let cancelled = session.begin_turn().ok_or_else(busy)?;
        Ok(Turn { agent: Arc::clone(self), session, connection, cancelled, open_tools: Mutex::default() })
    }

    fn check_prompt(&self, prompt: &[ContentBlock]) -> Result<(), Error> {
        let accepts = |block: &ContentBlock| match block {
            ContentBlock::Text(_) | ContentBlock::ResourceLink(_) => true,
            ContentBlock::Image(_) => self.options.with(Feature::Image),
            ContentBlock::Audio(_) => self.options.with(Feature::Audio),
            ContentBlock::Resource(_) => self.options.with(Feature::Embedded),
            _ => false,
        };
        if prompt.is_empty() {
            return Err(invalid("the prompt is empty"));
        }
        if prompt.iter().all(accepts) { Ok(()) } else { Err(invalid("the prompt has content of an unsupported type")) }
    }
}

impl Turn {
    async fn run(self, prompt: Vec<ContentBlock>, responder: Responder) {
        let cancellation = responder.cancellation();
        let session = Arc::clone(&self.session);
        let withdrawal = tokio::spawn(async move {
            cancellation.cancelled().await;
            session.cancel();
        });
        let before = self.session.record().history.len();
        self.remember_prompt(&prompt);
        let played = self.play(&prompt).await;
        withdrawal.abort();

        let stop =
            if *self.cancelled.borrow() { StopReason::Cancelled } else { played.unwrap_or(StopReason::Cancelled) };
        if stop == StopReason::Cancelled {
            self.abandon_tools();
        }
        if stop == StopReason::Refusal {
            self.session.record().history.truncate(before);
        }
        self.agent.save(&self.session);
        self.end(stop, responder);
    }

    async fn play(&self, prompt: &[ContentBlock]) -> Result<StopReason, Cancelled> {
        self.check()?;
        match Intent::of_prompt(prompt, self.agent.options.with(Feature::Commands)) {
            Ok(intent) => play::play(self, intent, prompt).await,
            Err(problem) => {
                self.say(&problem);
                Ok(StopReason::EndTurn)
            }
        }
    }

    fn end(self, stop: StopReason, responder: Responder) {
        self.session.end_turn();
        // Fails only when the connection has ended.
        let _ = answer(responder, Ok(PromptResponse::new(stop)));
    }

    fn remember_prompt(&self, prompt: &[ContentBlock]) {
        let id = self.next_message_id();
        let title: String = prompt_text(prompt).trim().lines().next().unwrap_or_default().chars().take(TITLE).collect();
        {
            let mut record = self.session.record();
            record.turns += 1;
            if record.title.is_none() && !title.is_empty() {
                record.title = Some(title);
            }
        }
        for block in prompt {
            let chunk = ContentChunk::new(block.clone()).message_id(id.clone());
            self.session.remember(&SessionUpdate::UserMessageChunk(chunk));
        }
    }

    /// Tells whether the turn was cancelled.
    pub(super) fn was_cancelled(&self) -> bool {
        *self.cancelled.borrow()
    }

    /// Fails if the turn was cancelled.
    pub(super) fn check(&self) -> Result<(), Cancelled> {
        if self.was_cancelled() { Err(Cancelled) } else { Ok(()) }
    }

    /// Waits for a cancel.
    pub(super) async fn cancelled(&self) {
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

    /// Asks the client; a cancel withdraws the request with `$/cancel_request`.
    pub(super) async fn request<R: JsonRpcRequest>(&self, request: R) -> Result<Result<R::Response, Error>, Cancelled> {
        self.check()?;
        self.unless_cancelled(self.connection.send_request(request).block_task()).await
    }

    /// Asks the client and takes its answer even after a cancel, if it comes within a second.
    pub(super) async fn request_to_end<R: JsonRpcRequest>(&self, request: R) -> Option<Result<R::Response, Error>> {
        let answer = self.connection.send_request(request).block_task();
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
        self.agent.notify(&self.session, update);
    }

    /// Says a text as one message of the agent.
    pub(super) fn say(&self, text: &str) {
        let id = self.next_message_id();
        cut(text).for_each(|part| self.say_part(&id, ContentBlock::from(part.to_owned())));
    }

    /// Thinks a text as one thought of the agent.
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

    /// Returns an id that no other message of the session has.
    pub(super) fn next_message_id(&self) -> MessageId {
        let mut record = self.session.record();
        record.last_message += 1;
        MessageId::new(format!("message-{}", record.last_message))
    }

    /// Returns an id that no other tool call of the session has.
    pub(super) fn next_tool_id(&self) -> ToolCallId {
        let mut record = self.session.record();
        record.last_tool += 1;
        ToolCallId::new(format!("call-{}", record.last_tool))
    }

    /// Gives access to the tool calls that have no final status yet.
    pub(super) fn open_tools(&self) -> std::sync::MutexGuard<'_, Vec<ToolCallId>> {
        self.open_tools.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Cuts a text into chunks at character boundaries.
fn cut(text: &str) -> impl Iterator<Item = &str> {
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
