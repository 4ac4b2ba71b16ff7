//! What carries the messages.

use serde::{Deserialize, Serialize};

use super::Party;

/// What carries the messages of a conversation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Lines on the standard streams of the agent.
    #[default]
    Stdio,
    /// Streamable HTTP: requests of the client, and streams of events from the server.
    Http,
    /// The text frames of a WebSocket.
    #[serde(rename = "ws")]
    WebSocket,
}

impl Transport {
    /// Whether these are standard streams.
    pub const fn is_stdio(&self) -> bool {
        matches!(self, Self::Stdio)
    }

    /// Returns the transport with this name on a command line.
    pub fn named(word: &str) -> Option<Self> {
        [Self::Stdio, Self::Http, Self::WebSocket].into_iter().find(|transport| transport.word() == word)
    }

    /// Returns its name on a command line and in reports.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::WebSocket => "ws",
        }
    }

    /// Returns its name for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "Streamable HTTP (draft)",
            Self::WebSocket => "WebSocket (draft)",
        }
    }
}

/// The transports of the two parties, which differ if a bridge between them translates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Transports {
    /// The one that the agent uses.
    pub agent: Transport,
    /// The one that the client uses.
    pub client: Transport,
}

impl Transports {
    /// Returns that of a party.
    pub const fn of(self, party: Party) -> Transport {
        match party {
            Party::Agent => self.agent,
            Party::Client => self.client,
        }
    }
}
