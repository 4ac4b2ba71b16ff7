//! What stands between the agent's pipes and the SDK.
//!
//! `gate` gives the client's requests numbers and answers what the SDK answers less well than the
//! protocol wants; `mangle` commits the faults that an application cannot commit through the SDK.

mod envelope;
mod gate;
mod ids;
mod mangle;
mod picky;

use agent_client_protocol::ByteStreams;
use futures::{AsyncRead, AsyncWrite};

use self::gate::Gate;
use super::{Fault, Options, process::Pipes};
use crate::wire::{self, Framing, Wire};

/// Opens the agent's pipes for the SDK.
pub(super) fn open(
    options: &Options,
    pipes: Pipes,
) -> (ByteStreams<impl AsyncWrite + use<>, impl AsyncRead + use<>>, Wire) {
    let framing = Framing {
        chunk_per_message: options.commits(Fault::ReadChunkPerMessage),
        split_decoding: options.commits(Fault::SplitDecoding),
        splitlines: options.commits(Fault::Splitlines),
    };
    let faults = options.faults.clone();
    wire::open(pipes.from_agent, pipes.to_agent, framing, |wire, inward| Some(Gate::new(faults, wire, inward)))
}
