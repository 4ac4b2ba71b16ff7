//! What stands between the agent's standard streams and the SDK.
//!
//! Without faults every byte passes unchanged and the SDK does the framing. The faults that an
//! application cannot commit through the SDK are committed here and in the framing.

mod gate;

use std::sync::Arc;

use agent_client_protocol::ByteStreams;
use futures::{AsyncRead, AsyncWrite};

use self::gate::Gate;
use super::{Fault, Options};
use crate::wire::{self, Framing, Wire};

/// Opens stdin and stdout for the SDK.
pub(super) fn open(options: Arc<Options>) -> (ByteStreams<impl AsyncWrite, impl AsyncRead>, Wire) {
    let framing = Framing {
        chunk_per_message: options.commits(Fault::ReadChunkPerMessage),
        split_decoding: options.commits(Fault::SplitDecoding),
        splitlines: options.commits(Fault::Splitlines),
    };
    wire::open(std::io::stdin(), std::io::stdout(), framing, |wire, inward| Gate::new(options, wire, inward))
}
