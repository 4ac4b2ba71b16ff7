//! The connections of an endpoint, and the way of each message to its stream.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Method, Response, StatusCode};
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use super::{Body, random, status};
use crate::sync::lock;
use crate::trace::{HttpEvent, Posted};
use crate::transport::event::{Input, LinkEvent, Outgoing};
use crate::transport::http::{LONGEST_BODY, event_of, recorded, text_of};

/// The most messages that wait for a stream which the client has not opened.
const MOST_KEPT: usize = 10_000;

/// The most bytes of all bodies that are read at the same time. A client sends few long messages at once.
const MOST_BYTES: usize = 128 << 20;

/// The connections of an endpoint.
pub(super) struct Hub {
    pub(super) path: String,
    events: mpsc::Sender<LinkEvent>,
    /// By id; those that have ended are removed.
    connections: Mutex<HashMap<String, Arc<Served>>>,
    /// The number of connections so far.
    opened: AtomicUsize,
    /// The number of requests that belong to no connection.
    strays: AtomicUsize,
    /// The bytes that further bodies of requests may have.
    room: Arc<Semaphore>,
}

/// The connection and the number of an exchange.
pub(super) type Exchange = (usize, usize);

impl Hub {
    pub(super) fn new(path: String, events: mpsc::Sender<LinkEvent>) -> Self {
        let (opened, strays) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let room = Arc::new(Semaphore::new(MOST_BYTES));
        Self { path, events, connections: Mutex::default(), opened, strays, room }
    }

    /// Reads the body of a request. It counts against the limit for all bodies until the returned permit is dropped.
    /// `None` if it is too long, breaks, or there is no room for it.
    pub(super) async fn body(&self, mut body: Incoming) -> Option<(Bytes, OwnedSemaphorePermit)> {
        let (mut whole, mut held) = (Vec::new(), Arc::clone(&self.room).try_acquire_many_owned(0).ok()?);
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.ok()?.into_data() else { continue };
            if whole.len() + data.len() > LONGEST_BODY {
                return None;
            }
            let more = u32::try_from(data.len()).ok()?;
            held.merge(Arc::clone(&self.room).try_acquire_many_owned(more).ok()?);
            whole.extend_from_slice(&data);
        }
        Some((whole.into(), held))
    }

    /// Returns the open connection with this id.
    pub(super) fn find(&self, id: &str) -> Option<Arc<Served>> {
        lock(&self.connections).get(id).cloned()
    }

    /// Opens a connection.
    pub(super) async fn connected(self: &Arc<Self>) -> Arc<Served> {
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        let (sender, queue) = mpsc::unbounded_channel();
        let served = Arc::new(Served {
            id: random().unwrap_or_else(|_| format!("connection-{number}")),
            number,
            events: self.events.clone(),
            exchanges: AtomicUsize::new(0),
            routes: Mutex::default(),
        });
        lock(&self.connections).insert(served.id.clone(), Arc::clone(&served));
        let connected = LinkEvent::Connected { connection: number, caller: None, input: Input::Messages(sender) };
        let _ = self.events.send(connected).await;
        tokio::spawn(route(Arc::clone(self), Arc::clone(&served), queue));
        served
    }

    /// Notes a request, and returns the connection and the number of its exchange. One that belongs to none is noted
    /// on the last connection.
    pub(super) async fn noted(
        &self,
        served: Option<&Arc<Served>>,
        method: &Method,
        headers: &HeaderMap,
        message: Option<Posted>,
    ) -> Exchange {
        let (method, headers) = (method.as_str().to_owned(), recorded(headers));
        let (connection, exchange) = match served {
            Some(served) => (served.number, served.exchanges.fetch_add(1, Ordering::Relaxed)),
            None => {
                let last = self.opened.load(Ordering::Relaxed).saturating_sub(1);
                // Far from the numbers of the exchanges of that connection.
                (last, 1_000_000 + self.strays.fetch_add(1, Ordering::Relaxed))
            }
        };
        let event = HttpEvent::Request { exchange, method, headers, message, scripted: false };
        let _ = self.events.send(LinkEvent::Http { connection, event }).await;
        (connection, exchange)
    }

    /// Answers a request with only a status.
    pub(super) async fn answered(&self, (connection, exchange): Exchange, code: StatusCode) -> Response<Body> {
        let response = status(code);
        let _ = self.events.send(LinkEvent::Http { connection, event: event_of(exchange, &response) }).await;
        response
    }
}

/// A connection of a client.
pub(super) struct Served {
    pub(super) id: String,
    pub(super) number: usize,
    events: mpsc::Sender<LinkEvent>,
    exchanges: AtomicUsize,
    routes: Mutex<Routes>,
}

/// The ways of the messages to a client.
#[derive(Default)]
struct Routes {
    /// The open streams: by session, and none for that of the connection.
    streams: BTreeMap<Option<String>, (usize, mpsc::UnboundedSender<Bytes>)>,
    /// The messages for streams that are not open yet.
    kept: BTreeMap<Option<String>, Vec<Bytes>>,
    /// The request `initialize` that waits for its answer: its id as JSON.
    initialize: Option<(String, oneshot::Sender<Bytes>)>,
    /// The sessions of the client's requests, by id as JSON.
    asked: HashMap<String, Option<String>>,
    /// The sessions that the client has opened, which have streams of their own.
    opened: BTreeSet<String>,
    /// A WebSocket, which carries everything.
    socket: Option<mpsc::UnboundedSender<Bytes>>,
    /// The connection has ended.
    is_over: bool,
}

/// The requests whose answers come on the stream of the connection, although they name a session: the client may not
/// know it yet.
const OPENING: [&str; 4] = ["session/new", "session/load", "session/resume", "session/fork"];

impl Served {
    /// Returns the cookie for the client.
    pub(super) fn cookie(&self) -> String {
        format!("acp-conformance={}; Path=/; HttpOnly", self.id)
    }

    /// Waits for the answer to `initialize`.
    pub(super) fn awaits(&self, id: Option<&Value>) -> oneshot::Receiver<Bytes> {
        let (sender, answer) = oneshot::channel();
        lock(&self.routes).initialize = Some((id.map(Value::to_string).unwrap_or_default(), sender));
        answer
    }

    /// Passes on a message of the client.
    pub(super) async fn received(&self, exchange: usize, message: &Value, session: Option<&HeaderValue>, body: Bytes) {
        if let (Some(id), Some(method)) = (message.get("id"), message.get("method").and_then(Value::as_str)) {
            let named = message.pointer("/params/sessionId").and_then(Value::as_str);
            let named = named.map(str::to_owned).or_else(|| session.map(text_of));
            let stream = named.clone().filter(|_| !OPENING.contains(&method));
            let mut routes = lock(&self.routes);
            routes.opened.extend(named);
            routes.asked.insert(id.to_string(), stream);
        }
        self.http(HttpEvent::Carries { exchange }).await;
        self.output(&body).await;
    }

    /// Passes on a line of the client.
    pub(super) async fn output(&self, message: &[u8]) {
        // A line feed can only be between the parts of a JSON text, where a blank means the same.
        let mut bytes: Vec<u8> = message.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }).collect();
        bytes.push(b'\n');
        let _ = self.events.send(LinkEvent::Output { connection: self.number, bytes }).await;
    }

    pub(super) async fn http(&self, event: HttpEvent) {
        let _ = self.events.send(LinkEvent::Http { connection: self.number, event }).await;
    }

    /// Notes a response.
    pub(super) async fn answered<B>(&self, exchange: usize, response: &Response<B>) {
        self.http(event_of(exchange, response)).await;
    }

    /// Opens the stream of a session or of the connection, instead of the one that is open.
    pub(super) fn open(&self, session: Option<String>, exchange: usize) -> mpsc::UnboundedReceiver<Bytes> {
        let (sender, queue) = mpsc::unbounded_channel();
        let mut routes = lock(&self.routes);
        routes.kept.remove(&session).into_iter().flatten().for_each(|message| drop(sender.send(message)));
        if !routes.is_over {
            routes.streams.insert(session, (exchange, sender));
        }
        queue
    }

    /// Makes a WebSocket carry everything.
    pub(super) fn open_socket(&self) -> mpsc::UnboundedReceiver<Bytes> {
        let (sender, queue) = mpsc::unbounded_channel();
        lock(&self.routes).socket = Some(sender);
        queue
    }

    /// The client closed a stream.
    pub(super) async fn closed(&self, exchange: usize) {
        lock(&self.routes).streams.retain(|_, (open, _)| *open != exchange);
        self.http(HttpEvent::Ended { exchange, why: None }).await;
    }

    /// The client ended the connection.
    pub(super) async fn left(&self) {
        lock(&self.routes).end();
        let _ = self.events.send(LinkEvent::OutputEnded { connection: self.number }).await;
    }

    /// Puts a message on its way.
    fn send(&self, message: Vec<u8>) {
        let value: Value = serde_json::from_slice(&message).unwrap_or_default();
        let id = value.get("id").map(Value::to_string);
        let is_answer = value.get("method").is_none();
        let bytes = Bytes::from(message);
        let mut routes = lock(&self.routes);
        if let Some(socket) = &routes.socket {
            let _ = socket.send(bytes);
            return;
        }
        if is_answer
            && routes.initialize.as_ref().is_some_and(|(waiting, _)| Some(waiting) == id.as_ref())
            && let Some((_, answer)) = routes.initialize.take()
        {
            let _ = answer.send(bytes);
            return;
        }
        let text = |at: &str| value.pointer(at).and_then(Value::as_str).map(str::to_owned);
        routes.opened.extend(text("/result/sessionId"));
        // A client learns of other sessions, such as those of subagents, by a message, and has no stream for them yet.
        let named = text("/params/sessionId").filter(|session| routes.opened.contains(session));
        let stream = if is_answer { id.and_then(|id| routes.asked.remove(&id)).flatten() } else { named };
        match routes.streams.get(&stream) {
            Some((_, open)) => drop(open.send(bytes)),
            None => {
                let kept = routes.kept.entry(stream).or_default();
                if kept.len() < MOST_KEPT {
                    kept.push(bytes);
                }
            }
        }
    }
}

impl Routes {
    fn end(&mut self) {
        *self = Self { is_over: true, ..Self::default() };
    }
}

/// Serves one connection until the tester or the client ends it.
async fn route(hub: Arc<Hub>, served: Arc<Served>, mut queue: mpsc::UnboundedReceiver<Outgoing>) {
    while let Some(outgoing) = queue.recv().await {
        match outgoing {
            Outgoing::Message(message) => served.send(message),
            // Only clients send these.
            Outgoing::Request(_) | Outgoing::Binary(_) => {}
            Outgoing::End => break,
        }
    }
    lock(&hub.connections).remove(&served.id);
    lock(&served.routes).end();
    let _ = hub.events.send(LinkEvent::AgentEnded { connection: served.number }).await;
}
