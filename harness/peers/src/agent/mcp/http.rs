//! MCP servers on HTTP: streamable HTTP, and the older transport with answers in a stream of events.

use futures::StreamExt as _;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Request, Response, Uri,
    body::{Bytes, Incoming},
    client::conn::http1::handshake,
    header::HOST,
};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use sse_stream::SseStream;
use tokio::net::TcpStream;

use super::{MCP_VERSION, served};

const JSON: (&str, &str) = ("content-type", "application/json");
const EVENTS: &str = "text/event-stream";

/// A server over streamable HTTP.
pub(super) struct Http {
    place: Place,
    /// The session id of the server.
    session: Option<String>,
    greeted: bool,
}

impl Http {
    pub(super) fn new(url: &str, headers: &[(String, String)]) -> Result<Self, String> {
        Ok(Self { place: Place::new(url, headers)?, session: None, greeted: false })
    }

    /// Sends a request and returns its answer.
    pub(super) async fn request(&mut self, request: &Value) -> Result<Value, String> {
        let response = self.post(request).await?;
        let kind = header(&response, "content-type");
        if !kind.is_some_and(|kind| kind.starts_with(EVENTS)) {
            let body = response.into_body().collect().await.map_err(|error| error.to_string())?;
            return serde_json::from_slice(&body.to_bytes()).map_err(|error| error.to_string());
        }
        let mut events = Events(SseStream::new(response.into_body()));
        loop {
            let message: Value = serde_json::from_str(&events.next().await?.1).map_err(|error| error.to_string())?;
            if message.get("method").is_some() {
                if let Some(answer) = served(&message) {
                    self.notify(&answer).await?;
                }
            } else if message["id"] == request["id"] {
                return Ok(message);
            }
        }
    }

    /// Sends a message that gets no answer.
    pub(super) async fn notify(&mut self, message: &Value) -> Result<(), String> {
        self.post(message).await.map(drop)
    }

    async fn post(&mut self, message: &Value) -> Result<Response<Incoming>, String> {
        let accept = format!("application/json, {EVENTS}");
        let mut headers = vec![JSON, ("accept", &accept)];
        if self.greeted {
            headers.push(("mcp-protocol-version", MCP_VERSION));
        }
        headers.extend(self.session.as_deref().map(|session| ("mcp-session-id", session)));
        let response = self.place.ask("POST", &headers, message.to_string()).await?;
        if let Some(session) = header(&response, "mcp-session-id") {
            self.session = Some(session.to_owned());
        }
        self.greeted = true;
        Ok(response)
    }
}

/// A server that answers in a stream of events.
pub(super) struct Sse {
    messages: Place,
    events: Events,
}

impl Sse {
    /// Opens the stream; its first event contains the URL for messages.
    pub(super) async fn open(url: &str, headers: &[(String, String)]) -> Result<Self, String> {
        let place = Place::new(url, headers)?;
        let response = place.ask("GET", &[("accept", EVENTS)], String::new()).await?;
        let mut events = Events(SseStream::new(response.into_body()));
        loop {
            let (kind, data) = events.next().await?;
            if kind.as_deref() == Some("endpoint") {
                return Ok(Self { messages: place.sibling(&data)?, events });
            }
        }
    }

    /// Sends a request, waits for its answer, and answers the server's requests meanwhile.
    pub(super) async fn request(&mut self, request: &Value) -> Result<Value, String> {
        self.send(request).await?;
        loop {
            let data = self.events.next().await?.1;
            let Ok(message) = serde_json::from_str::<Value>(&data) else { continue };
            if message.get("method").is_some() {
                if let Some(answer) = served(&message) {
                    self.send(&answer).await?;
                }
            } else if message["id"] == request["id"] {
                return Ok(message);
            }
        }
    }

    /// Sends one message.
    pub(super) async fn send(&mut self, message: &Value) -> Result<(), String> {
        self.messages.ask("POST", &[JSON], message.to_string()).await.map(drop)
    }
}

/// A stream of server-sent events.
struct Events(SseStream<Incoming>);

impl Events {
    /// Waits for the next event with data; returns its kind and its data.
    async fn next(&mut self) -> Result<(Option<String>, String), String> {
        loop {
            let event = self.0.next().await.ok_or("the stream ended")?.map_err(|error| error.to_string())?;
            if let Some(data) = event.data {
                return Ok((event.event, data));
            }
        }
    }
}

/// The URL for requests, and the headers that the client configured for them.
struct Place {
    uri: Uri,
    headers: Vec<(String, String)>,
}

impl Place {
    fn new(url: &str, headers: &[(String, String)]) -> Result<Self, String> {
        let uri: Uri = url.parse().map_err(|_| format!("{url} is not a URL"))?;
        if uri.scheme_str() != Some("http") {
            return Err(format!("{url} does not begin with http:"));
        }
        Ok(Self { uri, headers: headers.to_vec() })
    }

    /// Returns another URL of the same server.
    fn sibling(&self, path: &str) -> Result<Self, String> {
        let mut parts = self.uri.clone().into_parts();
        parts.path_and_query = Some(path.parse().map_err(|_| format!("{path} is not a path"))?);
        let uri = Uri::from_parts(parts).map_err(|error| error.to_string())?;
        Ok(Self { uri, headers: self.headers.clone() })
    }

    /// Sends a request on its own connection; any status except success is an error.
    async fn ask(&self, method: &str, headers: &[(&str, &str)], body: String) -> Result<Response<Incoming>, String> {
        let text = |error: &dyn std::error::Error| error.to_string();
        let (host, port) = (self.uri.host().unwrap_or_default(), self.uri.port_u16().unwrap_or(80));
        let stream = TcpStream::connect((host, port)).await.map_err(|error| text(&error))?;
        let (mut sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|error| text(&error))?;
        tokio::spawn(connection);
        let path = self.uri.path_and_query().map_or("/", |path| path.as_str());
        let mut request = Request::builder().method(method).uri(path).header(HOST, format!("{host}:{port}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(Bytes::from(body))).map_err(|error| text(&error))?;
        let response = sender.send_request(request).await.map_err(|error| text(&error))?;
        if response.status().is_success() { Ok(response) } else { Err(response.status().to_string()) }
    }
}

fn header<'r>(response: &'r Response<Incoming>, name: &str) -> Option<&'r str> {
    response.headers().get(name)?.to_str().ok()
}
