//! WebSockets, frame by frame.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use http_body_util::{Either, Full};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderMap, UPGRADE};
use hyper::{Request, Response, StatusCode};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::protocol::{Message, Role};

use super::{Body, Desk, Passage, Place, passed_on, rebuilt};
use crate::requirement::Party;
use crate::sync::lock;
use crate::trace::HttpEvent;
use crate::transport::http::{Socket, kind_of_close, reason, socket_over};

/// The time for both to end the connection once one of them has closed it.
const CLOSE: Duration = Duration::from_millis(500);

/// Passes on the upgrade to a WebSocket, which is a connection of its own, and then its frames.
pub(super) async fn pass(desk: &Desk, mut request: Request<Incoming>) -> Response<Body> {
    let connection = lock(&desk.numbers).connection();
    let place = desk.noted(connection, request.method(), request.headers(), None).await;
    let mut onward = Request::new(Full::default());
    *onward.uri_mut() = desk.server.address(request.uri().query());
    *onward.headers_mut() = with_upgrade(passed_on(request.headers()), request.headers());
    onward.headers_mut().extend(desk.server.headers());
    let client = desk.client.get_or_init(|| desk.server.client()).await;
    let mut response = match client.request(onward).await {
        Ok(response) => response,
        Err(error) => return desk.unreached(place, &reason(&error)).await,
    };
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        return desk.whole(response, place, false).await;
    }
    let (of_client, of_server) = (hyper::upgrade::on(&mut request), hyper::upgrade::on(&mut response));
    let (head, _) = response.into_parts();
    desk.answered(place, &head, None).await;
    let passages = desk.passages.clone();
    tokio::spawn(async move {
        let why = match tokio::try_join!(of_client, of_server) {
            Ok((of_client, of_server)) => {
                let client = socket_over(of_client, Role::Server).await;
                let server = socket_over(of_server, Role::Client).await;
                exchange(client, server, place, &passages).await
            }
            Err(error) => Some(reason(&error)),
        };
        let ended = HttpEvent::Ended { exchange: place.1, why };
        let _ = passages.send((place.0, Passage::Http(ended))).await;
    });
    let of_server = head.headers.clone();
    let mut response = rebuilt(head, Either::Left(Full::default()));
    *response.headers_mut() = with_upgrade(std::mem::take(response.headers_mut()), &of_server);
    response
}

/// Adds the headers of the upgrade, which other requests and responses must not pass on.
fn with_upgrade(mut headers: HeaderMap, from: &HeaderMap) -> HeaderMap {
    for name in [CONNECTION, UPGRADE] {
        headers.extend(from.get(&name).map(|value| (name, value.clone())));
    }
    headers
}

/// Passes on frames until one of the two has ended; returns the reason if the connection broke.
async fn exchange(
    mut client: Socket,
    mut server: Socket,
    (connection, exchange): Place,
    passages: &mpsc::Sender<(usize, Passage)>,
) -> Option<String> {
    let (close, why) = loop {
        let (from, frame) = tokio::select! {
            frame = client.next() => (Party::Client, frame),
            frame = server.next() => (Party::Agent, frame),
        };
        let by_server = from == Party::Agent;
        let of_kind = |kind: String| Passage::Http(HttpEvent::Frame { exchange, by_server, kind, message: None });
        let passage = match &frame {
            Some(Ok(Message::Text(text))) => {
                let bytes = text.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }).collect();
                Passage::Message { exchange, from, bytes }
            }
            Some(Ok(Message::Binary(_))) => of_kind("binary".to_owned()),
            Some(Ok(Message::Close(close))) => {
                let _ = passages.send((connection, of_kind(kind_of_close(close.as_ref())))).await;
                Passage::Ended(from)
            }
            // The library answers a ping.
            Some(Ok(_)) => continue,
            Some(Err(_)) | None => Passage::Ended(from),
        };
        let _ = passages.send((connection, passage)).await;
        let other = if by_server { &mut client } else { &mut server };
        match frame {
            Some(Ok(Message::Close(close))) => break (close, None),
            Some(Ok(frame)) => {
                if let Err(error) = other.send(frame).await {
                    break (None, Some(error.to_string()));
                }
            }
            Some(Err(error)) => break (None, Some(error.to_string())),
            None => break (None, None),
        }
    };
    let end = async |socket: &mut Socket| {
        let _ = socket.close(close.clone()).await;
        while let Some(Ok(_)) = socket.next().await {}
    };
    let _ = timeout(CLOSE, async { tokio::join!(end(&mut client), end(&mut server)) }).await;
    why
}
