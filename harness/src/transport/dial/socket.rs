//! A WebSocket: one message in each text frame.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY};
use hyper::{Request, Response, StatusCode};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::error::Error;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Message, Role};

use super::{Events, Server};
use crate::trace::{HttpEvent, Posted};
use crate::transport::event::Outgoing;
use crate::transport::http::{Socket, event_of, kind_of_close, reason, recorded, socket_over};

/// The time for the answer of a server to the end of the connection.
const CLOSE: Duration = Duration::from_millis(500);

/// The pause before the next attempt to open a WebSocket at a server that was just started; some listen before that.
const READY_AGAIN: Duration = Duration::from_millis(100);

/// The statuses of a server that takes no WebSockets yet.
const NOT_READY: [StatusCode; 3] =
    [StatusCode::NOT_ACCEPTABLE, StatusCode::UPGRADE_REQUIRED, StatusCode::SERVICE_UNAVAILABLE];

/// The exchange of the upgrade, which is the only one.
const UPGRADE: usize = 0;

pub(super) async fn serve(
    server: &Server,
    is_starting: bool,
    mut outgoing: mpsc::UnboundedReceiver<Outgoing>,
    events: &Events,
) {
    let failed = |why| HttpEvent::Failed { exchange: UPGRADE, why };
    let request = match server.uri.to_string().replacen("http", "ws", 1).into_client_request() {
        Ok(request) => request,
        Err(error) => return events.http(failed(error.to_string())).await,
    };
    let (mut head, ()) = request.into_parts();
    head.uri = server.uri.clone();
    head.headers.extend(server.headers.iter().cloned());
    let headers = recorded(&head.headers);
    let upgrade =
        HttpEvent::Request { exchange: UPGRADE, method: "GET".to_owned(), headers, message: None, scripted: false };
    events.http(upgrade).await;
    let key = head.headers.get(SEC_WEBSOCKET_KEY).cloned();
    let (client, request) = (server.client().await, Request::from_parts(head, Full::default()));
    let response = loop {
        match client.request(request.clone()).await {
            Ok(response) if is_starting && NOT_READY.contains(&response.status()) && !outgoing.is_closed() => {
                sleep(READY_AGAIN).await;
            }
            Ok(response) => break response,
            Err(error) => return events.http(failed(reason(&error))).await,
        }
    };
    events.http(event_of(UPGRADE, &response)).await;
    let mut socket = match open(response, key.as_ref()).await {
        Ok(socket) => socket,
        Err(why) => return events.http(failed(why)).await,
    };
    let why = loop {
        tokio::select! {
            biased;
            frame = socket.next() => match frame {
                Some(Ok(Message::Text(text))) => events.message(text.as_bytes().to_vec()).await,
                Some(Ok(Message::Binary(_))) => events.http(frame_of_server("binary")).await,
                Some(Ok(Message::Close(close))) => events.http(frame_of_server(&kind_of_close(close.as_ref()))).await,
                // The library answers a ping.
                Some(Ok(_)) => {}
                Some(Err(Error::ConnectionClosed)) | None => break None,
                Some(Err(error)) => break Some(error.to_string()),
            },
            sent = outgoing.recv() => match sent {
                Some(Outgoing::Message(bytes)) => {
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    if let Err(error) = socket.send(Message::text(text)).await {
                        break Some(error.to_string());
                    }
                }
                Some(Outgoing::Binary(bytes)) => {
                    let message = serde_json::from_slice(&bytes).ok().and_then(|value| Posted::of(&value));
                    let kind = "binary".to_owned();
                    let frame = HttpEvent::Frame { exchange: UPGRADE, by_server: false, kind, message };
                    events.http(frame).await;
                    if let Err(error) = socket.send(Message::binary(bytes)).await {
                        break Some(error.to_string());
                    }
                }
                // No case sends one over a WebSocket.
                Some(Outgoing::Request(_)) => {}
                Some(Outgoing::End) | None => {
                    let _ = socket.close(None).await;
                    let _ = timeout(CLOSE, async { while let Some(Ok(_)) = socket.next().await {} }).await;
                    break None;
                }
            },
        }
    };
    events.http(HttpEvent::Ended { exchange: UPGRADE, why }).await;
}

/// Makes a WebSocket of the connection whose upgrade the server accepted.
async fn open(response: Response<Incoming>, key: Option<&HeaderValue>) -> Result<Socket, String> {
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return Err(format!("the server refused the WebSocket with {}", response.status()));
    }
    let expected = key.map(|key| derive_accept_key(key.as_bytes()));
    let accept = response.headers().get(SEC_WEBSOCKET_ACCEPT).and_then(|accept| accept.to_str().ok());
    if accept != expected.as_deref() {
        return Err("the answer to the upgrade has a wrong Sec-WebSocket-Accept".to_owned());
    }
    let upgraded = hyper::upgrade::on(response).await.map_err(|error| reason(&error))?;
    Ok(socket_over(upgraded, Role::Client).await)
}

fn frame_of_server(kind: &str) -> HttpEvent {
    HttpEvent::Frame { exchange: UPGRADE, by_server: true, kind: kind.to_owned(), message: None }
}
