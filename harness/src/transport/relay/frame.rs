//! The frames between relay and harness: a byte for the kind, the length, and the payload. Also the first argument of a
//! relay.

use std::collections::BTreeMap;
use std::io::{self, Read};

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt};

/// The first argument of a program that becomes a relay; the second is the socket, and the others are the client's.
pub(super) const WORD: &str = "--acp-conformance-relay";

/// The same, for a relay that stays in the settings of a client after the run.
pub(super) const LASTING_WORD: &str = "--acp-conformance-lasting-relay";

/// The longest accepted frame; pieces of a stream are much shorter.
const LONGEST: usize = 64 << 20;

/// The number of bytes before the payload.
const HEAD: usize = 5;

/// The start of a relay: the process that started it, and how.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Caller {
    /// The process id of the relay.
    pub pid: u32,
    /// The process id of its parent.
    pub parent: u32,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its working directory.
    pub cwd: String,
    /// Its environment.
    pub environment: BTreeMap<String, String>,
    /// Whether its standard input and output are a terminal.
    pub terminal: bool,
}

/// A frame from a relay.
#[derive(Debug)]
pub(super) enum FromRelay {
    /// The first frame, about the start of the relay.
    Hello(Box<Caller>),
    /// The client wrote this to its agent.
    Input(Vec<u8>),
    /// The client closed its end for writing.
    InputEnded,
    /// The client sent its agent a signal of this name.
    Signal(String),
    /// The client closed its end for reading.
    OutputBroken,
}

/// A frame to a relay.
#[derive(Debug)]
pub(super) enum ToRelay {
    /// The agent writes this.
    Output(Vec<u8>),
    /// The agent writes this piece of a message that is split on purpose.
    Piece(Vec<u8>),
    /// The agent writes this to its standard error.
    Stderr(Vec<u8>),
    /// The agent closes its standard output.
    CloseOutput,
    /// The agent exits with this code.
    Exit(i32),
    /// SIGKILL ends the agent.
    Kill,
}

impl FromRelay {
    pub(super) fn encode(&self) -> Vec<u8> {
        match self {
            Self::Hello(caller) => frame(0, &serde_json::to_vec(caller).unwrap_or_default()),
            Self::Input(bytes) => frame(1, bytes),
            Self::InputEnded => frame(2, &[]),
            Self::Signal(name) => frame(3, name.as_bytes()),
            Self::OutputBroken => frame(4, &[]),
        }
    }

    /// Reads the next frame.
    ///
    /// # Errors
    ///
    /// The stream ended or cannot be read, or this is not a frame of a relay.
    pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let mut head = [0; HEAD];
        stream.read_exact(&mut head).await?;
        let mut payload = vec![0; length(head)?];
        stream.read_exact(&mut payload).await?;
        match head[0] {
            0 => Ok(Self::Hello(serde_json::from_slice(&payload)?)),
            1 => Ok(Self::Input(payload)),
            2 => Ok(Self::InputEnded),
            3 => Ok(Self::Signal(String::from_utf8_lossy(&payload).into_owned())),
            4 => Ok(Self::OutputBroken),
            other => Err(unknown(other)),
        }
    }
}

impl ToRelay {
    pub(super) fn encode(&self) -> Vec<u8> {
        match self {
            Self::Output(bytes) => frame(0, bytes),
            Self::Piece(bytes) => frame(1, bytes),
            Self::Stderr(bytes) => frame(2, bytes),
            Self::CloseOutput => frame(3, &[]),
            Self::Exit(code) => frame(4, &code.to_le_bytes()),
            Self::Kill => frame(5, &[]),
        }
    }

    /// Reads the next frame, as [`FromRelay::read`] does.
    pub(super) fn read(stream: &mut impl Read) -> io::Result<Self> {
        let mut head = [0; HEAD];
        stream.read_exact(&mut head)?;
        let mut payload = vec![0; length(head)?];
        stream.read_exact(&mut payload)?;
        match head[0] {
            0 => Ok(Self::Output(payload)),
            1 => Ok(Self::Piece(payload)),
            2 => Ok(Self::Stderr(payload)),
            3 => Ok(Self::CloseOutput),
            4 => Ok(Self::Exit(payload.try_into().map_or(0, i32::from_le_bytes))),
            5 => Ok(Self::Kill),
            other => Err(unknown(other)),
        }
    }
}

fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    let mut bytes = Vec::with_capacity(HEAD + payload.len());
    bytes.push(kind);
    bytes.extend(length.to_le_bytes());
    bytes.extend(payload);
    bytes
}

fn length([_, a, b, c, d]: [u8; HEAD]) -> io::Result<usize> {
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if length > LONGEST { Err(io::Error::other("a frame is too long")) } else { Ok(length) }
}

fn unknown(kind: u8) -> io::Error {
    io::Error::other(format!("unknown frame kind {kind}"))
}
