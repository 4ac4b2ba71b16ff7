//! Connections to an agent that serves HTTP or WebSocket: the client's end of the transport. The rest of the program
//! sees lines, as on standard streams, and the events of the transport around them.

mod http;
mod socket;

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{HeaderName, HeaderValue};
use hyper::http::uri::Scheme;
use hyper::{Method, Request, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::event::{LinkEvent, Outgoing};
use crate::requirement::Transport;
use crate::trace::HttpEvent;

/// The pause between two attempts to connect. Short, since a local server starts within milliseconds.
const CONNECT_AGAIN: Duration = Duration::from_millis(10);

/// The time for a server to show that it speaks HTTP/2.
const PROBE: Duration = Duration::from_secs(1);

/// The most headers of a response over HTTP/1.1; the library's own limit is lower than what proxies may add.
const MOST_HEADERS: usize = 1000;

/// Where and how an agent serves.
#[derive(Debug, Clone)]
pub struct Server {
    /// The address, with the scheme `http` or `https`.
    uri: Uri,
    transport: Transport,
    headers: Vec<(HeaderName, HeaderValue)>,
    connector: HttpsConnector<HttpConnector>,
}

/// A client that keeps connections to a server.
pub(super) type HttpClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// An address or header that cannot be used; the message says why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadServer(pub String);

impl Server {
    /// Describes a server by its URL and the headers of every request to it, such as `authorization`.
    ///
    /// # Errors
    ///
    /// The URL or a header is invalid.
    pub fn new(url: &str, transport: Transport, headers: &[(String, String)]) -> Result<Self, BadServer> {
        if url.split(['/', '?']).nth(2).is_some_and(|authority| authority.contains('@')) {
            let why = "the URL of the agent holds a user name or a password; give them as a header, such as\n  \
                --header authorization=\"Basic $CREDENTIALS\"";
            return Err(BadServer(why.to_owned()));
        }
        let bad = |why: &str| BadServer(format!("cannot use the URL `{url}`: {why}"));
        let uri: Uri = url.parse().map_err(|_| bad("it is invalid; write it as http://127.0.0.1:8080/acp"))?;
        let is_secure = match uri.scheme_str() {
            Some("http" | "ws") => false,
            Some("https" | "wss") => true,
            _ => return Err(bad("it has to begin with http://, https://, ws:// or wss://")),
        };
        let mut parts = uri.into_parts();
        parts.scheme = Some(if is_secure { Scheme::HTTPS } else { Scheme::HTTP });
        let uri = Uri::from_parts(parts).map_err(|error| bad(&error.to_string()))?;
        let connector = connector(is_secure, transport).map_err(|why| bad(&why))?;
        let header = |(name, value): &(String, String)| {
            let pair = name.parse().ok().zip(value.parse().ok());
            pair.ok_or_else(|| BadServer(format!("the header `{name}` has an invalid name or value")))
        };
        let headers = headers.iter().map(header).collect::<Result<_, _>>()?;
        Ok(Self { uri, transport, headers, connector })
    }

    /// Returns host and port.
    fn authority(&self) -> String {
        let usual = if self.is_secure() { 443 } else { 80 };
        format!("{}:{}", self.uri.host().unwrap_or_default(), self.uri.port_u16().unwrap_or(usual))
    }

    /// Returns what carries the messages.
    pub(super) const fn transport(&self) -> Transport {
        self.transport
    }

    /// Returns the address, with the query of a request.
    pub(super) fn address(&self, query: Option<&str>) -> Uri {
        let Some(query) = query else { return self.uri.clone() };
        format!("{}?{query}", self.uri).parse().unwrap_or_else(|_| self.uri.clone())
    }

    /// Returns the headers of every request.
    pub(super) fn headers(&self) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
        self.headers.iter().cloned()
    }

    fn is_secure(&self) -> bool {
        self.uri.scheme() == Some(&Scheme::HTTPS)
    }

    /// Returns a client for the newest version of HTTP that the server speaks; for WebSockets, for HTTP/1.1.
    pub(super) async fn client(&self) -> HttpClient {
        self.client_for(self.needs_http2().await)
    }

    /// Returns a client with TCP connections of its own.
    pub(super) fn client_for(&self, needs_http2: bool) -> HttpClient {
        let mut builder = Client::builder(TokioExecutor::new());
        builder.http2_only(needs_http2).http1_max_headers(MOST_HEADERS).build(self.connector.clone())
    }

    /// Whether the server speaks HTTP/2 without an agreement. With TLS, the two agree on the version.
    pub(super) async fn needs_http2(&self) -> bool {
        if self.is_secure() || self.transport == Transport::WebSocket {
            return false;
        }
        let question = Request::builder().method(Method::OPTIONS).uri(self.uri.clone()).body(Full::default());
        let Ok(question) = question else { return false };
        matches!(timeout(PROBE, self.client_for(true).request(question)).await, Ok(Ok(_)))
    }
}

/// Returns what opens TCP connections to a server, with TLS if needed. The certificates that the system trusts count,
/// or those of the file that the variable `SSL_CERT_FILE` names.
fn connector(is_secure: bool, transport: Transport) -> Result<HttpsConnector<HttpConnector>, String> {
    let mut tcp = HttpConnector::new();
    // Without this, each small message waits for the acknowledgement of the one before.
    tcp.set_nodelay(true);
    tcp.enforce_http(false);
    let provider = rustls::crypto::ring::default_provider();
    let builder = HttpsConnectorBuilder::new();
    let builder = if is_secure {
        let rooted = builder.with_provider_and_native_roots(provider);
        rooted.map_err(|error| format!("the certificates that this system trusts cannot be read: {error}"))?
    } else {
        let config = rustls::ClientConfig::builder_with_provider(provider.into()).with_safe_default_protocol_versions();
        let config = config.map_err(|error| error.to_string())?;
        builder.with_tls_config(config.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
    };
    let builder = builder.https_or_http().enable_http1();
    Ok(match transport {
        Transport::WebSocket => builder.wrap_connector(tcp),
        Transport::Http | Transport::Stdio => builder.enable_http2().wrap_connector(tcp),
    })
}

/// Connects to the server within the limit, and serves the connection until `outgoing` is closed.
pub(super) async fn dial(
    server: Server,
    connection: usize,
    is_starting: bool,
    limit: Duration,
    outgoing: mpsc::UnboundedReceiver<Outgoing>,
    events: mpsc::Sender<LinkEvent>,
) {
    let events = Events { connection, events };
    match accepts(&server, Instant::now() + limit, &outgoing).await {
        Ok(()) if server.transport == Transport::WebSocket => {
            socket::serve(&server, is_starting, outgoing, &events).await;
            events.ended().await;
        }
        Ok(()) => http::serve(server, outgoing, &events).await,
        Err(why) => {
            events.http(HttpEvent::Failed { exchange: 0, why }).await;
            events.ended().await;
        }
    }
}

/// Waits until the server accepts a connection, at most until `outgoing` is closed.
async fn accepts(
    server: &Server,
    deadline: Instant,
    outgoing: &mpsc::UnboundedReceiver<Outgoing>,
) -> Result<(), String> {
    loop {
        let why = match TcpStream::connect(server.authority()).await {
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        if Instant::now() >= deadline || outgoing.is_closed() {
            return Err(format!("nothing serves at {}: {why}", server.authority()));
        }
        tokio::time::sleep(CONNECT_AGAIN).await;
    }
}

/// The ports for servers: below those that systems choose for the client's end of a connection.
const PORTS: std::ops::Range<u16> = 20_000..32_000;

/// Returns a free port of the loopback address for a server that is started next. No two calls of this process return
/// the same one soon, and other processes begin elsewhere, since servers of different cases run at the same time.
///
/// # Errors
///
/// No port is free.
pub fn free_port() -> std::io::Result<u16> {
    static TAKEN: AtomicU32 = AtomicU32::new(0);
    let (count, first) = (u32::from(PORTS.end - PORTS.start), std::process::id().wrapping_mul(97));
    let next = || {
        let offset = first.wrapping_add(TAKEN.fetch_add(1, Ordering::Relaxed)) % count;
        PORTS.start + u16::try_from(offset).unwrap_or_default()
    };
    let is_free = |port: &u16| TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], *port))).is_ok();
    let found = std::iter::repeat_with(next).take(usize::from(PORTS.end - PORTS.start)).find(is_free);
    found.ok_or_else(|| std::io::Error::other("no port is free for a server"))
}

/// The way of the events of one connection to the runner, which makes a fast subject wait.
struct Events {
    connection: usize,
    events: mpsc::Sender<LinkEvent>,
}

impl Events {
    async fn http(&self, event: HttpEvent) {
        let _ = self.events.send(LinkEvent::Http { connection: self.connection, event }).await;
    }

    /// Passes a message on as a line.
    async fn message(&self, mut message: Vec<u8>) {
        // A line feed can only be between the parts of a JSON text, where a blank means the same.
        message.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
        message.push(b'\n');
        let _ = self.events.send(LinkEvent::Output { connection: self.connection, bytes: message }).await;
    }

    async fn ended(&self) {
        let _ = self.events.send(LinkEvent::OutputEnded { connection: self.connection }).await;
    }
}
