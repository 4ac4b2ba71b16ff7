//! A turn: the foreground work for one prompt.
//!
//! A turn runs in parallel to the dispatch of messages, so the agent handles cancels and other sessions while the turn
//! waits. Every wait on the client ends when the turn is cancelled.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use agent_client_protocol::{Error, JsonRpcRequest, UntypedMessage};
use serde_json::Value;
use tokio::sync::watch;

use super::{
    client::Client,
    session::Session,
    update::{Block, Foreground, State, Update},
    wire::Message,
};
use crate::sync::lock;

/// Time that a client gets to answer a request after it cancelled the turn.
const GRACE: Duration = Duration::from_secs(1);
/// Largest size of one text chunk, in bytes.
const CHUNK: usize = 256;

/// The turn was cancelled and does nothing more.
#[derive(Debug)]
pub(super) struct Cancelled;

/// A running turn.
pub(super) struct Turn {
    pub client: Arc<Client>,
    pub session: Arc<Session>,
    cancelled: watch::Receiver<()>,
    /// The tool calls that have no final status yet.
    pub open_tools: Mutex<Vec<String>>,
}

impl Turn {
    /// Begins a turn that every cancel from now on ends.
    pub(super) fn begin(client: Arc<Client>, session: Arc<Session>) -> Self {
        let cancelled = session.cancels();
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

    /// Sends a request to the client; a cancel withdraws the request with `$/cancel_request`.
    pub(super) async fn request<R: JsonRpcRequest>(
        &self,
        request: Result<R, Error>,
    ) -> Result<Result<R::Response, Error>, Cancelled> {
        self.check()?;
        match request {
            Ok(request) => self.unless_cancelled(self.client.connection.send_request(request).block_task()).await,
            Err(error) => Ok(Err(error)),
        }
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

    /// Asks the user, without whom the turn cannot continue.
    pub(super) async fn ask(&self, question: Message) -> Result<Result<Value, Error>, Cancelled> {
        self.check()?;
        let wait = |state: &mut State| {
            state.n_questions += 1;
            state.foreground = Foreground::RequiresAction;
        };
        self.session.change_state(wait, None);
        let answer = self.request::<UntypedMessage>(question).await?;
        let go_on = |state: &mut State| {
            state.n_questions -= 1;
            if state.n_questions == 0 {
                state.foreground = Foreground::Running;
            }
        };
        self.session.change_state(go_on, None);
        Ok(answer)
    }

    /// Sends a text as one message of the agent, chunk by chunk.
    pub(super) fn say(&self, text: &str) {
        let id = self.next_message_id();
        cut(text).for_each(|part| self.say_part(&id, part));
    }

    /// Sends one chunk of a message of the agent.
    pub(super) fn say_part(&self, id: &str, text: &str) {
        self.session.update(Update::AgentMessageChunk(id.to_owned(), Block::text(text)));
    }

    /// Returns an id that no other message of the session has.
    pub(super) fn next_message_id(&self) -> String {
        let mut record = self.session.record();
        record.last_message += 1;
        format!("message-{}", record.last_message)
    }

    /// Begins a tool call with an id that no other one of the session has.
    pub(super) fn open_tool(&self) -> String {
        let mut record = self.session.record();
        record.last_tool += 1;
        let id = format!("call-{}", record.last_tool);
        lock(&self.open_tools).push(id.clone());
        id
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
    use super::{CHUNK, cut};

    #[test]
    fn cuts_between_characters() {
        // Odd, so that the limit falls inside a character.
        let text = format!("a{}", "é".repeat(CHUNK));
        assert_eq!(cut(&text).collect::<String>(), text);
        assert_eq!(cut(&text).map(str::len).collect::<Vec<_>>(), [CHUNK - 1, CHUNK, 2]);
        assert_eq!(cut("").collect::<Vec<_>>(), [""]);
    }
}
