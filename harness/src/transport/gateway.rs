//! A gateway between clients and an agent that serves HTTP or WebSocket. It passes each request and response on, and
//! reports it before that, so that no answer is reported before its request.
//!
//! It changes only what belongs to one TCP connection, such as the host and the version of HTTP, and the offer of
//! compression, so that it can read what it passes on. The server gets no pings of the client, and the reverse.

mod socket;
mod stream;

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use http_body_util::channel::Channel;
use http_body_util::{BodyExt, Either, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, COOKIE, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION, SEC_WEBSOCKET_EXTENSIONS, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use hyper::{Method, Request, Response, StatusCode};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{OnceCell, mpsc};

use super::dial::{HttpClient, Server};
use super::endpoint::is_local;
use super::http::{LONGEST_BODY, is_stream, quoted, reason, recorded, text_of};
use super::http_server::serve_http;
use crate::requirement::{Party, Transport};
use crate::sync::lock;
use crate::trace::{CONNECTION_ID, HttpEvent, Posted, SESSION_ID};

/// The headers of one TCP connection, and the offers that would hide the content from the gateway.
const NOT_PASSED_ON: [HeaderName; 10] = [
    ACCEPT_ENCODING,
    CONNECTION,
    CONTENT_LENGTH,
    HOST,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

type Body = Either<Full<Bytes>, Channel<Bytes, io::Error>>;

/// Something that passes the gateway.
#[derive(Debug)]
pub enum Passage {
    /// An event of the transport.
    Http(HttpEvent),
    /// A message in an exchange.
    Message {
        /// The number of the exchange.
        exchange: usize,
        /// The sender.
        from: Party,
        /// The message, without a line end.
        bytes: Vec<u8>,
    },
    /// A party ended the connection.
    Ended(Party),
}

/// An open gateway.
#[derive(Debug)]
pub struct Gateway {
    listener: TcpListener,
    path: String,
    server: Server,
}

impl Gateway {
    /// Opens a gateway at this port and path of the loopback address, or at a free port for 0; needs a Tokio runtime.
    ///
    /// # Errors
    ///
    /// Errors of the operating system, for example a port in use.
    pub async fn open(port: u16, path: String, server: Server) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        Ok(Self { listener, path, server })
    }

    /// Returns its address.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until the receiver of the passages is dropped. Each comes with the number of its connection, from 0.
    pub async fn serve(self, passages: mpsc::Sender<(usize, Passage)>) {
        let (path, server) = (self.path, self.server);
        let desk = Arc::new(Desk { path, server, client: OnceCell::new(), numbers: Mutex::default(), passages });
        let of_requests = Arc::clone(&desk);
        let answer = move |request| {
            let desk = Arc::clone(&of_requests);
            async move { Ok::<_, hyper::Error>(desk.pass(request).await) }
        };
        serve_http(self.listener, desk.passages.closed(), answer).await;
    }
}

/// What the requests share.
struct Desk {
    path: String,
    server: Server,
    client: OnceCell<HttpClient>,
    numbers: Mutex<Numbers>,
    passages: mpsc::Sender<(usize, Passage)>,
}

/// The numbers of connections and exchanges.
#[derive(Default)]
struct Numbers {
    /// The connections, by the id that the server gave them or that a client named.
    by_id: HashMap<String, usize>,
    /// The number of exchanges of each connection.
    exchanges: Vec<usize>,
}

impl Numbers {
    fn connection(&mut self) -> usize {
        self.exchanges.push(0);
        self.exchanges.len() - 1
    }

    /// Returns the connection of an id. One that the server did not give here is that of a conversation which began
    /// elsewhere, such as before this gateway.
    fn of_id(&mut self, id: &str) -> usize {
        if let Some(number) = self.by_id.get(id) {
            return *number;
        }
        let number = self.connection();
        self.by_id.insert(id.to_owned(), number);
        number
    }

    /// Returns the connection of a request without an id, which is the last one.
    fn last(&mut self) -> usize {
        if self.exchanges.is_empty() { self.connection() } else { self.exchanges.len() - 1 }
    }
}

/// The connection and the number of an exchange.
type Place = (usize, usize);

impl Desk {
    async fn pass(&self, request: Request<Incoming>) -> Response<Body> {
        if request.uri().path() != self.path {
            return refusal(StatusCode::NOT_FOUND, &format!("this gateway serves only {}", self.path));
        }
        if !is_local(request.headers(), request.uri()) {
            return refusal(StatusCode::FORBIDDEN, "this gateway serves only programs of this machine");
        }
        let is_upgrade =
            request.headers().get(UPGRADE).is_some_and(|kind| kind.as_bytes().eq_ignore_ascii_case(b"websocket"));
        match (self.server.transport(), is_upgrade) {
            (Transport::WebSocket, true) => socket::pass(self, request).await,
            (Transport::WebSocket, false) => {
                refusal(StatusCode::NOT_IMPLEMENTED, "this gateway passes on WebSockets only")
            }
            (_, true) => refusal(StatusCode::NOT_IMPLEMENTED, "this gateway passes on no WebSockets"),
            (_, false) => self.pass_on(request).await,
        }
    }

    /// Passes on a request of Streamable HTTP and its response.
    async fn pass_on(&self, request: Request<Incoming>) -> Response<Body> {
        let (head, body) = request.into_parts();
        let Ok(body) = Limited::new(body, LONGEST_BODY).collect().await else {
            return refusal(StatusCode::PAYLOAD_TOO_LARGE, "the body cannot be read");
        };
        let body = body.to_bytes();
        let message: Option<Value> = serde_json::from_slice(&body).ok();
        let posted = message.as_ref().and_then(Posted::of);
        let starts = posted.as_ref().is_some_and(|posted| posted.method.as_deref() == Some("initialize"));
        let id = head.headers.get(CONNECTION_ID).map(text_of);
        let connection = {
            let mut numbers = lock(&self.numbers);
            match &id {
                Some(id) => numbers.of_id(id),
                None if starts => numbers.connection(),
                None => numbers.last(),
            }
        };
        if head.method == Method::DELETE {
            self.saw(connection, Passage::Ended(Party::Client)).await;
        }
        let place = self.noted(connection, &head.method, &head.headers, posted).await;
        if head.method == Method::POST && message.as_ref().is_some_and(Value::is_object) {
            self.message(place, Party::Client, &body).await;
        }
        let client = self.client.get_or_init(|| self.server.client()).await;
        let mut onward = Request::new(Full::from(body));
        *onward.method_mut() = head.method.clone();
        *onward.uri_mut() = self.server.address(head.uri.query());
        *onward.headers_mut() = passed_on(&head.headers);
        // Without this, a server may compress what it sends.
        onward.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        onward.headers_mut().extend(self.server.headers());
        let response = match client.request(onward).await {
            Ok(response) => response,
            Err(error) => return self.unreached(place, &reason(&error)).await,
        };
        if starts && let Some(id) = response.headers().get(CONNECTION_ID).map(text_of) {
            lock(&self.numbers).by_id.insert(id, connection);
        }
        if is_stream(response.headers()) {
            return stream::pass(self, response, place, head.headers.contains_key(SESSION_ID)).await;
        }
        self.whole(response, place, head.method == Method::POST).await
    }

    /// Passes on a response that is not a stream.
    async fn whole(&self, response: Response<Incoming>, place: Place, may_hold_message: bool) -> Response<Body> {
        let (head, body) = response.into_parts();
        let body = match Limited::new(body, LONGEST_BODY).collect().await {
            Ok(body) => body.to_bytes(),
            Err(error) => return self.unreached(place, &format!("the body broke: {error}")).await,
        };
        let value: Option<Value> = serde_json::from_slice(&body).ok().filter(Value::is_object);
        let holds_message =
            may_hold_message && value.is_some_and(|value| head.status.is_success() || value.get("jsonrpc").is_some());
        let quote = if holds_message || body.is_empty() { None } else { Some(quoted(&body)) };
        self.answered(place, &head, quote).await;
        if holds_message {
            self.message(place, Party::Agent, &body).await;
        }
        rebuilt(head, Either::Left(Full::from(body)))
    }

    /// Reports something.
    async fn saw(&self, connection: usize, passage: Passage) {
        let _ = self.passages.send((connection, passage)).await;
    }

    /// Reports a request, and returns its place.
    async fn noted(&self, connection: usize, method: &Method, headers: &HeaderMap, message: Option<Posted>) -> Place {
        let exchange = {
            let mut numbers = lock(&self.numbers);
            let exchange = numbers.exchanges[connection];
            numbers.exchanges[connection] += 1;
            exchange
        };
        let (method, headers) = (method.as_str().to_owned(), recorded(headers));
        let event = HttpEvent::Request { exchange, method, headers, message, scripted: false };
        self.saw(connection, Passage::Http(event)).await;
        (connection, exchange)
    }

    /// Reports the head of a response, and the beginning of a body that is not a message.
    async fn answered(&self, (connection, exchange): Place, head: &hyper::http::response::Parts, body: Option<String>) {
        let (status, version) = (head.status.as_u16(), format!("{:?}", head.version));
        let event = HttpEvent::Response { exchange, status, version, headers: recorded(&head.headers), body };
        self.saw(connection, Passage::Http(event)).await;
    }

    async fn message(&self, (connection, exchange): Place, from: Party, message: &[u8]) {
        // A line feed can only be between the parts of a JSON text, where a blank means the same.
        let bytes = message.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect();
        self.saw(connection, Passage::Message { exchange, from, bytes }).await;
    }

    /// Reports that the server cannot be reached, and tells the client.
    async fn unreached(&self, (connection, exchange): Place, why: &str) -> Response<Body> {
        let event = HttpEvent::Failed { exchange, why: why.to_owned() };
        self.saw(connection, Passage::Http(event)).await;
        refusal(StatusCode::BAD_GATEWAY, &format!("the agent cannot be reached: {why}"))
    }
}

/// Returns the headers that belong to the message rather than to its way. Cookies may come in several headers.
fn passed_on(headers: &HeaderMap) -> HeaderMap {
    let mut kept: HeaderMap = headers.clone();
    NOT_PASSED_ON.iter().for_each(|name| drop(kept.remove(name)));
    kept.remove(SEC_WEBSOCKET_EXTENSIONS);
    let cookies: Vec<String> = headers.get_all(COOKIE).iter().map(text_of).collect();
    if let Ok(joined) = HeaderValue::from_str(&cookies.join("; "))
        && cookies.len() > 1
    {
        kept.insert(COOKIE, joined);
    }
    kept
}

/// Returns a response with this head, without what belongs to the TCP connection to the server.
fn rebuilt(head: hyper::http::response::Parts, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = head.status;
    *response.headers_mut() = passed_on(&head.headers);
    response
}

/// Returns a response of the gateway itself.
fn refusal(status: StatusCode, why: &str) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::from(format!("acp-conformance: {why}\n"))));
    *response.status_mut() = status;
    response
}
