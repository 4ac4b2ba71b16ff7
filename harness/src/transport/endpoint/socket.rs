//! The WebSocket of a client.

use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SET_COOKIE, UPGRADE};
use hyper::{Request, Response, StatusCode};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Message, Role};

use super::hub::{Hub, Served};
use super::{Body, Unanswered};
use crate::trace::{CONNECTION_ID, HttpEvent};
use crate::transport::http::{Socket, kind_of_close, socket_over};

/// Opens a WebSocket, which is a connection of its own.
pub(super) async fn upgrade(hub: &Arc<Hub>, mut request: Request<Incoming>) -> Result<Response<Body>, Unanswered> {
    let served = hub.connected().await;
    let (_, exchange) = hub.noted(Some(&served), request.method(), request.headers(), None).await;
    let Some(key) = request.headers().get(SEC_WEBSOCKET_KEY).cloned() else {
        served.left().await;
        return Ok(hub.answered((served.number, exchange), StatusCode::BAD_REQUEST).await);
    };
    let response = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(CONNECTION, "upgrade")
        .header(UPGRADE, "websocket")
        .header(SEC_WEBSOCKET_ACCEPT, derive_accept_key(key.as_bytes()))
        .header(CONNECTION_ID, &served.id)
        .header(SET_COOKIE, served.cookie())
        .body(Either::Left(Full::default()))
        .map_err(|_| Unanswered)?;
    served.answered(exchange, &response).await;
    let upgraded = hyper::upgrade::on(&mut request);
    let queue = served.open_socket();
    tokio::spawn(async move {
        if let Ok(upgraded) = upgraded.await {
            serve(&served, exchange, socket_over(upgraded, Role::Server).await, queue).await;
        }
        served.left().await;
    });
    Ok(response)
}

async fn serve(served: &Served, exchange: usize, mut socket: Socket, mut queue: mpsc::UnboundedReceiver<Bytes>) {
    let frame = |kind: String| HttpEvent::Frame { exchange, by_server: false, kind, message: None };
    let why = loop {
        tokio::select! {
            biased;
            frame_of_client = socket.next() => match frame_of_client {
                Some(Ok(Message::Text(text))) => served.output(text.as_bytes()).await,
                Some(Ok(Message::Binary(_))) => served.http(frame("binary".to_owned())).await,
                Some(Ok(Message::Close(close))) => {
                    served.http(frame(kind_of_close(close.as_ref()))).await;
                }
                // The library answers a ping.
                Some(Ok(_)) => {}
                Some(Err(error)) => break Some(error.to_string()),
                None => break None,
            },
            sent = queue.recv() => {
                let Some(message) = sent else {
                    let _ = socket.close(None).await;
                    break None;
                };
                let text = String::from_utf8_lossy(&message).into_owned();
                if let Err(error) = socket.send(Message::text(text)).await {
                    break Some(error.to_string());
                }
            }
        }
    };
    served.http(HttpEvent::Ended { exchange, why }).await;
}
