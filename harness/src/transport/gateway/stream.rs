//! Streams of events.

use std::io;
use std::pin::pin;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use http_body_util::channel::{Channel, Sender};
use http_body_util::{BodyExt, Either};
use hyper::Response;
use hyper::body::{Bytes, Incoming};
use tokio::sync::{Mutex, mpsc};

use super::{Body, Desk, Passage, Place, rebuilt};
use crate::requirement::Party;
use crate::trace::HttpEvent;
use crate::transport::http::events_of;

/// The most pieces of a stream that wait for a slow client.
const BACKLOG: usize = 16;

/// Passes on a stream of events, piece by piece as it comes. Each event is reported before its last piece goes on.
pub(super) async fn pass(
    desk: &Desk,
    response: Response<Incoming>,
    place: Place,
    is_of_session: bool,
) -> Response<Body> {
    let (head, body) = response.into_parts();
    desk.answered(place, &head, None).await;
    let (sender, passed) = Channel::new(BACKLOG);
    let passages = desk.passages.clone();
    tokio::spawn(async move {
        let (Followed { is_left, why }, sender) = follow(body, sender, place, &passages).await;
        // What broke here breaks for the client as well.
        if let Some((why, sender)) = why.as_ref().zip(sender) {
            sender.abort(io::Error::other(why.clone()));
        }
        let ended = HttpEvent::Ended { exchange: place.1, why };
        let _ = passages.send((place.0, Passage::Http(ended))).await;
        if !is_of_session && !is_left {
            // A server ends a connection by the end of its stream.
            let _ = passages.send((place.0, Passage::Ended(Party::Agent))).await;
        }
    });
    rebuilt(head, Either::Right(passed))
}

/// A stream on its way.
struct Way {
    body: Incoming,
    sender: Sender<Bytes, io::Error>,
    /// The last piece, which the client has not got yet.
    piece: Option<Bytes>,
    end: Followed,
}

/// How a stream ended.
#[derive(Default)]
struct Followed {
    /// The client left it.
    is_left: bool,
    /// The reason if it broke.
    why: Option<String>,
}

impl Way {
    /// Hands the last piece to the client and waits for the next one. A reader of the pieces asks for the next one once
    /// it has found every event in those before it.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(piece) = self.piece.take()
            && self.sender.send_data(piece).await.is_err()
        {
            self.end.is_left = true;
            return None;
        }
        loop {
            match self.body.frame().await? {
                Ok(frame) => {
                    if let Ok(data) = frame.into_data() {
                        self.piece = Some(data.clone());
                        return Some(data);
                    }
                }
                Err(error) => {
                    self.end.why = Some(error.to_string());
                    return None;
                }
            }
        }
    }
}

/// Passes on a stream to its end; returns the way to the client if that is still open.
async fn follow(
    body: Incoming,
    sender: Sender<Bytes, io::Error>,
    (connection, exchange): Place,
    passages: &mpsc::Sender<(usize, Passage)>,
) -> (Followed, Option<Sender<Bytes, io::Error>>) {
    let way = Arc::new(Mutex::new(Way { body, sender, piece: None, end: Followed::default() }));
    let unreadable = {
        let pieces = stream::unfold(Arc::clone(&way), |way| async move {
            let piece = way.lock().await.next().await?;
            Some((Ok::<_, hyper::Error>(piece), way))
        });
        let mut events = pin!(events_of(pieces));
        loop {
            match events.next().await {
                Some(Ok(data)) => {
                    let bytes = data.into_iter().map(|byte| if byte == b'\n' { b' ' } else { byte }).collect();
                    let passage = Passage::Message { exchange, from: Party::Agent, bytes };
                    let _ = passages.send((connection, passage)).await;
                }
                Some(Err(why)) => break Some(why),
                None => break None,
            }
        }
    };
    // What cannot be read goes on all the same.
    while !way.lock().await.end.is_left && way.lock().await.next().await.is_some() {}
    match Arc::into_inner(way).map(Mutex::into_inner) {
        Some(Way { end: Followed { is_left, why }, sender, .. }) => {
            // A stream that only cannot be read is whole for the client.
            let sender = why.is_some().then_some(sender);
            (Followed { is_left, why: why.or(unreadable) }, sender)
        }
        None => (Followed { is_left: false, why: unreadable }, None),
    }
}
