//! The loop that serves HTTP/1.1, HTTP/2 and WebSockets on a listener.

use std::error::Error;
use std::pin::pin;

use hyper::body::{Body, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use super::ACCEPT_AGAIN;

/// Answers every request on every TCP connection until `closed` is ready, which also ends the connections.
pub(super) async fn serve_http<A, R, B, E>(listener: TcpListener, closed: impl Future<Output = ()>, answer: A)
where
    A: Fn(Request<Incoming>) -> R + Clone + Send + 'static,
    R: Future<Output = Result<Response<B>, E>> + Send + 'static,
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
    E: Into<Box<dyn Error + Send + Sync>> + 'static,
{
    let (mut closed, mut connections) = (pin!(closed), JoinSet::new());
    loop {
        while connections.try_join_next().is_some() {}
        let accepted = tokio::select! {
            () = &mut closed => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            tokio::time::sleep(ACCEPT_AGAIN).await;
            continue;
        };
        // Without this, each small message waits for the acknowledgement of the one before.
        let _ = stream.set_nodelay(true);
        let answer = answer.clone();
        connections.spawn(async move {
            let server = auto::Builder::new(TokioExecutor::new());
            // A broken connection has no client to report to.
            let _ = server.serve_connection_with_upgrades(TokioIo::new(stream), service_fn(answer)).await;
        });
    }
}
