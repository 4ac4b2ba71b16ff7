//! A connection over a WebSocket: each text frame is one message.

use futures::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncBufReadExt as _, BufReader, DuplexStream};
use tokio_tungstenite::{
    connect_async_with_config,
    tungstenite::{Error, Message, client::IntoClientRequest as _},
};
use url::Url;

use super::{Cookies, DialRules, give};

/// A notification that every agent ignores.
const NEEDLESS: &str = r#"{"jsonrpc":"2.0","method":"_hello"}"#;

/// Passes lines and frames on until the client ends its lines; fails if the agent ends the connection first.
pub(super) async fn serve(
    url: &Url,
    rules: DialRules,
    cookies: &Cookies,
    from_client: DuplexStream,
    mut to_client: DuplexStream,
) -> Result<(), String> {
    let mut request = url.as_str().into_client_request().map_err(|error| format!("cannot dial {url}: {error}"))?;
    cookies.add(request.headers_mut(), url, rules);
    let (socket, response) = connect_async_with_config(request, None, true).await.map_err(|error| match error {
        Error::Http(response) => format!("cannot dial {url}: the server answered {}", response.status()),
        error => format!("cannot dial {url}: {error}"),
    })?;
    cookies.keep(response.headers(), url);
    let (mut sink, mut frames) = socket.split();
    let mut lines = BufReader::new(from_client).lines();
    let failed = |error: Error| format!("the WebSocket failed: {error}");
    if !rules.initializes_first {
        sink.send(Message::text(NEEDLESS)).await.map_err(failed)?;
    }
    loop {
        tokio::select! {
            line = lines.next_line() => match line {
                Ok(Some(line)) => sink.send(Message::text(line)).await.map_err(failed)?,
                _ => break,
            },
            frame = frames.next() => match frame {
                Some(Ok(Message::Text(text))) => give(&mut to_client, text.as_str()).await,
                Some(Ok(Message::Close(_))) | None => return Err("the agent closed the WebSocket".to_owned()),
                Some(Err(error)) => return Err(failed(error)),
                // Binary frames are ignored, and the library answers pings.
                Some(Ok(_)) => {}
            },
        }
    }
    // The agent answers with a frame that closes the socket, too; if it is gone, there is nothing to close.
    let _ = sink.close().await;
    while let Some(Ok(_)) = frames.next().await {}
    Ok(())
}
