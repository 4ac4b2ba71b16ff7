//! The agent behind a URL instead of in a process of the client: over Streamable HTTP or a WebSocket, a draft.
//!
//! The rest of the client has the ends of two pipes, as with a process. A task at their other ends speaks `http` or
//! `socket` with the agent.

mod http;
mod rules;
mod socket;

use std::{
    io,
    sync::{Arc, Mutex},
};

use cookie_store::{CookieStore, RawCookie};
use futures::future::BoxFuture;
use hyper::{
    HeaderMap,
    header::{COOKIE, HeaderValue, SET_COOKIE},
};
use tokio::io::{AsyncWrite, AsyncWriteExt as _, DuplexStream};
use url::Url;

pub use self::rules::DialRules;
use super::{
    agent_info::TerminalLogin,
    launch::{AgentProcess, Launcher, Pipes},
};
use crate::sync::lock;

/// The bytes in each direction that wait for their reader.
const BUFFER: usize = 64 * 1024;

/// Dials the agent at a URL.
#[derive(Debug)]
pub struct Dialer {
    url: Url,
    rules: DialRules,
    /// The cookies of all connections, which lead a new one to the same server.
    cookies: Arc<Cookies>,
}

impl Dialer {
    /// Dials an `http` or `ws` URL.
    pub fn new(url: Url, rules: DialRules) -> Self {
        Self { url, rules, cookies: Arc::default() }
    }
}

impl Launcher for Dialer {
    fn start(&self) -> io::Result<(AgentProcess, Pipes)> {
        // Each has one direction only, since dropping an end ends both.
        let ((to_agent, from_client), (to_client, from_agent)) = (tokio::io::duplex(BUFFER), tokio::io::duplex(BUFFER));
        let (url, rules, cookies) = (self.url.clone(), self.rules, Arc::clone(&self.cookies));
        let connection = async move {
            match url.scheme() {
                "ws" => socket::serve(&url, rules, &cookies, from_client, to_client).await,
                _ => http::serve(url, rules, cookies, from_client, to_client).await,
            }
        };
        let pipes = Pipes { to_agent: Box::new(to_agent), from_agent: Box::new(from_agent) };
        Ok((AgentProcess::dialled(tokio::spawn(connection)), pipes))
    }

    fn log_in<'a>(&'a self, _: &'a TerminalLogin) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(std::future::ready(Err(io::Error::other("the agent's program is not here"))))
    }
}

/// The cookies that the server set.
#[derive(Debug, Default)]
struct Cookies(Mutex<CookieStore>);

impl Cookies {
    /// Keeps the cookies of a response.
    fn keep(&self, headers: &HeaderMap, url: &Url) {
        let lines = headers.get_all(SET_COOKIE).iter().filter_map(|line| line.to_str().ok());
        let cookies = lines.filter_map(|line| RawCookie::parse(line.to_owned()).ok());
        lock(&self.0).store_response_cookies(cookies, &web(url));
    }

    /// Adds the cookies to a request, if there are any.
    fn add(&self, headers: &mut HeaderMap, url: &Url, rules: DialRules) {
        let cookies = lock(&self.0);
        let pairs: Vec<_> =
            cookies.get_request_values(&web(url)).map(|(name, value)| format!("{name}={value}")).collect();
        if rules.returns_cookies
            && !pairs.is_empty()
            && let Ok(pairs) = HeaderValue::from_str(&pairs.join("; "))
        {
            headers.insert(COOKIE, pairs);
        }
    }
}

/// Returns the URL with the scheme by which cookies know it.
fn web(url: &Url) -> Url {
    let mut url = url.clone();
    if url.scheme() == "ws" {
        // Both are special schemes, so this cannot fail.
        let _ = url.set_scheme("http");
    }
    url
}

/// Gives the client a message as one line; in JSON, a line end is only between tokens.
async fn give(to_client: &mut DuplexStream, message: &str) {
    let line = message.replace(['\n', '\r'], " ") + "\n";
    write(to_client, line.as_bytes()).await;
}

async fn write(output: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) {
    // This fails only if the client is ending.
    let _ = output.write_all(bytes).await;
}
