//! The address at which the harness serves as the agent of a client: Streamable HTTP and WebSocket on one path of the
//! loopback address. The rest of the program sees connections and lines, as with relays.
//!
//! It accepts what a client may get wrong as far as it can be understood, so that the rest of the conversation is
//! tested as well; the trace has everything for the judge.

mod hub;
mod socket;
mod stream;

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::channel::Channel;
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderMap, ORIGIN, SET_COOKIE, UPGRADE};
use hyper::{Method, Request, Response, StatusCode, Uri};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::timeout;

use self::hub::{Hub, Served};
use super::event::LinkEvent;
use super::http::text_of;
use super::http_server::serve_http;
use crate::requirement::Transport;
use crate::trace::{CONNECTION_ID, Posted, SESSION_ID};

/// The time for the tester to answer `initialize`, after which the client gets an error.
const INITIALIZE: Duration = Duration::from_secs(60);

type Body = Either<Full<Bytes>, Channel<Bytes>>;

/// An address that is open but not served yet.
#[derive(Debug)]
pub struct Endpoint {
    listener: TcpListener,
    transport: Transport,
    /// The path. Unless a user chose it, no other program guesses it.
    path: String,
}

impl Endpoint {
    /// Opens an address on a free port; needs a Tokio runtime.
    pub async fn open(transport: Transport) -> io::Result<Self> {
        Self::open_at(transport, 0, format!("/{}/acp", random()?)).await
    }

    /// Opens an address on this port, or on a free one for 0, and this path; needs a Tokio runtime.
    ///
    /// # Errors
    ///
    /// Errors of the operating system, for example a port in use.
    pub async fn open_at(transport: Transport, port: u16, path: String) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        Ok(Self { listener, transport, path })
    }

    /// Returns the URL for a client that uses its transport.
    pub fn url(&self) -> io::Result<String> {
        let scheme = if self.transport == Transport::WebSocket { "ws" } else { "http" };
        Ok(format!("{scheme}://{}{}", self.listener.local_addr()?, self.path))
    }

    /// Serves until the receiver of the events is dropped.
    pub async fn serve(self, events: mpsc::Sender<LinkEvent>) {
        let hub = Arc::new(Hub::new(self.path, events.clone()));
        let answer = move |request| {
            let hub = Arc::clone(&hub);
            async move { answer(&hub, request).await }
        };
        serve_http(self.listener, events.closed(), answer).await;
    }
}

/// Returns an id that no other program guesses.
fn random() -> io::Result<String> {
    Ok(format!("{:016x}", getrandom::u64().map_err(io::Error::other)?))
}

/// The request gets no answer: its connection is closed.
#[derive(Debug, thiserror::Error)]
#[error("no answer")]
struct Unanswered;

async fn answer(hub: &Arc<Hub>, request: Request<Incoming>) -> Result<Response<Body>, Unanswered> {
    if request.uri().path() != hub.path {
        return Ok(status(StatusCode::NOT_FOUND));
    }
    if !is_local(request.headers(), request.uri()) {
        return Ok(status(StatusCode::FORBIDDEN));
    }
    let text = |name: &str| request.headers().get(name).map(text_of);
    let (id, session) = (text(CONNECTION_ID), text(SESSION_ID));
    let known = id.as_deref().and_then(|id| hub.find(id));
    let unknown = if id.is_some() { StatusCode::NOT_FOUND } else { StatusCode::BAD_REQUEST };
    let is_upgrade = text(UPGRADE.as_str()).is_some_and(|kind| kind.eq_ignore_ascii_case("websocket"));
    match *request.method() {
        Method::POST => post(hub, request, known, id.is_some()).await,
        Method::GET if is_upgrade => socket::upgrade(hub, request).await,
        Method::GET => {
            let exchange = hub.noted(known.as_ref(), request.method(), request.headers(), None).await;
            let accepts = text(ACCEPT.as_str()).is_some_and(|kinds| kinds.contains("text/event-stream"));
            match known {
                _ if !accepts => Ok(hub.answered(exchange, StatusCode::NOT_ACCEPTABLE).await),
                None => Ok(hub.answered(exchange, unknown).await),
                Some(served) => Ok(stream::open(&served, session, exchange.1).await),
            }
        }
        Method::DELETE => {
            let exchange = hub.noted(known.as_ref(), request.method(), request.headers(), None).await;
            match known {
                Some(served) => {
                    let response = hub.answered(exchange, StatusCode::ACCEPTED).await;
                    served.left().await;
                    Ok(response)
                }
                None => Ok(hub.answered(exchange, unknown).await),
            }
        }
        _ => Ok(status(StatusCode::METHOD_NOT_ALLOWED)),
    }
}

/// Takes a message of the client.
async fn post(
    hub: &Arc<Hub>,
    request: Request<Incoming>,
    known: Option<Arc<Served>>,
    names_connection: bool,
) -> Result<Response<Body>, Unanswered> {
    let (head, body) = request.into_parts();
    let (body, _room) = hub.body(body).await.ok_or(Unanswered)?;
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let starts = message.get("method").and_then(Value::as_str) == Some("initialize") && !names_connection;
    let served = if starts { Some(hub.connected().await) } else { known };
    let exchange = hub.noted(served.as_ref(), &head.method, &head.headers, Posted::of(&message)).await;
    let is_json = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).is_some_and(|kind| {
        kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
    });
    if !is_json {
        return Ok(hub.answered(exchange, StatusCode::UNSUPPORTED_MEDIA_TYPE).await);
    }
    let Some(served) = served else {
        let code = if names_connection { StatusCode::NOT_FOUND } else { StatusCode::BAD_REQUEST };
        return Ok(hub.answered(exchange, code).await);
    };
    let waits = starts.then(|| served.awaits(message.get("id")));
    served.received(exchange.1, &message, head.headers.get(SESSION_ID), body).await;
    let Some(answer) = waits else { return Ok(hub.answered(exchange, StatusCode::ACCEPTED).await) };
    let Ok(Ok(answer)) = timeout(INITIALIZE, answer).await else {
        return Ok(hub.answered(exchange, StatusCode::INTERNAL_SERVER_ERROR).await);
    };
    let response = Response::builder()
        .status(StatusCode::OK)
        .header(CONTENT_TYPE, "application/json")
        .header(CONNECTION_ID, &served.id)
        .header(SET_COOKIE, served.cookie())
        .body(Either::Left(Full::from(answer)))
        .map_err(|_| Unanswered)?;
    served.answered(exchange.1, &response).await;
    Ok(response)
}

/// Whether a request comes from a program on this machine and not from a page of another origin.
pub(super) fn is_local(headers: &HeaderMap, uri: &Uri) -> bool {
    const LOCAL: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).or(uri.authority().map(|it| it.as_str()));
    let is_loopback = |host: &str| LOCAL.contains(&host.rsplit_once(':').map_or(host, |(name, _)| name));
    let origin = headers.get(ORIGIN).map(|origin| origin.to_str().unwrap_or_default());
    let of_origin = |origin: &str| origin.split_once("://").is_some_and(|(_, host)| is_loopback(host));
    host.is_some_and(is_loopback) && origin.is_none_or(of_origin)
}

fn status(code: StatusCode) -> Response<Body> {
    let mut response = Response::new(Either::Left(Full::default()));
    *response.status_mut() = code;
    response
}
