//! The events of a connection to a subject, and what it is sent there. The same on every transport.

use tokio::sync::mpsc;

use super::relay::{Caller, RelayOrders};
use crate::trace::{Exit, HttpEvent};

/// An event from the subject. An agent has one connection; a client has one for each start of its agent.
#[derive(Debug)]
pub enum LinkEvent {
    /// A client started its agent.
    Connected {
        /// The number of the connection, from 0.
        connection: usize,
        /// The process that started it; absent if the client only connected.
        caller: Option<Box<Caller>>,
        /// The handle for writing, which the link keeps.
        input: Input,
    },
    /// Bytes on the protocol stream.
    Output {
        /// The connection.
        connection: usize,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// The protocol stream ended.
    OutputEnded {
        /// The connection.
        connection: usize,
    },
    /// The subject closed its input.
    InputBroken {
        /// The connection.
        connection: usize,
    },
    /// A client sent its agent a signal.
    AgentSignalled {
        /// The connection.
        connection: usize,
        /// The name of the signal.
        name: String,
    },
    /// The process that a client took for its agent has exited.
    AgentEnded {
        /// The connection.
        connection: usize,
    },
    /// Something happened on the transport below the messages.
    Http {
        /// The connection.
        connection: usize,
        /// The event.
        event: HttpEvent,
    },
    /// Bytes on the standard output of a client or a server, which is not its protocol stream.
    Stdout(Vec<u8>),
    /// Bytes on the standard error of the subject.
    Stderr(Vec<u8>),
    /// The process exited.
    Exited(Exit),
}

/// The handle for writing to the subject on one connection.
#[derive(Debug)]
pub enum Input {
    /// The standard input of an agent, until it is closed.
    Pipe(Option<mpsc::UnboundedSender<Vec<Vec<u8>>>>),
    /// The process that a client takes for its agent.
    Relay(RelayOrders),
    /// A connection over HTTP or a WebSocket.
    Messages(mpsc::UnboundedSender<Outgoing>),
}

/// An action of the client on its connection.
#[derive(Debug)]
pub enum Outgoing {
    /// It sends this message.
    Message(Vec<u8>),
    /// A case sends this request of HTTP next to the messages.
    Request(ScriptedRequest),
    /// A case sends this as a binary frame of a WebSocket.
    Binary(Vec<u8>),
    /// It ends the connection.
    End,
}

/// A request of HTTP that a case sends. It has the headers of the connection, unless it changes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptedRequest {
    /// The method, such as `POST`.
    pub method: String,
    /// The headers to set, or to leave out.
    pub headers: Vec<(String, Option<String>)>,
    /// The body.
    pub body: Vec<u8>,
}
