//! A WebSocket: one message in each text frame.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::error::Error;
use tokio_tungstenite::tungstenite::protocol::Message;

use super::{Events, Outgoing, Server, recorded};
use crate::trace::{HttpEvent, Posted};

/// The time for the answer of a server to the end of the connection.
const CLOSE: Duration = Duration::from_millis(500);

/// The exchange of the upgrade, which is the only one.
const UPGRADE: usize = 0;

pub(super) async fn serve(
    server: &Server,
    stream: TcpStream,
    mut outgoing: mpsc::UnboundedReceiver<Outgoing>,
    events: &Events,
) {
    let mut request = match server.uri.to_string().replacen("http://", "ws://", 1).into_client_request() {
        Ok(request) => request,
        Err(error) => return events.http(HttpEvent::Failed { exchange: UPGRADE, why: error.to_string() }).await,
    };
    request.headers_mut().extend(server.headers.iter().cloned());
    let headers = recorded(request.headers());
    let upgrade =
        HttpEvent::Request { exchange: UPGRADE, method: "GET".to_owned(), headers, message: None, scripted: false };
    events.http(upgrade).await;
    let mut socket = match client_async(request, stream).await {
        Ok((socket, response)) => {
            events.http(answered(&response)).await;
            socket
        }
        Err(error) => {
            if let Error::Http(response) = &error {
                events.http(answered(response)).await;
            }
            return events.http(HttpEvent::Failed { exchange: UPGRADE, why: error.to_string() }).await;
        }
    };
    let why = loop {
        tokio::select! {
            biased;
            frame = socket.next() => match frame {
                Some(Ok(Message::Text(text))) => events.message(text.as_bytes().to_vec()).await,
                Some(Ok(Message::Binary(_))) => events.http(frame_of_server("binary")).await,
                Some(Ok(Message::Close(frame))) => {
                    let reason = frame.map_or_else(String::new, |frame| format!(" {}", frame.code));
                    events.http(frame_of_server(&format!("close{reason}"))).await;
                }
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

fn frame_of_server(kind: &str) -> HttpEvent {
    HttpEvent::Frame { exchange: UPGRADE, by_server: true, kind: kind.to_owned(), message: None }
}

fn answered<B>(response: &hyper::Response<B>) -> HttpEvent {
    HttpEvent::Response {
        exchange: UPGRADE,
        status: response.status().as_u16(),
        version: format!("{:?}", response.version()),
        headers: recorded(response.headers()),
        body: None,
    }
}
