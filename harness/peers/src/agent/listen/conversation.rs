//! The agent of one connection, between streams in memory.

use std::sync::Arc;

use agent_client_protocol::Error;
use futures::future::BoxFuture;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream},
    sync::mpsc::{Receiver, Sender, channel},
};
use tokio_util::sync::CancellationToken;

use crate::agent::errors::log;

/// Serves an agent at the other end of a stream of lines until that ends.
pub type Converse = Arc<dyn Fn(DuplexStream) -> BoxFuture<'static, Result<(), Error>> + Send + Sync>;

/// The bytes in each direction that wait for their reader.
const BUFFER: usize = 64 * 1024;
/// The lines in each direction that wait for their reader.
const LINES: usize = 64;

/// The lines to an agent and from it.
pub(super) type Channels = (Sender<String>, Receiver<String>);

/// Starts an agent. Its input ends with `end`, or when the sender of its lines is dropped.
pub(super) fn start(converse: &Converse, end: CancellationToken) -> Channels {
    let ((to_agent, input), (output, from_agent)) = (channel(LINES), channel(LINES));
    tokio::spawn(run(Arc::clone(converse), input, output, end));
    (to_agent, from_agent)
}

async fn run(converse: Converse, mut input: Receiver<String>, output: Sender<String>, end: CancellationToken) {
    let (ours, theirs) = tokio::io::duplex(BUFFER);
    let (from_agent, mut to_agent) = tokio::io::split(ours);
    let serve = async {
        if let Err(error) = converse(theirs).await {
            log(&format!("a connection failed: {error}"));
        }
    };
    let read = async {
        let mut lines = BufReader::new(from_agent).split(b'\n');
        while let Ok(Some(line)) = lines.next_segment().await {
            // The agent continues without a reader until its input ends.
            let _ = output.send(String::from_utf8_lossy(&line).into_owned()).await;
        }
    };
    let write = async {
        loop {
            let line = tokio::select! {
                biased;
                line = input.recv() => line,
                () = end.cancelled(), if !input.is_closed() => {
                    // The lines before the end still reach the agent.
                    input.close();
                    continue;
                }
            };
            let Some(line) = line else { break };
            if to_agent.write_all((line + "\n").as_bytes()).await.is_err() {
                break;
            }
        }
        // This fails only if the agent has ended.
        let _ = to_agent.shutdown().await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        _ = async { tokio::join!(serve, read) } => {}
        () = write => {}
    }
}
