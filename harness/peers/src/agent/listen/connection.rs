//! A connection over Streamable HTTP: one stream of events for what belongs to no session, and one for each session.

use std::{
    collections::HashMap,
    convert::Infallible,
    pin::pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures::{Stream, stream};
use hyper::StatusCode;
use serde_json::Value;
use sse_stream::Sse;
use tokio::{
    sync::{
        Notify,
        mpsc::{self, Receiver, Sender},
        oneshot, watch,
    },
    time::timeout,
};
use tokio_util::sync::CancellationToken;

use super::{Converse, ListenRules, Refusal, conversation, missing, refuse};
use crate::{agent::errors::log, sync::lock};

/// The session of a message, or `None` for the connection; each has a stream.
type Scope = Option<String>;

/// The messages that wait for a stream; a client that reads more slowly loses the connection.
const BACKLOG: usize = 16 * 1024;
/// The most streams of a connection.
const MOST_STREAMS: usize = 1024;
/// A connection without an open stream ends after this time: its client has gone away without DELETE.
const IDLE_LIMIT: Duration = Duration::from_secs(300);

/// A connection.
pub(super) struct Connection {
    pub id: String,
    /// The end of the connection.
    pub end: CancellationToken,
    rules: ListenRules,
    to_agent: Sender<String>,
    routes: Mutex<Routes>,
    n_open: watch::Sender<usize>,
    /// The agent has written a line.
    answered: Notify,
}

/// The streams, and the requests without an answer by their ids as JSON.
#[derive(Default)]
struct Routes {
    streams: HashMap<Scope, Outbox>,
    /// The requests of the client.
    asked: HashMap<String, Answer>,
    /// The sessions of the requests of the agent.
    asking: HashMap<String, Scope>,
}

/// The place of an answer to the client.
enum Answer {
    Stream(Scope),
    Response(oneshot::Sender<String>),
}

/// The messages of a stream.
struct Outbox {
    sender: Sender<String>,
    /// `None` while the stream is open.
    receiver: Option<Receiver<String>>,
}

impl Default for Outbox {
    fn default() -> Self {
        let (sender, receiver) = mpsc::channel(BACKLOG);
        Self { sender, receiver: Some(receiver) }
    }
}

impl Connection {
    /// Starts the agent of a connection; returns the lines that it writes, too.
    pub(super) fn open(
        id: String,
        rules: ListenRules,
        converse: &Converse,
        end: CancellationToken,
    ) -> (Arc<Self>, Receiver<String>) {
        let (to_agent, from_agent) = conversation::start(converse, end.clone());
        let (routes, n_open) = (Mutex::default(), watch::Sender::new(0));
        (Arc::new(Self { id, end, rules, to_agent, routes, n_open, answered: Notify::new() }), from_agent)
    }

    /// Passes the lines of the agent on until it ends.
    pub(super) async fn serve(&self, mut from_agent: Receiver<String>) {
        let mut served = pin!(async {
            while let Some(line) = from_agent.recv().await {
                self.deliver(line);
            }
        });
        tokio::select! {
            () = &mut served => {}
            () = self.end_when_idle() => served.await,
        }
        self.end.cancel();
        // No party answers these any more.
        lock(&self.routes).asked.clear();
    }

    /// Gives the agent a line.
    pub(super) async fn send(&self, line: String) -> Result<(), Refusal> {
        let ended = |_| Refusal(StatusCode::NOT_FOUND, "the connection has ended".to_owned());
        self.to_agent.send(line).await.map_err(ended)
    }

    /// Returns the answer to a request that is still to be sent.
    pub(super) fn answer_to(&self, id: &Value) -> oneshot::Receiver<String> {
        let (sender, answer) = oneshot::channel();
        lock(&self.routes).asked.insert(id.to_string(), Answer::Response(sender));
        answer
    }

    /// Notes a message of the client; that of a session has to name it in its header.
    pub(super) fn take(&self, message: &Value, header: Option<&str>) -> Result<(), Refusal> {
        let mut routes = lock(&self.routes);
        let id = message.get("id").map(Value::to_string);
        let is_response = message.get("method").is_none();
        let scope = match &id {
            Some(id) if is_response => routes.asking.get(id).cloned().flatten(),
            _ => session(message),
        };
        match (&scope, header) {
            (Some(_), None) if self.rules.requires_session => return Err(missing("Acp-Session-Id")),
            (Some(scope), Some(header)) if scope != header && self.rules.checks_session => {
                return refuse(StatusCode::BAD_REQUEST, "Acp-Session-Id differs from the session of the message");
            }
            _ => {}
        }
        match id {
            Some(id) if is_response => drop(routes.asking.remove(&id)),
            Some(id) => {
                let opens = matches!(message["method"].as_str(), Some("session/load" | "session/resume"));
                let scope = if opens { None } else { scope };
                routes.asked.insert(id, Answer::Stream(scope));
            }
            None => {}
        }
        Ok(())
    }

    /// Waits until the agent has answered this message of the client.
    pub(super) async fn answered(&self, message: &Value) {
        let Some(id) = message.get("id").filter(|_| message.get("method").is_some()).map(Value::to_string) else {
            return;
        };
        loop {
            let answered = self.answered.notified();
            if !lock(&self.routes).asked.contains_key(&id) {
                return;
            }
            tokio::select! {
                () = answered => {}
                () = self.end.cancelled() => return,
            }
        }
    }

    /// Opens the stream of a session or of the connection: what waits for it, then what comes until it ends.
    pub(super) fn subscribe(
        self: &Arc<Self>,
        scope: Scope,
    ) -> Result<impl Stream<Item = Result<Sse, Infallible>> + use<>, Refusal> {
        let mut routes = lock(&self.routes);
        // A client opens the stream of an earlier session before it loads that, so any name is taken.
        if routes.streams.len() >= MOST_STREAMS && !routes.streams.contains_key(&scope) {
            return refuse(StatusCode::NOT_FOUND, "unknown Acp-Session-Id");
        }
        let Some(receiver) = routes.streams.entry(scope.clone()).or_default().receiver.take() else {
            return refuse(StatusCode::CONFLICT, "the stream is already open");
        };
        drop(routes);
        self.n_open.send_modify(|n_open| *n_open += 1);
        let stream = OpenStream { connection: Arc::clone(self), scope, receiver: Some(receiver) };
        Ok(stream::unfold(stream, async |mut stream| Some((Ok(Sse::default().data(stream.next().await?)), stream))))
    }

    /// Puts a line of the agent on its stream.
    fn deliver(&self, line: String) {
        let message = serde_json::from_str(&line).unwrap_or_default();
        let mut routes = lock(&self.routes);
        let Some(scope) = routes.place(&message) else {
            if let Some(Answer::Response(answer)) = routes.asked.remove(&message["id"].to_string()) {
                // This fails only if the client no longer waits.
                let _ = answer.send(line);
            }
            return;
        };
        let mut scope = scope.filter(|_| self.rules.separates_sessions);
        if scope.is_none() && !self.rules.separates_connection {
            let is_open = |(scope, outbox): &(&Scope, &Outbox)| scope.is_some() && outbox.receiver.is_none();
            scope = routes.streams.iter().find(is_open).and_then(|(scope, _)| scope.clone());
        }
        if routes.streams.entry(scope).or_default().sender.try_send(line).is_err() {
            log("a connection ends: its client does not read its messages");
            self.end.cancel();
        }
        drop(routes);
        self.answered.notify_waiters();
    }

    /// Ends the connection once its client has had no stream for a while.
    async fn end_when_idle(&self) {
        let mut n_open = self.n_open.subscribe();
        loop {
            // Neither fails, since this connection has the sender.
            let _ = n_open.wait_for(|n_open| *n_open == 0).await;
            if timeout(IDLE_LIMIT, n_open.wait_for(|n_open| *n_open > 0)).await.is_err() {
                return self.end.cancel();
            }
        }
    }
}

impl Routes {
    /// Returns the stream of a message of the agent; `None` if it is awaited in a response.
    fn place(&mut self, message: &Value) -> Option<Scope> {
        let id = message.get("id").map(Value::to_string);
        let Some(method) = message["method"].as_str() else {
            let id = id.unwrap_or_default();
            return match self.asked.get(&id) {
                Some(Answer::Response(_)) => None,
                Some(Answer::Stream(scope)) => {
                    let scope = scope.clone();
                    self.asked.remove(&id);
                    Some(scope)
                }
                None => Some(None),
            };
        };
        let about = message["params"]["requestId"].to_string();
        let scope = session(message).or_else(|| match self.asked.get(&about) {
            _ if method == "$/cancel_request" => self.asking.get(&about).cloned().flatten(),
            Some(Answer::Stream(scope)) => scope.clone(),
            _ => None,
        });
        if let Some(id) = id {
            self.asking.insert(id, scope.clone());
        }
        Some(scope)
    }
}

/// Returns the session that a request or notification names.
fn session(message: &Value) -> Scope {
    message["params"]["sessionId"].as_str().map(str::to_owned)
}

/// A stream that a client reads.
struct OpenStream {
    connection: Arc<Connection>,
    scope: Scope,
    receiver: Option<Receiver<String>>,
}

impl OpenStream {
    /// Waits for the next message; `None` after the end of the connection.
    async fn next(&mut self) -> Option<String> {
        let line = tokio::select! {
            biased;
            line = self.receiver.as_mut()?.recv() => line?,
            () = self.connection.end.cancelled() => return None,
        };
        Some(if self.connection.rules.one_message_each { line } else { format!("[{line}]") })
    }
}

impl Drop for OpenStream {
    /// The messages that come from now on wait until the client opens the stream again.
    fn drop(&mut self) {
        let mut routes = lock(&self.connection.routes);
        routes.streams.entry(self.scope.take()).or_default().receiver = self.receiver.take();
        drop(routes);
        self.connection.n_open.send_modify(|n_open| *n_open -= 1);
    }
}
