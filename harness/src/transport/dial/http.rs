//! Streamable HTTP: a POST for each message of the client, and streams of events for those of the server.
//!
//! Requests are sent one after the other, each once the server has taken the one before, so that they arrive in order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt;
use http_body_util::{BodyDataStream, BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, HeaderValue, SET_COOKIE};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::{Events, HttpClient, Server};
use crate::trace::{CONNECTION_ID, HttpEvent, Posted, SESSION_ID};
use crate::transport::event::{Outgoing, ScriptedRequest};
use crate::transport::http::{EVENT_STREAM, LONGEST_BODY, events_of, is_stream, quoted, reason, recorded};

/// The time for the server to take a request before the next one is sent. It answers at once; one that answers only
/// when the work is done would otherwise wait for a message that is never sent. Long enough to show that it waits.
const TAKEN: Duration = Duration::from_secs(3);

/// The same once it has not taken one in time, so that a conversation with such a server does not take minutes.
const TAKEN_LATER: Duration = Duration::from_millis(200);

/// The time for the streams to end after the end of the connection. Most servers end them at once.
const STREAMS_END: Duration = Duration::from_secs(3);

/// How long the streams of sessions are silent before a message of the connection's stream goes on. Two streams have no
/// order; what a server wrote first on another one arrives within that, so that an answer seldom overtakes it.
const SILENCE: Duration = Duration::from_millis(5);

/// The same for the answer to a request that opens a session again, since a replay may pause.
const SILENCE_AFTER_REPLAY: Duration = Duration::from_millis(50);

/// The longest time that such an answer is held.
const HELD: Duration = Duration::from_secs(5);

/// The requests whose answers may come on another stream than the messages before them.
const OPENING: [&str; 2] = ["session/load", "session/resume"];

/// The streams that share a TCP connection. Servers allow a hundred, as RFC 9113 recommends, or a few less.
const STREAMS_OF_CONNECTION: usize = 32;

/// The most arrivals that wait for the connection.
const BACKLOG: usize = 64;

const JSON: &str = "application/json";

/// Serves the connection until `outgoing` is closed or the server ends it.
pub(super) async fn serve(server: Server, mut outgoing: mpsc::UnboundedReceiver<Outgoing>, events: &Events) {
    let (sender, mut arrivals) = mpsc::channel(BACKLOG);
    let needs_http2 = server.needs_http2().await;
    let client = server.client_for(needs_http2);
    let mut connection = Connection {
        server,
        client,
        needs_http2,
        of_streams: Vec::new(),
        opened: 0,
        events,
        sender,
        tasks: JoinSet::new(),
        exchanges: 0,
        taken: 0,
        id: None,
        version: None,
        cookies: BTreeMap::new(),
        pending: BTreeMap::new(),
        streams: BTreeMap::new(),
        asked: BTreeMap::new(),
        opening: BTreeMap::new(),
        held: VecDeque::new(),
        active: None,
        is_slow: false,
        is_over: false,
    };
    let mut has_left = false;
    while !connection.is_over {
        tokio::select! {
            biased;
            next = connection.next(&mut arrivals, None) => connection.take_in(next).await,
            sent = outgoing.recv() => match sent {
                Some(Outgoing::Message(message)) => connection.post(message, &mut arrivals).await,
                Some(Outgoing::Request(request)) => connection.script(request, &mut arrivals).await,
                // There are no frames.
                Some(Outgoing::Binary(_)) => {}
                Some(Outgoing::End) | None => {
                    connection.end(&mut arrivals).await;
                    has_left = true;
                    break;
                }
            },
        }
    }
    // They came before the end.
    for Held { exchange, message, .. } in std::mem::take(&mut connection.held) {
        connection.pass_on(exchange, message).await;
    }
    events.ended().await;
    if has_left {
        // A server that is stopped next may wait for the end of every TCP connection.
        return;
    }
    // A case may ask what the server says to a connection that it has ended.
    while let Some(sent) = outgoing.recv().await {
        match sent {
            Outgoing::Request(request) => connection.script(request, &mut arrivals).await,
            Outgoing::Message(_) | Outgoing::Binary(_) => {}
            Outgoing::End => return,
        }
    }
}

/// What arrives in one exchange.
struct Arrival {
    exchange: usize,
    what: Arrived,
}

enum Arrived {
    /// The head of the response; with its body, unless that is a stream.
    Response { status: StatusCode, version: String, headers: HeaderMap, body: Option<Bytes> },
    /// An event of the stream.
    Event(Vec<u8>),
    /// The end of the stream.
    End(Option<String>),
    /// No response came.
    Nothing(String),
}

/// The purpose of an exchange whose response has not come yet.
#[derive(Clone, PartialEq, Eq)]
enum Purpose {
    Initialize,
    Message,
    Stream,
    Delete,
    /// A case sent it.
    Scripted,
}

struct Connection<'e> {
    server: Server,
    client: HttpClient,
    /// Whether its clients speak HTTP/2 without asking.
    needs_http2: bool,
    of_streams: Vec<HttpClient>,
    /// The number of streams so far.
    opened: usize,
    events: &'e Events,
    sender: mpsc::Sender<Arrival>,
    /// Dropping them ends every exchange.
    tasks: JoinSet<()>,
    /// The number of exchanges.
    exchanges: usize,
    /// The number of those that the server took, or had its time for.
    taken: usize,
    /// The id that the server gave the connection.
    id: Option<HeaderValue>,
    /// The version that the parties agreed on.
    version: Option<HeaderValue>,
    cookies: BTreeMap<String, String>,
    /// The exchanges without a response.
    pending: BTreeMap<usize, Purpose>,
    /// The open streams: the session of each, and none for that of the connection.
    streams: BTreeMap<usize, Option<String>>,
    /// The sessions of the server's requests, by id as JSON.
    asked: BTreeMap<String, String>,
    /// The sessions of the client's requests that open one again, by id as JSON.
    opening: BTreeMap<String, String>,
    /// The messages of the connection's stream that wait, in order.
    held: VecDeque<Held>,
    /// The time of the last message of a session's stream.
    active: Option<Instant>,
    /// The server has not taken a request in time.
    is_slow: bool,
    /// The server ended the connection.
    is_over: bool,
}

/// A message that waits until the streams of sessions are silent.
struct Held {
    exchange: usize,
    message: Vec<u8>,
    /// The session whose replay it ends, if it ends one.
    session: Option<String>,
    /// It goes on then, or later if the replay goes on.
    at: Instant,
    /// It goes on then at the latest.
    latest: Instant,
}

/// What a connection waited for.
enum Next {
    Arrival(Arrival),
    /// The time of the first held message.
    Held,
    Deadline,
}

impl Connection<'_> {
    /// Sends a message, once the requests before it were taken.
    async fn post(&mut self, message: Vec<u8>, arrivals: &mut mpsc::Receiver<Arrival>) {
        let value: Value = serde_json::from_slice(&message).unwrap_or_default();
        let method = value.get("method").and_then(Value::as_str).unwrap_or_default();
        let session = match value.pointer("/params/sessionId").and_then(Value::as_str) {
            Some(session) => Some(session.to_owned()),
            None if method.is_empty() => value.get("id").and_then(|id| self.asked.remove(&id.to_string())),
            None => None,
        };
        if let (true, Some(id), Some(session)) = (OPENING.contains(&method), value.get("id"), &session) {
            self.opening.insert(id.to_string(), session.clone());
        }
        let starts = method == "initialize" && self.id.is_none();
        // What the server sends for a session comes on its stream, so that is open first.
        if let Some(session) = session.as_ref().filter(|_| self.id.is_some()) {
            self.open_stream(Some(session.clone())).await;
        }
        self.until_taken(arrivals).await;
        let mut headers = self.headers(!starts, session.as_deref());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        let purpose = if starts { Purpose::Initialize } else { Purpose::Message };
        self.send(Method::POST, headers, message, purpose).await;
        self.until_taken(arrivals).await;
    }

    /// Sends the request of a case, once those before it were taken, and waits for its response.
    async fn script(&mut self, request: ScriptedRequest, arrivals: &mut mpsc::Receiver<Arrival>) {
        self.until_taken(arrivals).await;
        let mut headers = self.headers(true, None);
        if !request.body.is_empty() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        }
        for (name, value) in &request.headers {
            let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else { continue };
            match value.as_deref().map(str::as_bytes).map(HeaderValue::from_bytes) {
                Some(Ok(value)) => drop(headers.insert(name, value)),
                _ => drop(headers.remove(name)),
            }
        }
        let method = Method::from_bytes(request.method.as_bytes()).unwrap_or_default();
        let exchange = self.send(method, headers, request.body, Purpose::Scripted).await;
        let deadline = Instant::now() + TAKEN;
        while self.pending.contains_key(&exchange) {
            match self.next(arrivals, Some(deadline)).await {
                Next::Deadline => break,
                next => self.take_in(next).await,
            }
        }
        if self.pending.remove(&exchange).is_some() {
            let why = "no response came in time".to_owned();
            self.events.http(HttpEvent::Failed { exchange, why }).await;
        }
    }

    /// Opens the stream of a session, or that of the connection, unless it is open.
    async fn open_stream(&mut self, session: Option<String>) {
        if self.streams.values().any(|open| *open == session) {
            return;
        }
        let mut headers = self.headers(true, session.as_deref());
        headers.insert(ACCEPT, HeaderValue::from_static(EVENT_STREAM));
        let exchange = self.send(Method::GET, headers, Vec::new(), Purpose::Stream).await;
        self.streams.insert(exchange, session);
    }

    /// Returns the headers of a request.
    fn headers(&self, is_later: bool, session: Option<&str>) -> HeaderMap {
        // Without this, a server may compress what it sends.
        let mut headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("identity"))]);
        headers.extend(self.server.headers.iter().cloned());
        if let Some(id) = self.id.as_ref().filter(|_| is_later) {
            headers.insert(CONNECTION_ID, id.clone());
        }
        if let Some(session) = session.and_then(|session| HeaderValue::from_bytes(session.as_bytes()).ok()) {
            headers.insert(SESSION_ID, session);
        }
        if let Some(version) = self.version.as_ref().filter(|_| is_later) {
            headers.insert("acp-protocol-version", version.clone());
        }
        let cookies: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if let Some(cookies) = HeaderValue::from_str(&cookies.join("; ")).ok().filter(|_| !cookies.is_empty()) {
            headers.insert(COOKIE, cookies);
        }
        headers
    }

    /// Sends a request and returns the number of its exchange.
    async fn send(&mut self, method: Method, headers: HeaderMap, body: Vec<u8>, purpose: Purpose) -> usize {
        let exchange = self.exchanges;
        self.exchanges += 1;
        let scripted = purpose == Purpose::Scripted;
        self.pending.insert(exchange, purpose);
        let (name, recorded) = (method.as_str().to_owned(), recorded(&headers));
        let message = serde_json::from_slice(&body).ok().and_then(|body| Posted::of(&body));
        self.events.http(HttpEvent::Request { exchange, method: name, headers: recorded, message, scripted }).await;
        let mut request = Request::new(Full::from(body));
        (*request.method_mut(), *request.uri_mut(), *request.headers_mut()) =
            (method, self.server.uri.clone(), headers);
        let client = if self.pending.get(&exchange) == Some(&Purpose::Stream) {
            self.stream_client()
        } else {
            self.client.clone()
        };
        self.tasks.spawn(perform(client, request, !scripted, exchange, self.sender.clone()));
        exchange
    }

    /// Returns the client for the next stream. A shared conversation has hundreds of streams, and a server limits those
    /// of one TCP connection; messages must not wait for them.
    fn stream_client(&mut self) -> HttpClient {
        if self.opened.is_multiple_of(STREAMS_OF_CONNECTION) {
            self.of_streams.push(self.server.client_for(self.needs_http2));
        }
        self.opened += 1;
        self.of_streams.last().unwrap_or(&self.client).clone()
    }

    /// Waits until the server has answered the requests since the last wait, or for as long as it may take.
    async fn until_taken(&mut self, arrivals: &mut mpsc::Receiver<Arrival>) {
        let deadline = Instant::now() + if self.is_slow { TAKEN_LATER } else { TAKEN };
        let last = self.exchanges;
        while self.pending.range(self.taken..last).next().is_some() && !self.is_over {
            match self.next(arrivals, Some(deadline)).await {
                Next::Deadline => {
                    self.is_slow = true;
                    break;
                }
                next => self.take_in(next).await,
            }
        }
        self.taken = last;
    }

    /// Waits for the next arrival, or for the time of a held message. Cancelling the wait loses nothing.
    async fn next(&self, arrivals: &mut mpsc::Receiver<Arrival>, deadline: Option<Instant>) -> Next {
        let held = self.held.front().map(|held| held.at);
        let arrival = match held.into_iter().chain(deadline).min() {
            Some(until) => timeout_at(until, arrivals.recv()).await.ok().flatten(),
            None => arrivals.recv().await,
        };
        let is_due = || held.is_some_and(|at| at <= Instant::now());
        match arrival {
            Some(arrival) => Next::Arrival(arrival),
            None if is_due() => Next::Held,
            None => Next::Deadline,
        }
    }

    async fn take_in(&mut self, next: Next) {
        match next {
            Next::Arrival(arrival) => self.arrived(arrival).await,
            Next::Held => {
                if let Some(Held { exchange, message, .. }) = self.held.pop_front() {
                    self.pass_on(exchange, message).await;
                }
            }
            Next::Deadline => {}
        }
    }

    async fn arrived(&mut self, Arrival { exchange, what }: Arrival) {
        match what {
            Arrived::Response { status, version, headers, body } => {
                self.answered(exchange, status, version, &headers, body).await;
            }
            Arrived::Event(message) => self.message(exchange, message).await,
            Arrived::End(why) => {
                self.events.http(HttpEvent::Ended { exchange, why }).await;
                // The server ends a connection by the end of its stream.
                self.is_over |= self.streams.remove(&exchange) == Some(None);
            }
            Arrived::Nothing(why) => {
                self.events.http(HttpEvent::Failed { exchange, why }).await;
                self.streams.remove(&exchange);
                // A server that does not answer initialize has no connection.
                self.is_over |= self.pending.remove(&exchange) == Some(Purpose::Initialize);
            }
        }
    }

    async fn answered(
        &mut self,
        exchange: usize,
        status: StatusCode,
        version: String,
        headers: &HeaderMap,
        body: Option<Bytes>,
    ) {
        let purpose = self.pending.remove(&exchange).unwrap_or(Purpose::Message);
        for cookie in headers.get_all(SET_COOKIE).iter().filter_map(|cookie| cookie.to_str().ok()) {
            let mut parts = cookie.split(';').map(|part| part.split_once('=').unwrap_or((part, "")));
            let Some((name, value)) = parts.next() else { continue };
            let mut ages = parts.filter(|(name, _)| name.trim().eq_ignore_ascii_case("max-age"));
            // The server takes such a cookie back.
            if ages.any(|(_, age)| age.trim().parse::<i64>().is_ok_and(|age| age <= 0)) {
                self.cookies.remove(name.trim());
            } else {
                self.cookies.insert(name.trim().to_owned(), value.trim().to_owned());
            }
        }
        if purpose == Purpose::Stream && body.is_some() {
            // It is not a stream.
            self.streams.remove(&exchange);
        }
        let body = body.filter(|body| !body.is_empty());
        let value = body.as_ref().and_then(|body| serde_json::from_slice::<Value>(body).ok()).filter(Value::is_object);
        // The body of a refusal has a form of its own.
        let holds_message = value.is_some_and(|value| match purpose {
            Purpose::Initialize => status.is_success() || value.get("jsonrpc").is_some(),
            Purpose::Message => status.is_success() && value.get("jsonrpc").is_some(),
            Purpose::Stream | Purpose::Delete | Purpose::Scripted => false,
        });
        let quote = body.as_ref().filter(|_| !holds_message).map(|body| quoted(body));
        let event =
            HttpEvent::Response { exchange, status: status.as_u16(), version, headers: recorded(headers), body: quote };
        self.events.http(event).await;
        if purpose == Purpose::Initialize && status.is_success() {
            self.id = headers.get(CONNECTION_ID).cloned();
        }
        if let Some(body) = body.filter(|_| holds_message) {
            self.message(exchange, body.to_vec()).await;
        }
        if purpose == Purpose::Initialize {
            match self.id {
                Some(_) => self.open_stream(None).await,
                // Without it, nothing more can be sent or received.
                None => self.is_over = true,
            }
        }
    }

    async fn message(&mut self, exchange: usize, message: Vec<u8>) {
        let value: Value = serde_json::from_slice(&message).unwrap_or_default();
        let text = |at: &str| value.pointer(at).and_then(Value::as_str).map(str::to_owned);
        if let Some(version) = value.pointer("/result/protocolVersion") {
            self.version = HeaderValue::from_str(&version.to_string()).ok();
        }
        if let (Some(id), Some(_)) = (value.get("id"), value.get("method")) {
            let session = text("/params/sessionId").or_else(|| self.streams.get(&exchange).cloned().flatten());
            self.asked.extend(session.map(|session| (id.to_string(), session)));
        }
        let is_answer = value.get("method").is_none();
        let replayed = value.get("id").filter(|_| is_answer).and_then(|id| self.opening.remove(&id.to_string()));
        if let Some(Some(session)) = self.streams.get(&exchange) {
            let now = Instant::now();
            self.active = Some(now);
            for held in self.held.iter_mut().filter(|held| held.session.as_ref() == Some(session)) {
                held.at = held.latest.min(now + SILENCE_AFTER_REPLAY);
            }
            self.pass_on(exchange, message).await;
        } else {
            self.hold(exchange, message, replayed).await;
        }
    }

    /// Passes on a message of the connection's stream, once the streams of sessions are silent.
    async fn hold(&mut self, exchange: usize, message: Vec<u8>, replayed: Option<String>) {
        let now = Instant::now();
        let (at, latest) = match self.active {
            _ if replayed.is_some() => (now + SILENCE_AFTER_REPLAY, now + HELD),
            Some(active) => (active + SILENCE, active + SILENCE),
            None => (now, now),
        };
        if self.held.is_empty() && at <= now {
            return self.pass_on(exchange, message).await;
        }
        self.held.push_back(Held { exchange, message, session: replayed, at, latest });
    }

    /// Passes on a message, and then opens the stream of the session that it names as a result.
    async fn pass_on(&mut self, exchange: usize, message: Vec<u8>) {
        let value: Value = serde_json::from_slice(&message).unwrap_or_default();
        self.events.http(HttpEvent::Carries { exchange }).await;
        self.events.message(message).await;
        let opened = value.pointer("/result/sessionId").and_then(Value::as_str).filter(|_| self.id.is_some());
        if let Some(session) = opened {
            self.open_stream(Some(session.to_owned())).await;
        }
    }

    /// Ends the connection.
    async fn end(&mut self, arrivals: &mut mpsc::Receiver<Arrival>) {
        self.until_taken(arrivals).await;
        if self.id.is_none() || self.is_over {
            return;
        }
        let headers = self.headers(true, None);
        self.send(Method::DELETE, headers, Vec::new(), Purpose::Delete).await;
        self.until_taken(arrivals).await;
        let deadline = Instant::now() + STREAMS_END;
        let open: BTreeSet<usize> = self.streams.keys().copied().collect();
        while open.iter().any(|exchange| self.streams.contains_key(exchange)) {
            match self.next(arrivals, Some(deadline)).await {
                Next::Deadline => break,
                next => self.take_in(next).await,
            }
        }
    }
}

/// The way of what arrives in one exchange.
struct Arrivals {
    exchange: usize,
    arrivals: mpsc::Sender<Arrival>,
}

impl Arrivals {
    /// Passes something on; false if the connection is over.
    async fn send(&self, what: Arrived) -> bool {
        self.arrivals.send(Arrival { exchange: self.exchange, what }).await.is_ok()
    }
}

/// Sends a request and passes on what comes back; of a stream that it does not follow, only the beginning.
async fn perform(
    client: HttpClient,
    request: Request<Full<Bytes>>,
    follows: bool,
    exchange: usize,
    arrivals: mpsc::Sender<Arrival>,
) {
    let arrivals = Arrivals { exchange, arrivals };
    let response = match client.request(request).await {
        Ok(response) => response,
        Err(error) => {
            arrivals.send(Arrived::Nothing(reason(&error))).await;
            return;
        }
    };
    let (status, version, headers) =
        (response.status(), format!("{:?}", response.version()), response.headers().clone());
    if !is_stream(&headers) {
        let body = Limited::new(response.into_body(), LONGEST_BODY).collect().await;
        let body = body.map_or_else(|_| Bytes::new(), http_body_util::Collected::to_bytes);
        arrivals.send(Arrived::Response { status, version, headers, body: Some(body) }).await;
        return;
    }
    if arrivals.send(Arrived::Response { status, version, headers, body: None }).await && follows {
        let end = follow(response, &arrivals).await;
        arrivals.send(Arrived::End(end)).await;
    }
}

/// Passes on the events of a stream; returns the reason if it broke.
async fn follow(response: Response<Incoming>, arrivals: &Arrivals) -> Option<String> {
    let mut events = pin!(events_of(BodyDataStream::new(response.into_body())));
    while let Some(event) = events.next().await {
        match event {
            Ok(data) => {
                if !arrivals.send(Arrived::Event(data)).await {
                    return None;
                }
            }
            Err(why) => return Some(why),
        }
    }
    None
}
