//! A connection over a WebSocket: each text frame is one message.

use futures::{SinkExt as _, StreamExt as _};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, Sender};
use tokio_tungstenite::{WebSocketStream, tungstenite::Message};
use tokio_util::sync::CancellationToken;

use super::{Converse, ListenRules, conversation, one_line};

/// The id of an `initialize` that the client does not know of.
const OWN_ID: &str = "initialize-of-the-server";

/// Serves an agent on a socket until one of the two ends.
pub(super) async fn serve(
    socket: WebSocketStream<TokioIo<Upgraded>>,
    converse: Converse,
    rules: ListenRules,
    end: CancellationToken,
) {
    let (to_agent, mut from_agent) = conversation::start(&converse, end.clone());
    let (mut sink, mut frames) = socket.split();
    let mut is_first = true;
    loop {
        tokio::select! {
            frame = frames.next() => {
                let text = match frame {
                    Some(Ok(Message::Text(text))) => text.to_string(),
                    Some(Ok(Message::Binary(bytes))) if !rules.ignores_binary => {
                        String::from_utf8_lossy(&bytes).into_owned()
                    }
                    // The library answers pings, and a frame that closes the socket.
                    Some(Ok(_)) => continue,
                    Some(Err(_)) | None => break,
                };
                if std::mem::take(&mut is_first) && !rules.requires_initialize {
                    initialize(&text, &to_agent, &mut from_agent).await;
                }
                if to_agent.send(one_line(text)).await.is_err() {
                    break;
                }
            }
            line = from_agent.recv() => {
                let Some(line) = line else { break };
                if sink.send(Message::text(line)).await.is_err() {
                    break;
                }
            }
            () = end.cancelled() => break,
        }
    }
    // This fails only if the client has gone.
    let _ = sink.close().await;
    if !rules.ends_closed {
        end.cancelled().await;
    }
    drop(to_agent);
    // The conversation is over once the agent has ended its work.
    while from_agent.recv().await.is_some() {}
}

/// Initializes the agent in place of a client that does not.
async fn initialize(first: &str, to_agent: &Sender<String>, from_agent: &mut Receiver<String>) {
    let method = serde_json::from_str(first).map_or(Value::Null, |first: Value| first["method"].clone());
    if method == "initialize" {
        return;
    }
    let params = json!({"protocolVersion": 1, "clientCapabilities": {}});
    let request = json!({"jsonrpc": "2.0", "id": OWN_ID, "method": "initialize", "params": params});
    // This fails only if the agent has ended.
    let _ = to_agent.send(request.to_string()).await;
    from_agent.recv().await;
}
