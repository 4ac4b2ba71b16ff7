//! A small HTTP endpoint on loopback for a subject to visit.
//!
//! It accepts every request, whatever its method and path, and leaves the answer to the caller. Its queues are bounded.
//! Dropping it closes the port and every connection.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use http_body_util::channel::{Channel, Sender};
use http_body_util::{BodyExt, Either, Full, Limited};
use hyper::body::{Body as _, Bytes, Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::ACCEPT_AGAIN;

/// The longest body of a request that is usually accepted, in bytes.
const LONGEST_BODY: usize = 1 << 20;

/// The most open connections; further ones wait until one of them ends.
const MOST_CONNECTIONS: usize = 64;

/// The most requests, or events of one stream, that wait in a queue.
const BACKLOG: usize = 64;

type Body = Either<Full<Bytes>, Channel<Bytes>>;

/// An open endpoint and its requests.
#[derive(Debug)]
pub struct Web {
    address: SocketAddr,
    requests: mpsc::Receiver<WebRequest>,
    /// Dropping it stops the server.
    _serving: JoinSet<()>,
}

impl Web {
    /// Opens an endpoint on a free port; needs a Tokio runtime.
    pub async fn open() -> io::Result<Self> {
        Self::open_at(0, LONGEST_BODY).await
    }

    /// Opens an endpoint on a port, or on a free one for 0, that accepts bodies of up to `longest` bytes.
    ///
    /// # Errors
    ///
    /// Errors of the operating system, for example a port in use.
    pub async fn open_at(port: u16, longest: usize) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = listener.local_addr()?;
        let (sender, requests) = mpsc::channel(BACKLOG);
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, longest, sender));
        Ok(Self { address, requests, _serving: serving })
    }

    /// Returns its origin as the beginning of a URL.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns a request that has already come.
    pub fn try_next(&mut self) -> Option<WebRequest> {
        self.requests.try_recv().ok()
    }

    /// Waits for the next request. Cancelling the wait loses nothing.
    pub async fn next(&mut self) -> Option<WebRequest> {
        self.requests.recv().await
    }
}

/// A request that waits for its answer.
#[derive(Debug)]
pub struct WebRequest {
    /// Its method, such as `POST`.
    pub method: String,
    /// Its path, with the query.
    pub path: String,
    /// Its headers in the order of sending, with their names in lower case.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
    /// The handle for the answer.
    pub reply: WebReply,
}

/// The handle for the answer to a request. Dropping it closes the connection.
#[derive(Debug)]
pub struct WebReply(oneshot::Sender<Response<Body>>);

impl WebReply {
    /// Answers with a status, headers and a body. The client may have gone, which is not an error.
    pub fn send(self, status: u16, headers: &[(&str, &str)], body: impl Into<Bytes>) {
        self.answer(status, headers, Either::Left(Full::new(body.into())));
    }

    /// Answers with a stream of server-sent events.
    pub fn stream(self) -> WebStream {
        let (sender, body) = Channel::new(BACKLOG);
        let headers = [("content-type", "text/event-stream"), ("cache-control", "no-cache")];
        self.answer(200, &headers, Either::Right(body));
        WebStream(sender)
    }

    fn answer(self, status: u16, headers: &[(&str, &str)], body: Body) {
        let builder =
            headers.iter().fold(Response::builder().status(status), |b, (name, value)| b.header(*name, *value));
        if let Ok(response) = builder.body(body) {
            let _ = self.0.send(response);
        }
    }
}

/// A stream of server-sent events; dropping it ends the stream.
#[derive(Debug)]
pub struct WebStream(Sender<Bytes>);

impl WebStream {
    /// Sends an event with one line of data; false if the client has gone.
    pub fn send(&mut self, event: &str, data: &str) -> bool {
        self.0.try_send(Frame::data(format!("event: {event}\ndata: {data}\n\n").into())).is_ok()
    }

    /// Sends raw bytes and waits until there is room for them; false if the client has gone.
    pub async fn send_bytes(&mut self, bytes: Vec<u8>) -> bool {
        self.0.send_data(bytes.into()).await.is_ok()
    }
}

async fn serve(listener: TcpListener, longest: usize, requests: mpsc::Sender<WebRequest>) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        if connections.len() >= MOST_CONNECTIONS {
            connections.join_next().await;
        }
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(_) => {
                tokio::time::sleep(ACCEPT_AGAIN).await;
                continue;
            }
        };
        let requests = requests.clone();
        connections.spawn(async move {
            let service = service_fn(|request| answer(request, longest, &requests));
            // A broken connection has no client to report to.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

/// Forwards a request and waits for its answer; an error closes the connection.
async fn answer(
    request: Request<Incoming>,
    longest: usize,
    requests: &mpsc::Sender<WebRequest>,
) -> Result<Response<Body>, Unanswered> {
    let (head, body) = request.into_parts();
    if body.size_hint().lower() > longest as u64 {
        return Err(Unanswered);
    }
    let body = Limited::new(body, longest).collect().await.map_err(|_| Unanswered)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let headers = head.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value.as_bytes())));
    let (reply, answer) = oneshot::channel();
    let request = WebRequest {
        method: head.method.as_str().to_owned(),
        path: head.uri.path_and_query().map_or_else(String::new, ToString::to_string),
        headers: headers.collect(),
        body: body.to_bytes().into(),
        reply: WebReply(reply),
    };
    requests.send(request).await.map_err(|_| Unanswered)?;
    answer.await.map_err(|_| Unanswered)
}

/// The request got no answer or is too long.
#[derive(Debug, thiserror::Error)]
#[error("no answer")]
struct Unanswered;

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    use super::*;

    async fn visit(web: &Web, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(web.address).await.expect("the endpoint is open");
        stream.write_all(request.as_bytes()).await.expect("it reads");
        stream
    }

    async fn rest(mut stream: TcpStream) -> String {
        let mut text = String::new();
        // An endpoint that closes with unread bytes resets the connection.
        let _ = stream.read_to_string(&mut text).await;
        text
    }

    #[tokio::test]
    async fn request_arrives_whole_and_gets_its_answer() {
        let mut web = Web::open().await.expect("a free port");
        let text = "POST /a/b?c=d HTTP/1.1\r\nHost: x\r\nX-Two: é\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi";
        let stream = visit(&web, text).await;
        let request = web.next().await.expect("a request");
        assert_eq!(
            (request.method.as_str(), request.path.as_str(), &request.body[..]),
            ("POST", "/a/b?c=d", &b"hi"[..])
        );
        assert!(request.headers.contains(&("x-two".to_owned(), "é".to_owned())), "{:?}", request.headers);
        request.reply.send(404, &[("x-why", "gone")], "no");
        let answer = rest(stream).await;
        assert!(answer.starts_with("HTTP/1.1 404 Not Found\r\nx-why: gone\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\nno"), "{answer}");
    }

    #[tokio::test]
    async fn stream_ends_when_dropped() {
        let mut web = Web::open().await.expect("a free port");
        let stream = visit(&web, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
        let mut events = web.next().await.expect("a request").reply.stream();
        assert!(events.send("one", "1") && events.send("two", "2"));
        drop(events);
        let answer = rest(stream).await;
        let (one, two) = ("event: one\ndata: 1\n\n", "event: two\ndata: 2\n\n");
        assert!(answer.find(one) < answer.find(two) && answer.contains(one), "{answer}");
    }

    #[tokio::test]
    async fn closes_long_and_unanswered_requests() {
        let mut web = Web::open().await.expect("a free port");
        let stream = visit(&web, "GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
        drop(web.next().await);
        assert_eq!(rest(stream).await, "");
        let head = format!("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", LONGEST_BODY + 1);
        assert_eq!(rest(visit(&web, &head).await).await, "");
        let address = web.address;
        drop(web);
        while TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    }
}
