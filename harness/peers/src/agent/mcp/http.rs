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

use super::{MCP_VERSION, Variable};

const JSON: (&str, &str) = ("content-type", "application/json");
const EVENTS: &str = "text/event-stream";

/// A server over streamable HTTP.
pub(super) struct Http {
    place: Place,
    /// The session id of the server.
    session: Option<String>,
    greeted: bool,
    answers: Answers,
}

/// What the server sends after a request.
enum Answers {
    None,
    One(Value),
    Stream(Events),
}

impl Http {
    pub(super) fn new(url: &str, headers: &[Variable]) -> Result<Self, String> {
        Ok(Self { place: Place::new(url, headers)?, session: None, greeted: false, answers: Answers::None })
    }

    pub(super) async fn send(&mut self, message: &Value) -> Result<(), String> {
        let response = self.post(message).await?;
        if message.get("method").is_none() || message.get("id").is_none() {
            return Ok(());
        }
        let is_stream = header(&response, "content-type").is_some_and(|kind| kind.starts_with(EVENTS));
        self.answers = if is_stream {
            Answers::Stream(Events(SseStream::new(response.into_body())))
        } else {
            let body = response.into_body().collect().await.map_err(|error| error.to_string())?;
            Answers::One(serde_json::from_slice(&body.to_bytes()).map_err(|error| error.to_string())?)
        };
        Ok(())
    }

    /// Waits for the next message after a request.
    pub(super) async fn receive(&mut self) -> Result<Value, String> {
        match std::mem::replace(&mut self.answers, Answers::None) {
            Answers::None => Err("the server has not answered".to_owned()),
            Answers::One(answer) => Ok(answer),
            Answers::Stream(mut events) => {
                let message = events.next_message().await;
                self.answers = Answers::Stream(events);
                message
            }
        }
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
    pub events: Events,
}

impl Sse {
    /// Opens the stream; its first event contains the URL for messages.
    pub(super) async fn open(url: &str, headers: &[Variable]) -> Result<Self, String> {
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

    pub(super) async fn send(&mut self, message: &Value) -> Result<(), String> {
        self.messages.ask("POST", &[JSON], message.to_string()).await.map(drop)
    }
}

/// A stream of server-sent events.
pub(super) struct Events(SseStream<Incoming>);

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

    /// Waits for the next message; events that are not JSON are ignored.
    pub(super) async fn next_message(&mut self) -> Result<Value, String> {
        loop {
            if let Ok(message) = serde_json::from_str(&self.next().await?.1) {
                return Ok(message);
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
    fn new(url: &str, headers: &[Variable]) -> Result<Self, String> {
        let uri: Uri = url.parse().map_err(|_| format!("{url} is not a URL"))?;
        if uri.scheme_str() != Some("http") {
            return Err(format!("{url} does not begin with http:"));
        }
        let headers = headers.iter().map(|header| (header.name.clone(), header.value.clone())).collect();
        Ok(Self { uri, headers })
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
