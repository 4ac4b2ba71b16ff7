//! The streams of events to a client.

use std::sync::Arc;

use http_body_util::Either;
use http_body_util::channel::Channel;
use hyper::Response;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE};

use super::Body;
use super::hub::Served;

/// The most events of a stream that wait for a slow client; the others wait in the queue of the stream.
const BACKLOG: usize = 16;

/// Opens a stream of a session, or that of the connection.
pub(super) async fn open(served: &Arc<Served>, session: Option<String>, exchange: usize) -> Response<Body> {
    let (mut sender, body) = Channel::new(BACKLOG);
    let mut response = Response::new(Either::Right(body));
    response.headers_mut().extend([
        (CONTENT_TYPE, "text/event-stream".parse().expect("a valid value")),
        (CACHE_CONTROL, "no-cache".parse().expect("a valid value")),
    ]);
    served.answered(exchange, &response).await;
    let mut queue = served.open(session, exchange);
    let served = Arc::clone(served);
    tokio::spawn(async move {
        while let Some(message) = queue.recv().await {
            let event = [b"data: ", &message[..], b"\n\n"].concat();
            if sender.send_data(event.into()).await.is_err() {
                break;
            }
        }
        served.closed(exchange).await;
    });
    response
}
