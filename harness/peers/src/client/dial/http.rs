//! A connection over Streamable HTTP: messages go by POST, and come on one stream of events for the connection and one
//! for each session.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
};

use futures::StreamExt as _;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Method, Request, Response, StatusCode, Uri,
    body::{Bytes, Incoming},
    header::{ACCEPT, CONTENT_TYPE},
};
use hyper_util::{
    client::legacy::{Client, Error, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::{Value, json};
use sse_stream::SseStream;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, DuplexStream},
    sync::mpsc::{self, Sender},
    task::JoinSet,
};
use url::Url;

use super::{Cookies, DialRules, give};
use crate::sync::lock;

/// The header with the id of the connection.
const CONNECTION: &str = "acp-connection-id";
/// The header with the id of the session.
const SESSION: &str = "acp-session-id";
/// The header with the version of the protocol.
const VERSION: &str = "acp-protocol-version";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// The messages of all streams that wait for the client.
const BACKLOG: usize = 64;
/// The most characters of a body that a message quotes.
const QUOTED: usize = 200;

/// Passes lines and messages on until the client ends its lines; fails if the agent ends the connection first.
pub(super) async fn serve(
    url: Url,
    rules: DialRules,
    cookies: Arc<Cookies>,
    from_client: DuplexStream,
    mut to_client: DuplexStream,
) -> Result<(), String> {
    let uri = url.as_str().parse().map_err(|error| format!("cannot dial {url}: {error}"))?;
    let (received, mut events) = mpsc::channel(BACKLOG);
    let connection = Connection {
        url,
        uri,
        rules,
        cookies,
        client: Mutex::new(client(true)),
        state: Mutex::default(),
        streams: Mutex::default(),
        received,
    };
    let send = async {
        let mut lines = BufReader::new(from_client).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            connection.send(line).await?;
        }
        connection.close().await
    };
    let receive = async {
        // The sender is in the connection, so there is always a next event.
        while let Some(event) = events.recv().await {
            if let Some(message) = connection.receive(event).await? {
                give(&mut to_client, &message).await;
            }
        }
        Ok(())
    };
    tokio::select! {
        ended = send => ended,
        ended = receive => ended,
    }
}

type HttpClient = Client<HttpConnector, Full<Bytes>>;

/// Builds a client for HTTP/2, which the draft requires, or for HTTP/1.1.
fn client(is_http2: bool) -> HttpClient {
    let mut connector = HttpConnector::new();
    // Without this, each small message waits for the acknowledgement of the one before.
    connector.set_nodelay(true);
    Client::builder(TokioExecutor::new()).http2_only(is_http2).build(connector)
}

/// The session of a message, or `None` for the connection; each has a stream.
type Scope = Option<String>;

/// What comes from the agent.
enum Event {
    Message(String),
    /// The stream of a session or of the connection has ended.
    Ended(Scope, String),
}

struct Connection {
    url: Url,
    uri: Uri,
    rules: DialRules,
    cookies: Arc<Cookies>,
    client: Mutex<HttpClient>,
    state: Mutex<State>,
    /// The readers of the streams, which end with the connection.
    streams: Mutex<JoinSet<()>>,
    received: Sender<Event>,
}

/// What the client knows of a connection; requests are known by their ids as JSON.
#[derive(Default)]
struct State {
    id: Option<String>,
    version: Option<String>,
    open: HashSet<Scope>,
    /// The sessions of the requests of the client without an answer.
    asked: HashMap<String, Scope>,
    /// The sessions of the requests of the agent without an answer.
    asking: HashMap<String, Scope>,
}

impl Connection {
    /// Sends a line of the client.
    async fn send(&self, line: String) -> Result<(), String> {
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        let (method, id) = (message["method"].as_str(), message.get("id"));
        if method == Some("initialize") && lock(&self.state).id.is_none() {
            return self.initialize(line).await;
        }
        let scope = match (method, id) {
            (None, Some(id)) => lock(&self.state).asking.remove(&id.to_string()).flatten(),
            _ => session(&message["params"]),
        };
        if let (Some(_), Some(id)) = (method, id) {
            lock(&self.state).asked.insert(id.to_string(), scope.clone());
        }
        if scope.is_some() && !self.is_open(&scope) {
            // Some servers know an earlier session only once it is loaded.
            self.open(scope.clone(), true).await?;
        }
        let names_session =
            if method.is_some() { self.rules.names_session } else { self.rules.names_session_in_answers };
        let posted = self.post(line, scope.as_deref().filter(|_| names_session)).await;
        let Err(reason) = posted else { return Ok(()) };
        let (Some(method), Some(id)) = (method, id) else { return Err(reason) };
        let error = json!({"code": -32603, "message": format!("{method} did not reach the agent: {reason}")});
        let answer = json!({"jsonrpc": "2.0", "id": id, "error": error});
        self.pass(Event::Message(answer.to_string())).await;
        Ok(())
    }

    /// Opens the connection with the first message, and its stream.
    async fn initialize(&self, line: String) -> Result<(), String> {
        let response = self.post(line, None).await?;
        let id = response.headers().get(CONNECTION).and_then(|id| id.to_str().ok()).map(str::to_owned);
        let body = response.into_body().collect().await.map_err(|error| format!("initialize failed: {error}"))?;
        let answer = String::from_utf8_lossy(&body.to_bytes()).into_owned();
        let message: Value = serde_json::from_str(&answer)
            .map_err(|error| format!("the body of the answer to initialize is not JSON: {error}"))?;
        let is_error = message.get("error").is_some();
        if id.is_none() && !is_error {
            return Err("the answer to initialize has no Acp-Connection-Id".to_owned());
        }
        if !is_error {
            self.name(id, &message["result"]["protocolVersion"]);
            self.open(None, false).await?;
        }
        self.pass(Event::Message(answer)).await;
        Ok(())
    }

    /// Notes what the requests after `initialize` name.
    fn name(&self, id: Option<String>, version: &Value) {
        let mut state = lock(&self.state);
        state.id = id;
        state.version = Some(version.to_string());
    }

    /// Handles what the agent sent; returns the message for the client.
    async fn receive(&self, event: Event) -> Result<Option<String>, String> {
        let line = match event {
            Event::Message(line) => line,
            Event::Ended(scope, reason) => return self.note_end(scope, &reason).map(|()| None),
        };
        let message: Value = serde_json::from_str(&line).unwrap_or_default();
        let Some(id) = message.get("id").map(Value::to_string) else { return Ok(Some(line)) };
        if message.get("method").is_some() {
            lock(&self.state).asking.insert(id, session(&message["params"]));
            return Ok(Some(line));
        }
        let asked = lock(&self.state).asked.remove(&id);
        // A session that was opened gets its stream before anyone uses it.
        let opened = asked.flatten().or_else(|| session(&message["result"]));
        if message.get("result").is_some() && opened.is_some() && !self.is_open(&opened) {
            self.open(opened, false).await?;
        }
        Ok(Some(line))
    }

    /// Handles the end of a stream; that of a session matters only to those who wait for it.
    fn note_end(&self, scope: Scope, reason: &str) -> Result<(), String> {
        let mut state = lock(&self.state);
        let waiting = scope.is_none() || state.asked.values().any(|asked| *asked == scope);
        state.open.remove(&scope);
        match scope {
            _ if !waiting => Ok(()),
            None => Err(format!("the stream of the connection ended: {reason}")),
            Some(session) => Err(format!("the stream of session {session} ended before an answer: {reason}")),
        }
    }

    fn is_open(&self, scope: &Scope) -> bool {
        !self.rules.opens_sessions || lock(&self.state).open.contains(scope)
    }

    /// Opens a stream; if it may be `unknown` to the server, that is not a failure.
    async fn open(&self, scope: Scope, unknown: bool) -> Result<(), String> {
        let accept = if self.rules.accepts_events { EVENTS } else { "*/*" };
        let request = self.request(Method::GET, scope.as_deref()).header(ACCEPT, accept);
        let response = match self.ask(request, String::new()).await {
            Ok(response) => response,
            Err(Failure { status: Some(StatusCode::NOT_FOUND), .. }) if unknown => return Ok(()),
            Err(failure) => return Err(failure.reason),
        };
        lock(&self.state).open.insert(scope.clone());
        lock(&self.streams).spawn(read(SseStream::new(response.into_body()), scope, self.received.clone()));
        Ok(())
    }

    async fn post(&self, line: String, session: Option<&str>) -> Result<Response<Incoming>, String> {
        let kind = if self.rules.posts_json { JSON } else { "text/plain" };
        let request = self.request(Method::POST, session).header(CONTENT_TYPE, kind);
        self.ask(request, line).await.map_err(|failure| failure.reason)
    }

    /// Ends the connection, if there is one.
    async fn close(&self) -> Result<(), String> {
        if lock(&self.state).id.is_some() {
            let request = self.request(Method::DELETE, None);
            self.ask(request, String::new()).await.map_err(|failure| failure.reason)?;
        }
        Ok(())
    }

    /// Begins a request with the headers of the connection.
    fn request(&self, method: Method, session: Option<&str>) -> hyper::http::request::Builder {
        let state = lock(&self.state);
        let id = state.id.as_deref().filter(|_| self.rules.names_connection).map(|id| (CONNECTION, id));
        let version = state.version.as_deref().map(|version| (VERSION, version));
        let headers = [id, version, session.map(|session| (SESSION, session))];
        let mut request = Request::builder().method(method).uri(self.uri.clone());
        for (name, value) in headers.into_iter().flatten() {
            request = request.header(name, value);
        }
        if let Some(headers) = request.headers_mut() {
            self.cookies.add(headers, &self.url, self.rules);
        }
        request
    }

    /// Sends a request; any status except success is a failure.
    async fn ask(&self, request: hyper::http::request::Builder, body: String) -> Result<Response<Incoming>, Failure> {
        let failed = |reason: String| Failure { status: None, reason };
        let request = request.body(Full::from(body)).map_err(|error| failed(error.to_string()))?;
        let what = format!("{} {}", request.method(), self.url);
        let client = lock(&self.client).clone();
        let is_first = lock(&self.state).id.is_none();
        let mut answer = client.request(request.clone()).await;
        if is_first && answer.as_ref().is_err_and(|error| !error.is_connect()) {
            // A server that speaks only HTTP/1.1 cannot read what came before.
            let client = self.client_1();
            answer = client.request(request).await;
        }
        let response = answer.map_err(|error| failed(format!("{what}: {}", describe(&error))))?;
        self.cookies.keep(response.headers(), &self.url);
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let body = response.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
        let words: Vec<_> = String::from_utf8_lossy(&body).split_whitespace().map(str::to_owned).collect();
        let body: String = words.join(" ").chars().take(QUOTED).collect();
        let reason = format!("{what}: {status}{}{body}", if body.is_empty() { "" } else { ": " });
        Err(Failure { status: Some(status), reason })
    }

    /// Changes to HTTP/1.1.
    fn client_1(&self) -> HttpClient {
        let mut kept = lock(&self.client);
        *kept = client(false);
        kept.clone()
    }

    async fn pass(&self, event: Event) {
        // This fails only at the end of the connection.
        let _ = self.received.send(event).await;
    }
}

/// A request without success.
struct Failure {
    status: Option<StatusCode>,
    reason: String,
}

/// Returns an error with its causes.
fn describe(error: &Error) -> String {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Returns the session that params or a result name.
fn session(members: &Value) -> Scope {
    members["sessionId"].as_str().map(str::to_owned)
}

/// Reads the messages of a stream to its end.
async fn read(mut events: SseStream<Incoming>, scope: Scope, received: Sender<Event>) {
    let reason = loop {
        let event = match events.next().await {
            Some(Ok(event)) => event,
            Some(Err(error)) => break error.to_string(),
            None => break "the server ended it".to_owned(),
        };
        if let Some(message) = event.data.filter(|data| !data.is_empty()) {
            // This fails only at the end of the connection.
            let _ = received.send(Event::Message(message)).await;
        }
    };
    let _ = received.send(Event::Ended(scope, reason)).await;
}
