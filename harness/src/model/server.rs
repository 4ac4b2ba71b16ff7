//! Serves the model on a loopback port.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::Value;
use tokio::task::JoinSet;

use super::answer::{ModelAnswer, Reply, tokens};
use super::ask::Ask;
use super::content;
use super::dialect::chat::Chat;
use super::dialect::{Dialect, StreamPiece};
use super::exchange::ModelExchange;
use super::routes::{Route, route};
use super::script;
use crate::profile::Hints;
use crate::trace::{ModelEvent, ModelOutput};
use crate::transport::web::{Web, WebReply, WebRequest};
use crate::wire::read_line;

/// The longest request that is accepted, in bytes, such as a conversation with large files.
const LONGEST_REQUEST: usize = 64 << 20;

/// Gets each exchange as soon as its answer is known.
pub type Listener = Arc<dyn Fn(ModelExchange) + Send + Sync>;

/// A running model. Dropping it stops the server.
#[derive(Debug)]
pub struct Model {
    origin: String,
    _serving: JoinSet<()>,
}

impl Model {
    /// Opens the model on loopback; port 0 chooses a free one. Needs a Tokio runtime.
    ///
    /// # Errors
    ///
    /// Errors of the operating system, for example a port in use.
    pub async fn open(port: u16, hints: Hints, listener: Listener) -> io::Result<Self> {
        let web = Web::open_at(port, LONGEST_REQUEST).await?;
        let origin = web.origin();
        let desk = Arc::new(Desk { hints, listener, opened: Instant::now(), count: AtomicUsize::new(0) });
        let mut serving = JoinSet::new();
        serving.spawn(serve(web, desk));
        Ok(Self { origin, _serving: serving })
    }

    /// Returns its origin, such as `http://127.0.0.1:4000`.
    pub fn origin(&self) -> &str {
        &self.origin
    }
}

/// The state that all requests share.
struct Desk {
    hints: Hints,
    listener: Listener,
    opened: Instant,
    count: AtomicUsize,
}

async fn serve(mut web: Web, desk: Arc<Desk>) {
    let mut answers = JoinSet::new();
    while let Some(request) = web.next().await {
        while answers.try_join_next().is_some() {}
        let desk = Arc::clone(&desk);
        answers.spawn(async move { desk.answer(request).await });
    }
}

/// An answer before it is sent.
struct Draft {
    event: ModelEvent,
    status: u16,
    body: Body,
}

impl Draft {
    /// Creates an answer that is not one of the model.
    fn fixed(did: &str, status: u16, body: Value) -> Self {
        let event = ModelEvent { did: did.to_owned(), ..ModelEvent::default() };
        Self { event, status, body: Body::Whole(body) }
    }
}

enum Body {
    Whole(Value),
    /// An unstreamed answer after a delay.
    Late(Value, ModelAnswer),
    Stream(Vec<StreamPiece>, ModelAnswer),
}

impl Desk {
    async fn answer(&self, request: WebRequest) {
        let us = u64::try_from(self.opened.elapsed().as_micros()).unwrap_or(u64::MAX);
        let body = read_line(&request.body).one().unwrap_or_else(|| readable(&request.body));
        let n = self.count.fetch_add(1, Ordering::Relaxed);
        let draft = self.draft(n, &request.method, &request.path, &body);
        let answer = match &draft.body {
            Body::Whole(value) | Body::Late(value, _) => value.clone(),
            Body::Stream(pieces, _) => pieces.iter().map(|piece| piece.data.clone()).collect(),
        };
        (self.listener)(ModelExchange {
            n,
            us,
            method: request.method,
            path: request.path,
            event: draft.event,
            request: body,
            status: draft.status,
            answer,
        });
        send(request.reply, draft.status, draft.body).await;
    }

    fn draft(&self, n: usize, method: &str, path: &str, body: &Value) -> Draft {
        match route(method, path) {
            Route::Answer { dialect, stream } => self.of_model(n, dialect, stream, body),
            Route::Count(written) => {
                let count = written(tokens(body.to_string().len()));
                Draft::fixed("counted tokens", 200, count)
            }
            Route::Fixed { did, body } => Draft::fixed(did, 200, body),
            Route::Unknown => {
                let message = format!("the scripted model does not know {method} {path}");
                Draft::fixed("an unknown route", 404, Chat.failure(404, &message))
            }
        }
    }

    fn of_model(&self, n: usize, dialect: &'static dyn Dialect, stream: Option<bool>, body: &Value) -> Draft {
        let mut ask: Ask = dialect.read(body);
        ask.number = n;
        ask.stream = stream.unwrap_or(ask.stream);
        let script::Move { reply, did } = script::answer(&ask, &self.hints);
        let written: Option<ModelOutput> = match &reply {
            Reply::Answer(answer) => Some(content::of_answer(answer)),
            Reply::Failure { .. } => None,
        };
        let event = ModelEvent {
            api: Some(dialect.name().to_owned()),
            did,
            marked: ask.marked(),
            request: Some(content::of_request(&ask, body)),
            answer: written,
        };
        let (status, body) = match reply {
            Reply::Failure { status, message } => (status, Body::Whole(dialect.failure(status, &message))),
            Reply::Answer(answer) if ask.stream => (200, Body::Stream(dialect.stream(&ask, &answer), answer)),
            Reply::Answer(answer) => (200, Body::Late(dialect.whole(&ask, &answer), answer)),
        };
        Draft { event, status, body }
    }
}

async fn send(reply: WebReply, status: u16, body: Body) {
    match body {
        Body::Whole(value) => whole(reply, status, &value),
        Body::Late(value, answer) => {
            tokio::time::sleep(answer.takes()).await;
            whole(reply, status, &value);
        }
        Body::Stream(pieces, answer) => {
            let mut stream = reply.stream();
            for piece in pieces {
                if piece.paced && !answer.pace.is_zero() {
                    tokio::time::sleep(answer.pace).await;
                }
                for part in cut(&written(&piece)) {
                    if !stream.send_bytes(part).await {
                        // The client has closed the connection.
                        return;
                    }
                }
            }
        }
    }
}

fn whole(reply: WebReply, status: u16, value: &Value) {
    reply.send(status, &[("content-type", "application/json")], value.to_string());
}

/// Encodes an event; data that is a text is sent as it is. JSON is written without the line separators U+2028 and
/// U+2029: some SDKs cut events with a regular expression of JavaScript, in which these end a line.
fn written(piece: &StreamPiece) -> Vec<u8> {
    let json = || piece.data.to_string().replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
    let data = piece.data.as_str().map_or_else(json, str::to_owned);
    let name = piece.name.map_or_else(String::new, |name| format!("event: {name}\n"));
    format!("{name}data: {data}\n\n").into_bytes()
}

/// Splits the bytes inside the first character of several bytes, if there is one: agents must handle that.
fn cut(bytes: &[u8]) -> Vec<Vec<u8>> {
    match bytes.iter().position(|byte| !byte.is_ascii()) {
        Some(at) => vec![bytes[..=at].to_vec(), bytes[at + 1..].to_vec()],
        None => vec![bytes.to_vec()],
    }
}

/// Converts a body other than JSON for the record.
fn readable(bytes: &[u8]) -> Value {
    if bytes.is_empty() { Value::Null } else { String::from_utf8_lossy(bytes).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_separators_are_escaped() {
        let piece = StreamPiece::new(serde_json::json!({ "a": "x\u{2028}y\u{2029}" }));
        assert_eq!(String::from_utf8_lossy(&written(&piece)), "data: {\"a\":\"x\\u2028y\\u2029\"}\n\n");
    }

    #[test]
    fn a_character_is_cut() {
        let text = "data: {\"a\":\"ä€\"}\n\n".as_bytes();
        let parts = cut(text);
        assert_eq!(parts.concat(), text);
        assert!(parts.len() == 2 && parts.iter().all(|part| std::str::from_utf8(part).is_err()));
        assert_eq!(cut(b"plain").len(), 1);
    }
}
