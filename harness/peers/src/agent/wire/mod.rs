//! Bytes between the process's standard streams and the SDK.
//!
//! Without faults every byte passes unchanged and the SDK does the framing. The faults that an
//! application cannot commit through the SDK are committed here: `bytes` spoils the framing and
//! `gate` sees whole lines.

mod bytes;
mod gate;
mod streams;

pub(super) use streams::{Wire, open};
