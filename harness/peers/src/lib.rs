//! The reference programs of `acp-conformance`: an [`agent`] and a [`client`] that follow the Agent Client Protocol.
//!
//! Both are examples to learn from, and a case must pass with the correct program. Only this package and the mutants,
//! which are these programs with deliberate faults, use the SDK.

pub mod agent;
pub mod client;

mod group;
mod signal;
mod sync;
