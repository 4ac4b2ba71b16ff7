//! The agent's pipes as lines for the SDK.
//!
//! The SDK uses UUIDs as ids of requests; on the wire they are integers from 0, which are easier to read in a log. It
//! answers malformed messages with `id: null`, even if their id is readable, drops malformed responses, and ends the
//! connection at a line that is not UTF-8. This module handles such lines itself.

use std::{
    future::ready,
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use agent_client_protocol::Lines;
use futures::{
    Sink, SinkExt as _, Stream, StreamExt as _,
    channel::mpsc::{self, UnboundedReceiver, UnboundedSender},
    stream,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader},
    task::JoinHandle,
    time::timeout,
};

use super::launch::Pipes;
use crate::sync::lock;

/// Time for sending the last lines to a slow agent.
const DRAIN_LIMIT: Duration = Duration::from_millis(500);

/// The task that writes to the agent.
#[derive(Debug)]
pub(super) struct Writer(JoinHandle<()>);

impl Writer {
    /// Waits until all lines are sent, for half a second at most, and closes the agent's input.
    pub(super) async fn finish(mut self) {
        if timeout(DRAIN_LIMIT, &mut self.0).await.is_err() {
            self.0.abort();
        }
    }
}

/// Connects the agent's pipes to the SDK.
pub(super) fn open(
    pipes: Pipes,
) -> (Lines<impl Sink<String, Error = io::Error> + use<>, impl Stream<Item = io::Result<String>> + use<>>, Writer) {
    let (out, lines) = mpsc::unbounded();
    let writer = tokio::spawn(write(pipes.to_agent, lines));
    let answers = out.clone();
    let ids = Arc::new(Mutex::new(Ids::default()));
    let numbers = Arc::clone(&ids);
    let incoming = stream::unfold(BufReader::new(pipes.from_agent).split(b'\n'), async |mut lines| {
        let line = lines.next_segment().await.ok()??;
        Some((line, lines))
    });
    let incoming = incoming.filter_map(move |line| ready(accept(line, &lock(&ids), &answers).map(Ok)));
    let outgoing = out.sink_map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe));
    let outgoing = outgoing.with(move |line: String| ready(Ok(lock(&numbers).number(line))));
    (Lines::new(outgoing, incoming), Writer(writer))
}

async fn write(mut output: impl AsyncWrite + Unpin, mut lines: UnboundedReceiver<String>) {
    while let Some(line) = lines.next().await {
        let line = line + "\n";
        if output.write_all(line.as_bytes()).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

/// Returns the line for the SDK, unless it is answered or ignored here.
fn accept(line: Vec<u8>, ids: &Ids, answers: &UnboundedSender<String>) -> Option<String> {
    let refuse = |answer: Value| {
        // This fails only if the agent no longer reads.
        let _ = answers.unbounded_send(answer.to_string());
        None
    };
    let Ok(line) = String::from_utf8(line) else { return refuse(error(&Value::Null, -32700, "Parse error")) };
    let Ok(message) = serde_json::from_str(&line) else { return Some(line) };
    match check(&message) {
        Check::Sound if message.get("method").is_none() => Some(ids.restore(message)),
        Check::Sound => Some(line),
        Check::Refused(answer) => refuse(answer),
        Check::Failed(answer) => Some(ids.restore(answer)),
        Check::Ignored => None,
    }
}

/// The ids of the client's requests: the place in this list is the number on the wire.
#[derive(Debug, Default)]
struct Ids(Vec<Value>);

impl Ids {
    /// Gives a message of the SDK the number of its request, or of the request that it cancels.
    fn number(&mut self, line: String) -> String {
        let Ok(mut message) = serde_json::from_str::<Value>(&line) else { return line };
        if message["method"] == "$/cancel_request" {
            let place = self.0.iter().position(|id| *id == message["params"]["requestId"]);
            message["params"]["requestId"] = place.into();
        } else if message.get("method").is_some()
            && let Some(id) = message.get_mut("id")
        {
            let number = self.0.len().into();
            self.0.push(std::mem::replace(id, number));
        } else {
            return line;
        }
        message.to_string()
    }

    /// Gives a response the id that the SDK knows.
    fn restore(&self, mut response: Value) -> String {
        let place = response["id"].as_u64().and_then(|number| usize::try_from(number).ok());
        if let Some(id) = place.and_then(|place| self.0.get(place)) {
            response["id"] = id.clone();
        }
        response.to_string()
    }
}

#[derive(Debug, PartialEq)]
enum Check {
    /// A message that the SDK handles correctly.
    Sound,
    /// A request that gets this answer.
    Refused(Value),
    /// A malformed response; the caller gets this error.
    Failed(Value),
    /// A malformed notification.
    Ignored,
}

fn check(message: &Value) -> Check {
    let id = message.get("id").filter(|id| id.is_string() || id.is_i64() || id.is_null());
    let (result, failure) = (message.get("result"), message.get("error"));
    let is_response = result.is_some() || failure.is_some();
    let has_params = message.get("params").is_none_or(|params| params.is_object() || params.is_null());
    let is_sound = message["jsonrpc"] == "2.0" && message["method"].is_string() && !is_response;
    let is_error = |error: &Value| error["code"].is_i64() && error["message"].is_string();
    match (message.get("method"), id) {
        (None, Some(id)) if is_response => match (result, failure) {
            (Some(_), None) => Check::Sound,
            (None, Some(failure)) if is_error(failure) => Check::Sound,
            _ => Check::Failed(error(id, -32603, "The response is malformed")),
        },
        (None, Some(id)) => Check::Refused(error(id, -32600, "Invalid request")),
        (Some(_), Some(id)) if !is_sound => Check::Refused(error(id, -32600, "Invalid request")),
        (Some(_), Some(id)) if !has_params => Check::Refused(error(id, -32602, "Invalid params")),
        (Some(_), None) if message.get("id").is_none() && is_sound && !has_params => Check::Ignored,
        _ => Check::Sound,
    }
}

fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_malformed_messages_are_treated_here() {
        let refused = |code, message: &str| Check::Refused(error(&json!(1), code, message));
        let failed = Check::Failed(error(&json!(1), -32603, "The response is malformed"));
        let table = [
            (json!({"jsonrpc": "2.0", "id": 1, "method": "m"}), Check::Sound),
            (json!({"jsonrpc": "2.0", "id": "", "method": "m", "params": null}), Check::Sound),
            (json!({"jsonrpc": "2.0", "method": "m"}), Check::Sound),
            (json!({"jsonrpc": "2.0", "method": "m", "params": []}), Check::Ignored),
            (json!({"jsonrpc": "2.0", "id": 1, "method": "m", "params": "x"}), refused(-32602, "Invalid params")),
            (json!({"jsonrpc": "1.0", "id": 1, "method": "m"}), refused(-32600, "Invalid request")),
            (json!({"jsonrpc": "2.0", "id": 1, "method": 5}), refused(-32600, "Invalid request")),
            (json!({"jsonrpc": "2.0", "id": 1}), refused(-32600, "Invalid request")),
            (json!({"jsonrpc": "2.0", "id": 1, "result": null}), Check::Sound),
            (json!({"jsonrpc": "2.0", "id": 1, "error": {"code": "x"}}), failed),
            (json!({"jsonrpc": "2.0", "id": 1.5, "method": "m"}), Check::Sound),
            (json!([]), Check::Sound),
            (json!({}), Check::Sound),
        ];
        for (message, wanted) in table {
            assert_eq!(check(&message), wanted, "{message}");
        }
    }
}
