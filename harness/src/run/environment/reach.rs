//! How a subject is reached: on its standard streams, or over HTTP or a WebSocket.

use crate::profile::places::{self, Places};
use crate::requirement::{Party, Transport};
use crate::transport::dial::{BadServer, Server};

/// The address at which an agent serves, unless the user names another one.
const USUAL: &str = "http://127.0.0.1:{port}/acp";

/// How a subject is reached.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// What carries the messages.
    pub transport: Transport,
    /// The address of an agent, with placeholders as in the command.
    pub url: Option<String>,
    /// The command that starts the agent as a server, if it differs from the usual one.
    pub serve: Option<Vec<String>>,
    /// The headers of every HTTP request to an agent.
    pub headers: Vec<(String, String)>,
}

impl Reach {
    /// Checks whether the parts fit together.
    ///
    /// # Errors
    ///
    /// They do not; the message includes the remedy.
    pub fn check(&self, party: Party) -> Result<(), BadServer> {
        if party == Party::Client {
            return Ok(());
        }
        if self.transport.is_stdio() && (self.url.is_some() || !self.headers.is_empty()) {
            return Err(BadServer("--url and --header need --transport http or ws".to_owned()));
        }
        let places = Places::from([(places::PORT.to_owned(), "1".to_owned())]);
        self.server(&places).map(drop)
    }

    /// Returns the address and transport of an agent that serves; `None` on standard streams.
    pub(super) fn server(&self, places: &Places) -> Result<Option<Server>, BadServer> {
        if self.transport.is_stdio() {
            return Ok(None);
        }
        let url = places::fill(self.url.as_deref().unwrap_or(USUAL), places);
        Server::new(&url, self.transport, &self.headers).map(Some)
    }

    /// Whether an agent listens at a port that the harness chooses.
    pub fn has_port(&self) -> bool {
        !self.transport.is_stdio() && self.url.as_ref().is_none_or(|url| url.contains("{port}"))
    }
}
