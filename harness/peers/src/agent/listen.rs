//! The agent on Streamable HTTP and WebSocket, a draft: one endpoint on loopback, and one agent for each connection.
//!
//! POST sends a message, GET opens a stream of events or a WebSocket, and DELETE ends a connection. `conversation` runs
//! the agent of a connection, `connection` is one over Streamable HTTP, `socket` one over a WebSocket.

mod connection;
mod conversation;
mod rules;
mod socket;

use std::{
    collections::HashMap,
    convert::Infallible,
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, Mutex},
    time::Duration,
};

use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited, combinators::UnsyncBoxBody};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode, Uri,
    body::{Bytes, Incoming},
    header::{ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderValue, ORIGIN, UPGRADE},
    service::service_fn,
    upgrade,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto,
};
use serde_json::{Value, json};
use sse_stream::SseBody;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{handshake::server::create_response_with_body, protocol::Role},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::connection::Connection;
pub use self::{conversation::Converse, rules::ListenRules};
use super::errors::log;
use crate::{signal::hangup_or_stop, sync::lock};

/// The header with the id of the connection.
const CONNECTION: &str = "acp-connection-id";
/// The header with the id of the session.
const SESSION: &str = "acp-session-id";
const PATH: &str = "/acp";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// The most bytes of a POST.
const BODY_LIMIT: usize = 16 * 1024 * 1024;
/// Time for all conversations to end after a signal.
const END_LIMIT: Duration = Duration::from_secs(2);

type Body = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// Serves an agent at an address of this machine until a signal stops the process.
///
/// The first line on stderr has the URL of the endpoint.
///
/// # Errors
///
/// The address is not on loopback, or is in use.
#[expect(clippy::print_stderr, reason = "users and tests read the address")]
pub async fn listen(address: SocketAddr, rules: ListenRules, converse: Converse) -> io::Result<()> {
    if !address.ip().is_loopback() {
        return Err(io::Error::other(format!("cannot listen on {address}: it is not a loopback address")));
    }
    let failed = |error: io::Error| io::Error::new(error.kind(), format!("cannot listen on {address}: {error}"));
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    eprintln!("listening on http://{}{PATH}", listener.local_addr()?);
    let server = Arc::new(Server {
        rules,
        converse,
        connections: Mutex::default(),
        conversations: TaskTracker::new(),
        end: CancellationToken::new(),
    });
    tokio::select! {
        () = accept(&server, &listener) => {}
        () = hangup_or_stop() => {}
    }
    server.end.cancel();
    server.conversations.close();
    // What does not end in time ends with the process.
    let _ = tokio::time::timeout(END_LIMIT, server.conversations.wait()).await;
    Ok(())
}

async fn accept(server: &Arc<Server>, listener: &TcpListener) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Without this, each small message waits for the acknowledgement of the one before.
                let _ = stream.set_nodelay(true);
                drop(tokio::spawn(serve(Arc::clone(server), stream)));
            }
            Err(error) => {
                log(&format!("cannot accept a connection: {error}"));
                // Without file descriptors this fails until another connection ends.
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

/// Serves one TCP connection, in HTTP/1.1 or, with prior knowledge, in HTTP/2.
async fn serve(server: Arc<Server>, stream: TcpStream) {
    let service = service_fn(|request| {
        let server = Arc::clone(&server);
        async move { Ok::<_, Infallible>(server.answer(request).await.unwrap_or_else(Refusal::into_response)) }
    });
    let http = auto::Builder::new(TokioExecutor::new());
    // The client may go away at any time.
    let _ = http.serve_connection_with_upgrades(TokioIo::new(stream), service).await;
}

/// The endpoint, and the connections that are open over Streamable HTTP.
struct Server {
    rules: ListenRules,
    converse: Converse,
    connections: Mutex<HashMap<String, Arc<Connection>>>,
    conversations: TaskTracker,
    end: CancellationToken,
}

impl Server {
    async fn answer(self: &Arc<Self>, request: Request<Incoming>) -> Result<Response<Body>, Refusal> {
        if !is_local(&request) {
            return refuse(StatusCode::FORBIDDEN, "only programs and pages of this machine are served");
        }
        if request.uri().path() != PATH {
            return refuse(StatusCode::NOT_FOUND, "the endpoint is /acp");
        }
        match *request.method() {
            Method::POST => self.post(request).await,
            Method::GET if is_upgrade(request.headers()) => self.upgrade(request),
            Method::GET => self.get(request.headers()),
            Method::DELETE => self.delete(request.headers()),
            _ => {
                let mut response = Refusal(StatusCode::METHOD_NOT_ALLOWED, String::new()).into_response();
                response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, POST, DELETE"));
                Ok(response)
            }
        }
    }

    /// Takes a message of the client. Only `initialize` is answered at once.
    async fn post(self: &Arc<Self>, request: Request<Incoming>) -> Result<Response<Body>, Refusal> {
        let (head, body) = request.into_parts();
        if self.rules.checks_content_type && !is_json(&head.headers) {
            return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the Content-Type is not application/json");
        }
        let body = Limited::new(body, BODY_LIMIT).collect().await.map_err(|error| {
            let is_large = error.downcast_ref::<LengthLimitError>().is_some();
            let status = if is_large { StatusCode::PAYLOAD_TOO_LARGE } else { StatusCode::BAD_REQUEST };
            Refusal(status, error.to_string())
        })?;
        let Ok(line) = String::from_utf8(body.to_bytes().into()) else {
            return refuse(StatusCode::BAD_REQUEST, "the body is not UTF-8");
        };
        let message = match serde_json::from_str(&line) {
            Ok(message @ Value::Object(_)) => message,
            Ok(_) => return Ok(malformed(-32600, "Invalid request")),
            Err(_) => return Ok(malformed(-32700, "Parse error")),
        };
        let line = one_line(line);
        if message["method"] == "initialize" && message.get("id").is_some() {
            return self.initialize(&message["id"], line).await;
        }
        let connection = self.find(&head.headers)?;
        connection.take(&message, header(&head.headers, SESSION))?;
        connection.send(line).await?;
        if !self.rules.accepts_at_once {
            connection.answered(&message).await;
        }
        Ok(respond(self.rules.accepted, Bytes::new()))
    }

    /// Opens a connection, and answers with what its agent says.
    async fn initialize(self: &Arc<Self>, id: &Value, line: String) -> Result<Response<Body>, Refusal> {
        let connection = self.open();
        let answer = connection.answer_to(id);
        connection.send(line).await?;
        let Ok(answer) = answer.await else {
            return refuse(StatusCode::INTERNAL_SERVER_ERROR, "the agent ended before it answered");
        };
        let mut response = respond(self.rules.initialized, answer);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        self.name(&connection.id, &mut response);
        Ok(response)
    }

    /// Opens a stream of events.
    fn get(&self, headers: &HeaderMap) -> Result<Response<Body>, Refusal> {
        let accepts = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        if self.rules.checks_accept && !accepts.flat_map(|value| value.split(',')).any(|part| is_type(part, EVENTS)) {
            return refuse(StatusCode::NOT_ACCEPTABLE, "Accept lacks text/event-stream");
        }
        let connection = self.find(headers)?;
        let events = connection.subscribe(header(headers, SESSION).map(str::to_owned))?;
        let mut response = Response::new(SseBody::new(events).map_err(Into::into).boxed_unsync());
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(EVENTS));
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        Ok(response)
    }

    /// Ends a connection.
    fn delete(&self, headers: &HeaderMap) -> Result<Response<Body>, Refusal> {
        let connection = self.find(headers)?;
        if self.rules.ends_deleted {
            lock(&self.connections).remove(&connection.id);
            connection.end.cancel();
        }
        Ok(respond(StatusCode::ACCEPTED, Bytes::new()))
    }

    /// Opens a WebSocket, which is a connection of its own.
    fn upgrade(&self, mut request: Request<Incoming>) -> Result<Response<Body>, Refusal> {
        let created = create_response_with_body(&request, || body(Bytes::new()));
        let mut response = created.map_err(|error| Refusal(StatusCode::BAD_REQUEST, error.to_string()))?;
        self.name(&new_id(), &mut response);
        let upgraded = upgrade::on(&mut request);
        let (rules, converse, end) = (self.rules, Arc::clone(&self.converse), self.end.child_token());
        self.conversations.spawn(async move {
            // This fails only if the client goes away.
            let Ok(upgraded) = upgraded.await else { return };
            let socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await;
            socket::serve(socket, converse, rules, end).await;
        });
        Ok(response)
    }

    /// Starts the agent of a new connection over Streamable HTTP.
    fn open(self: &Arc<Self>) -> Arc<Connection> {
        let (connection, from_agent) = Connection::open(new_id(), self.rules, &self.converse, self.end.child_token());
        lock(&self.connections).insert(connection.id.clone(), Arc::clone(&connection));
        let (server, served) = (Arc::clone(self), Arc::clone(&connection));
        self.conversations.spawn(async move {
            served.serve(from_agent).await;
            lock(&server.connections).remove(&served.id);
        });
        connection
    }

    /// Finds the connection that a request names.
    fn find(&self, headers: &HeaderMap) -> Result<Arc<Connection>, Refusal> {
        let connections = lock(&self.connections);
        match header(headers, CONNECTION) {
            Some(id) => connections
                .get(id)
                .cloned()
                .ok_or_else(|| Refusal(self.rules.unknown_connection, "unknown Acp-Connection-Id".to_owned())),
            None if !self.rules.requires_connection && !connections.is_empty() => {
                Ok(Arc::clone(connections.values().next().ok_or_else(|| missing("Acp-Connection-Id"))?))
            }
            None => Err(missing("Acp-Connection-Id")),
        }
    }

    /// Names the connection in a response.
    fn name(&self, id: &str, response: &mut Response<Body>) {
        if self.rules.names_connection
            && let Ok(id) = HeaderValue::from_str(id)
        {
            response.headers_mut().insert(CONNECTION, id);
        }
    }
}

/// The reason that a request is not served.
struct Refusal(StatusCode, String);

impl Refusal {
    fn into_response(self) -> Response<Body> {
        let Self(status, reason) = self;
        let mut response = respond(status, reason + "\n");
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
        response
    }
}

fn refuse<T>(status: StatusCode, reason: &str) -> Result<T, Refusal> {
    Err(Refusal(status, reason.to_owned()))
}

fn missing(header: &str) -> Refusal {
    Refusal(StatusCode::BAD_REQUEST, format!("the header {header} is missing"))
}

fn body(content: impl Into<Bytes>) -> Body {
    Full::new(content.into()).map_err(|never| match never {}).boxed_unsync()
}

fn respond(status: StatusCode, content: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(body(content));
    *response.status_mut() = status;
    response
}

/// Builds the response to a body that is not one message.
fn malformed(code: i32, message: &str) -> Response<Body> {
    let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}});
    let mut response = respond(StatusCode::BAD_REQUEST, error.to_string());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}

fn new_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// Makes one line of a message; in JSON, a line end is only between tokens.
fn one_line(message: String) -> String {
    if message.contains(['\n', '\r']) { message.replace(['\n', '\r'], " ") } else { message }
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

fn is_json(headers: &HeaderMap) -> bool {
    header(headers, CONTENT_TYPE.as_str()).is_some_and(|value| is_type(value, JSON))
}

/// Returns whether a media type, perhaps with parameters, is this one.
fn is_type(value: &str, wanted: &str) -> bool {
    value.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(wanted)
}

fn is_upgrade(headers: &HeaderMap) -> bool {
    header(headers, UPGRADE.as_str()).is_some_and(|value| value.eq_ignore_ascii_case("websocket"))
}

/// Returns whether a request is for this machine and not from a page of another one: a browser lets every page open a
/// WebSocket here, and this agent runs commands.
fn is_local(request: &Request<Incoming>) -> bool {
    let headers = request.headers();
    let host = request.uri().authority().map(|host| host.as_str()).or_else(|| header(headers, HOST.as_str()));
    let origin = headers.get(ORIGIN).map(|origin| origin.to_str().unwrap_or_default());
    [host, origin].into_iter().flatten().all(is_loopback)
}

/// Returns whether an authority or an origin is on this machine.
fn is_loopback(text: &str) -> bool {
    let uri = text.parse::<Uri>().ok();
    let host = uri.as_ref().and_then(Uri::host).unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::is_loopback;

    #[test]
    fn serves_programs_and_pages_of_this_machine_only() {
        for own in ["localhost", "localhost:80", "127.0.0.1:80", "[::1]:80", "http://localhost:5173", "http://[::1]"] {
            assert!(is_loopback(own), "{own}");
        }
        for other in ["example.com", "127.0.0.1.example.com:80", "https://example.com", "null", "", "192.168.0.1:80"] {
            assert!(!is_loopback(other), "{other}");
        }
    }
}
